package glob

import "unicode/utf8"

// run is a match under way.
type run struct {
	*automaton
	bits    []uint64 // the states that it is in
	matched bool     // a path that ends here matches
}

// scratch is room for a run of most patterns, to keep it off the heap.
type scratch [MaxBytes/64 + 8]uint64

func (a *automaton) start(room *scratch) run {
	return run{a, append(room[:0], a.begin...), a.empty}
}

// feed moves the run on by a piece of a path. It reports false when nothing
// that follows can match.
func (r *run) feed(path string) bool {
	if len(r.words) == 1 {
		return r.feed64(path)
	}
	for i := 0; i < len(path); {
		c, size := rune(path[i]), 1
		if c >= utf8.RuneSelf {
			c, size = utf8.DecodeRuneInString(path[i:])
		}
		i += size
		if !r.step(r.classes.of(c), c == '/') {
			return false
		}
	}
	return true
}

// step moves the run on by one rune of a class. It reports false when no state
// is left.
func (r *run) step(class int, slash bool) bool {
	var carryMove, carryDeep, carryStar, left, forked, matched uint64
	bits := r.bits
	moves, words := r.moves[class*len(bits):][:len(bits)], r.words[:len(bits)]
	for i, was := range bits {
		if was|carryMove|carryDeep|carryStar == 0 {
			continue
		}
		w := &words[i]
		stay := was & w.keep
		if !slash {
			stay |= was & w.star
		}
		move := was & moves[i]
		came := move<<1 | carryMove
		through := came & w.deep
		now := came | stay | through<<1 | carryDeep
		over := now & w.star
		now |= over<<1 | carryStar
		carryMove, carryDeep, carryStar = move>>63, through>>63, over>>63
		bits[i] = now
		left |= now
		forked |= now & w.fork
		matched |= came&w.end | stay&w.endInside
	}
	if forked != 0 {
		for _, l := range r.leaps {
			if bits[l.from/64]>>(l.from%64)&1 != 0 {
				bits[l.word] |= l.also
			}
		}
	}
	r.matched = matched != 0
	return left != 0
}

// feed64 is feed for patterns of at most 64 states, which most are.
func (r *run) feed64(path string) bool {
	bits, matched, w := r.bits[0], r.matched, r.words[0]
	for i := 0; i < len(path); {
		c, size := rune(path[i]), 1
		if c >= utf8.RuneSelf {
			c, size = utf8.DecodeRuneInString(path[i:])
		}
		i += size
		stay := bits & w.keep
		if c != '/' {
			stay |= bits & w.star
		}
		came := bits & r.moves[r.classes.of(c)] << 1
		bits = came | stay | came&w.deep<<1
		bits |= bits & w.star << 1
		if bits&w.fork != 0 {
			for _, l := range r.leaps {
				if bits>>l.from&1 != 0 {
					bits |= l.also
				}
			}
		}
		if bits == 0 {
			return false
		}
		matched = came&w.end|stay&w.endInside != 0
	}
	r.bits[0], r.matched = bits, matched
	return true
}
