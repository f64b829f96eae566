package tally_test

import (
	"testing"

	"github.com/weir-dev/weir/internal/tally"
)

func TestOf(t *testing.T) {
	for n, want := range map[int]string{
		0:    "0 artifacts",
		1:    "1 artifact (a)",
		3:    "3 artifacts (a, b, c)",
		4:    "4 artifacts (a, b, c, and 1 more)",
		1459: "1459 artifacts (a, b, c, and 1456 more)",
	} {
		if got := tally.Of(n, "artifact", func(i int) string { return string(rune('a' + i)) }); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}
