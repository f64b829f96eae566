package e2e_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// replicated are the requirements for replications.
var replicated = strings.Fields(`
	R1 R2 R3 R4 R5 R6 R7 R8 R9 R10 R11 R12 R13 R14
	R15 R16 R17 R18 R19 R20 R21 R22 R23 R24 R25 R26 R27 R28 R29 R30 R31 R32
	R33 R34 R35 R36 R37 R38 R39 R40 R41 R42 R43 R44 R45 R46 R47 R48 R49 R50 R51 R52 R53 R54
	R55 R56 R57 R58 R59 R60 R61 R62 R63 R64 R65 R66`)

// Every requirement is named by a script about replications, at the step that
// shows it.
func TestEveryRequirementOfReplications(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/[rp][0-9]*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("found no scripts, error %v", err)
	}
	number := regexp.MustCompile(`\bR\d+a?\b`)
	seen := map[string]bool{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		script, _, _ := strings.Cut(string(data), "\n-- ")
		for line := range strings.Lines(script) {
			if comment, ok := strings.CutPrefix(strings.TrimSpace(line), "#"); ok {
				for _, n := range number.FindAllString(comment, -1) {
					seen[n] = true
				}
			}
		}
	}
	for _, n := range replicated {
		if !seen[n] {
			t.Errorf("no script shows %s", n)
		}
	}
}
