package glob

import (
	"slices"
	"unicode/utf8"
)

// classes cuts the runes into ranges that a pattern does not tell apart.
type classes struct {
	lows  []rune                // the first of each range, ascending from 0
	ascii [utf8.RuneSelf]uint16 // range of a byte
}

func classify(states []state) classes {
	c := classes{lows: []rune{0, '/', '/' + 1}}
	for _, s := range states {
		for _, sp := range s.set.spans {
			if sp.lo <= sp.hi {
				c.lows = append(c.lows, sp.lo, sp.hi+1)
			}
		}
	}
	slices.Sort(c.lows)
	c.lows = slices.Compact(c.lows)
	for r := range c.ascii {
		c.ascii[r] = uint16(c.search(rune(r)))
	}
	return c
}

// of returns the index of the range that r is in.
func (c *classes) of(r rune) int {
	if r < utf8.RuneSelf {
		return int(c.ascii[r])
	}
	return c.search(r)
}

func (c *classes) search(r rune) int {
	i, found := slices.BinarySearch(c.lows, r)
	if !found {
		i--
	}
	return i
}
