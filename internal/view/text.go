package view

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// size returns a size for people: whole bytes below 1 KiB, one decimal above.
func size(n int64) string {
	units := []string{"KiB", "MiB", "GiB", "TiB"}
	if n < 1024 {
		return fmt.Sprintf("%d B", n)
	}
	v, unit := float64(n)/1024, 0
	for v >= 1023.95 && unit < len(units)-1 {
		v, unit = v/1024, unit+1
	}
	return fmt.Sprintf("%.1f %s", v, units[unit])
}

// shownDigits is how much of a digest tells artifacts apart in a table.
const shownDigits = 12

// short cuts the digest of a revision, as git and Flux do for people. What is
// no digest stays.
func short(revision string) string {
	i := strings.LastIndex(revision, ":")
	digest := revision[i+1:]
	if i < 0 || len(digest) <= shownDigits || strings.Trim(digest, "0123456789abcdef") != "" {
		return revision
	}
	return revision[:i+1+shownDigits]
}

// pairs returns k=v pairs in the order of the keys, and a dash for none.
func pairs(m map[string]string) string {
	if len(m) == 0 {
		return "-"
	}
	out := make([]string, 0, len(m))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		out = append(out, k+"="+m[k])
	}
	return strings.Join(out, ",")
}

// Line makes text one line without what terminals take for orders: messages
// quote what tenants have written.
func Line(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return utf8.RuneError
		}
		return r
	}, strings.Join(strings.Fields(s), " "))
}
