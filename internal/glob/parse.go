package glob

import "unicode/utf8"

// state is a place in a pattern that a matcher can be at: before what kind
// says. One rune of the path moves a matcher from state i to state i+1, except
// where the kind says otherwise.
type state struct {
	kind kind
	set  set   // one
	to   []int // fork
	// The path matches when it ends where the matcher came here (end), or in
	// what the state itself consumed (endInside).
	end, endInside bool
}

type kind uint8

const (
	one  kind = iota // one rune of set
	star             // any runes but slashes, or none: also at i+1
	deep             // whole directories, or none: at i+1 at first and after each slash
	rest             // all of a path that is left
	fork             // nothing: also at each state of to
	stop             // the end of the pattern
)

// place is a position of the pattern; first says that it starts a segment,
// which depends on the alternative before it. That alone decides whether "**"
// is a whole segment.
type place struct {
	at    int
	first bool
}

// parser lays the states of a pattern out.
type parser struct {
	text   *text
	states []state
	index  map[place]int
}

func parse(t *text) []state {
	p := &parser{text: t, index: map[place]int{}}
	p.lay(place{0, true})
	return p.states
}

// lay appends the states from pl on, up to the end of the pattern or a state
// that is there already, and returns the index of the first.
func (p *parser) lay(pl place) int {
	begin := len(p.states)
	for {
		pl = p.settle(pl)
		here, end := len(p.states), p.text.matchesEnd(pl.at)
		if known, ok := p.index[pl]; ok {
			p.states = append(p.states, state{kind: fork, to: []int{known}, end: end})
			return begin
		}
		p.index[pl] = here
		s, next := p.next(pl)
		s.end = end
		p.states = append(p.states, s)
		switch s.kind {
		case rest, stop:
			return begin
		case fork:
			p.branch(here, pl)
			return begin
		default:
			pl = next
		}
	}
}

// branch lays out the alternatives of the group at pl, whose state is here.
func (p *parser) branch(here int, pl place) {
	var to []int
	for _, alt := range p.text.alts[pl.at] {
		next := p.settle(place{alt, pl.first})
		i, ok := p.index[next]
		if !ok {
			i = p.lay(next)
		}
		to = append(to, i)
	}
	p.states[here].to = to
}

// settle makes places equal that match the same.
func (p *parser) settle(pl place) place {
	pl.at = p.text.enter(pl.at)
	if s, _ := p.next(pl); s.kind != deep && s.kind != rest && s.kind != fork {
		pl.first = false
	}
	return pl
}

// next reads the state at a place and the place behind it.
func (p *parser) next(pl place) (state, place) {
	t, i := p.text, pl.at
	if i == len(t.s) {
		return state{kind: stop}, pl
	}
	switch t.s[i] {
	case '*':
		return p.stars(pl)
	case '?':
		return state{kind: one, set: anyButSlash}, place{i + 1, false}
	case '[':
		set, behind := t.class(i)
		return state{kind: one, set: set}, place{behind, false}
	case '{':
		return state{kind: fork}, pl
	case '\\':
		i++
	}
	r, behind := t.rune(i)
	return state{kind: one, set: only(r)}, place{behind, r == '/'}
}

// stars reads a run of "*" and "**": stars side by side match what one does.
func (p *parser) stars(pl place) (state, place) {
	kind, next := p.star(pl)
	for kind != rest {
		at := p.text.enter(next.at)
		if at == len(p.text.s) || p.text.s[at] != '*' {
			break
		}
		again, behind := p.star(place{at, next.first})
		if again != kind {
			break
		}
		next = behind
	}
	return state{kind: kind, endInside: kind == rest || kind == star && p.text.matchesEnd(next.at)}, next
}

// star reads one "*" or "**". A "**" that is not a whole segment is a "*".
func (p *parser) star(pl place) (kind, place) {
	t, behind := p.text, pl.at+1
	i := t.shut(behind)
	if i == len(t.s) || t.s[i] != '*' {
		return star, place{behind, false}
	}
	behind = i + 1
	i = t.shut(behind)
	switch {
	case pl.first && i == len(t.s):
		return rest, place{i, false}
	case pl.first && t.s[i] == '/':
		return deep, place{i + 1, true}
	}
	return star, place{behind, false}
}

// need returns the longest text that is part of every path that matches. It
// stands before the first group and before all places where a path may end.
func need(states []state) string {
	var longest, text string
	for _, s := range states {
		if s.end || s.endInside || s.kind == fork {
			break
		}
		r, ok := s.set.single()
		// Bytes that are no rune match this one, too.
		if !ok || r == utf8.RuneError {
			text = ""
			continue
		}
		if text += string(r); len(text) > len(longest) {
			longest = text
		}
	}
	return longest
}
