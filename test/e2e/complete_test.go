package e2e_test

import (
	"os"
	"regexp"
	"strconv"
	"testing"

	"golang.org/x/tools/txtar"
)

// numbered are the requirements for namespaces and their authorisation.
var numbered = [][2]int{{10, 18}, {20, 30}, {60, 80}, {90, 98}, {100, 105}}

// Every requirement is named by a script, or by one of these tests.
func TestEveryRequirementOfNamespaces(t *testing.T) {
	t.Parallel()
	number, through := regexp.MustCompile(`\bR(\d+)\b`), regexp.MustCompile(`\bR(\d+) to R(\d+)\b`)
	seen := map[int]bool{}
	note := func(text string) {
		for _, m := range number.FindAllStringSubmatch(text, -1) {
			n, _ := strconv.Atoi(m[1])
			seen[n] = true
		}
		for _, m := range through.FindAllStringSubmatch(text, -1) {
			from, _ := strconv.Atoi(m[1])
			to, _ := strconv.Atoi(m[2])
			for n := from; n <= to; n++ {
				seen[n] = true
			}
		}
	}
	for _, file := range txtars(t, "testdata") {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if prefixOf(file)[0] == 'n' {
			note(string(archive.Comment))
		}
	}
	for _, file := range []string{"../../internal/access/access_test.go", "../../internal/controller/space/space_test.go"} {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		note(string(data))
	}
	for _, of := range numbered {
		for n := of[0]; n <= of[1]; n++ {
			if !seen[n] {
				t.Errorf("nothing tests R%d", n)
			}
		}
	}
}
