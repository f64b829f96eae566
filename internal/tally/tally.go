// Package tally says how many things there are and what the first of them are
// called, in a text that stays short however many there are.
package tally

import (
	"fmt"
	"strings"
)

// named is how many things are named; the rest is counted.
const named = 3

// Of counts n things of a kind, which takes an s in the plural, and names the
// first three: "5 artifacts (a, b, c, and 2 more)".
func Of(n int, kind string, name func(i int) string) string {
	if n != 1 {
		kind += "s"
	}
	if n == 0 {
		return "0 " + kind
	}
	names := make([]string, 0, named+1)
	for i := range min(n, named) {
		names = append(names, name(i))
	}
	if n > named {
		names = append(names, fmt.Sprintf("and %d more", n-named))
	}
	return fmt.Sprintf("%d %s (%s)", n, kind, strings.Join(names, ", "))
}
