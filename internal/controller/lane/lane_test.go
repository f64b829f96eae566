package lane

import (
	"slices"
	"testing"
)

// Places are given in the order in which they are asked for, and no more than
// there are.
func TestOrder(t *testing.T) {
	l := &Lane[string]{Width: 2}
	var told []string
	do := func(k string) bool {
		in := l.Enter(k)
		if !in {
			l.leave(&told, k)
		}
		return in
	}
	for _, s := range []struct {
		enter, leave string
		in           bool
		told         []string
	}{
		{enter: "a", in: true},
		{enter: "b", in: true},
		{enter: "c"},
		{enter: "d"},
		{enter: "c"}, // it asks again, and stays the first
		{leave: "a", told: []string{"c"}},
		{enter: "d"}, // there is a place, for c
		{enter: "e"},
		{enter: "c", in: true},
		{leave: "b", told: []string{"d"}},
		{leave: "c", told: []string{"d"}},
		{enter: "e", in: true}, // there are places for both
		{enter: "d", in: true},
		{leave: "e"},
		{leave: "d"},
	} {
		told = nil
		if s.leave != "" {
			l.leave(&told, s.leave)
			if !slices.Equal(told, s.told) {
				t.Errorf("when %s leaves, %v are told, want %v", s.leave, told, s.told)
			}
			continue
		}
		if in := do(s.enter); in != s.in {
			t.Errorf("%s enters: %t, want %t", s.enter, in, s.in)
		}
	}
	if len(l.in)+len(l.waiting) > 0 {
		t.Errorf("%v are in and %d wait, though all left", l.in, len(l.waiting))
	}
}

func (l *Lane[K]) leave(told *[]K, k K) {
	if next, ok := l.Leave(k); ok {
		*told = append(*told, next)
	}
}

// Who became small, or is gone, waits no more and holds up nobody.
func TestGone(t *testing.T) {
	l := &Lane[string]{}
	if !l.Enter("a") || l.Enter("b") || l.Enter("c") {
		t.Fatal("there is one place")
	}
	l.Leave("b")
	l.Leave("c")
	l.Leave("b") // it did not ask
	if next, ok := l.Leave("a"); !ok || next != "c" {
		t.Errorf("%q is next, want c", next)
	}
	if !l.Enter("c") {
		t.Error("c has no place, though b is gone")
	}
}
