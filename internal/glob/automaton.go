package glob

// automaton keeps the states that a match is in as bits. One rune of a path
// costs a few operations for each 64 states and one for each alternative,
// whatever the pattern and the path are. It does not change.
type automaton struct {
	classes classes
	moves   []uint64 // by class, then word: the states that it moves on by one
	words   []word
	leaps   []leap
	begin   []uint64 // the states before a path
	empty   bool     // the empty path matches
	slash   bool     // some state moves on by a slash
}

// word is 64 states.
type word struct {
	star, deep, fork uint64 // by kind
	keep             uint64 // deep and rest: no rune leaves them
	end, endInside   uint64 // as in state
}

// leap says that a match in state from, a fork, is also in those of a word.
type leap struct {
	from uint
	word int
	also uint64
}

func newAutomaton(states []state) *automaton {
	n := (len(states) + 63) / 64
	a := &automaton{
		classes: classify(states),
		words:   make([]word, n),
		leaps:   leaps(states),
		begin:   make([]uint64, n),
		empty:   states[0].end,
	}
	for i, s := range states {
		a.words[i/64].add(s, 1<<(i%64))
		a.slash = a.slash || s.kind == one && s.set.has('/')
	}
	for _, r := range a.classes.lows {
		moved := make([]uint64, n)
		for i, s := range states {
			if s.kind == one && s.set.has(r) || s.kind == deep && r == '/' {
				moved[i/64] |= 1 << (i % 64)
			}
		}
		a.moves = append(a.moves, moved...)
	}
	enter(states, 0, a.begin)
	return a
}

func (w *word) add(s state, bit uint64) {
	switch s.kind {
	case star:
		w.star |= bit
	case deep:
		w.deep |= bit
		w.keep |= bit
	case rest:
		w.keep |= bit
	case fork:
		w.fork |= bit
	default: // moves says where one leads, and stop leads nowhere
	}
	if s.end {
		w.end |= bit
	}
	if s.endInside {
		w.endInside |= bit
	}
}

// enter adds state i to bits, and all that a match in it is in as well.
func enter(states []state, i int, bits []uint64) {
	if bits[i/64]>>(i%64)&1 != 0 {
		return
	}
	bits[i/64] |= 1 << (i % 64)
	switch s := states[i]; s.kind {
	case star, deep:
		enter(states, i+1, bits)
	case fork:
		for _, to := range s.to {
			enter(states, to, bits)
		}
	default: // one, rest and stop take a rune, or end the match
	}
}

func leaps(states []state) []leap {
	var all []leap
	for from, s := range states {
		if s.kind != fork {
			continue
		}
		also := make([]uint64, (len(states)+63)/64)
		enter(states, from, also)
		for w, bits := range also {
			if bits != 0 {
				all = append(all, leap{uint(from), w, bits})
			}
		}
	}
	return all
}
