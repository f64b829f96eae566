package ledger_test

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/weir-dev/weir/internal/controller/ledger"
	"github.com/weir-dev/weir/internal/recipe"
	"github.com/weir-dev/weir/pkg/reconciler/inventory"
	"github.com/weir-dev/weir/pkg/reconciler/object"
)

func key(name string) object.Key { return object.Key{Kind: "Thing", Namespace: "ns", Name: name} }

func keys(names string) []object.Key {
	var out []object.Key
	for _, n := range strings.Fields(names) {
		out = append(out, key(n))
	}
	return out
}

func set(names string) map[object.Key]bool {
	out := map[object.Key]bool{}
	for _, k := range keys(names) {
		out[k] = true
	}
	return out
}

// holds fails the test unless the book has these items, each as "name=State".
func holds(t *testing.T, b *ledger.Book, want string) {
	t.Helper()
	v, err := b.Load(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, it := range v.Items {
		got = append(got, it.Name+"="+string(it.State))
	}
	if diff := cmp.Diff(strings.Join(strings.Fields(want), " "), strings.Join(got, " ")); diff != "" {
		t.Errorf("items (-want +got):\n%s", diff)
	}
}

func commit(t *testing.T, b *ledger.Book, items ...inventory.Item) {
	t.Helper()
	if _, err := b.Commit(t.Context(), "", inventory.Change{Next: inventory.New("", items)}); err != nil {
		t.Fatal(err)
	}
}

func written(name string) inventory.Item {
	return inventory.Item{Key: key(name), Version: "v1", State: inventory.Ready}
}

// Of objects that are only named, nothing is known but that they may be there;
// what is known of others is not forgotten when they are named again.
func TestOpen(t *testing.T) {
	var l ledger.Ledger
	b := l.Open("one", "v1", keys("a b"), nil)
	holds(t, b, "a=Intended b=Intended")
	commit(t, b, written("a"))
	holds(t, l.Open("one", "v1", keys("a c"), nil), "a=Ready c=Intended")
	holds(t, l.Open("two", "v1", nil, nil), "")
}

// What is kept is neither seen nor touched by who works with the book, and is
// as it was when it is not kept any more.
func TestKeep(t *testing.T) {
	var l ledger.Ledger
	commit(t, l.Open("one", "v1", nil, nil), written("a"), written("b"))
	b := l.Open("one", "v1", nil, set("b"))
	holds(t, b, "a=Ready")
	commit(t, b)
	holds(t, b, "")
	holds(t, l.Open("one", "v1", nil, nil), "b=Ready")
}

func TestMark(t *testing.T) {
	var l ledger.Ledger
	if m := l.Marked("one"); m != nil {
		t.Errorf("an empty ledger has the mark %+v", m)
	}
	want := ledger.Mark{Generation: 2, Digest: "d", Versions: map[object.Key]string{key("a"): "7"}}
	l.Mark("one", want)
	if diff := cmp.Diff(&want, l.Marked("one")); diff != "" {
		t.Errorf("mark (-want +got):\n%s", diff)
	}
	if m := l.Marked("two"); m != nil {
		t.Errorf("another generator has the mark %+v", m)
	}
	// A generator of the same name that comes later has another UID, and is
	// nothing to the first.
	l.Open("one", "v1", keys("a"), nil)
	l.Forget("one")
	if m := l.Marked("one"); m != nil {
		t.Errorf("a forgotten generator has the mark %+v", m)
	}
	holds(t, l.Open("one", "v1", nil, nil), "")
}

func TestTold(t *testing.T) {
	var l ledger.Ledger
	l.Tell("one", map[object.Key]*meta.Artifact{key("a"): {Revision: "1"}, key("b"): {Revision: "1"}})
	l.Tell("one", map[object.Key]*meta.Artifact{key("a"): {Revision: "2"}})
	if a := l.Told("one", key("a")); a == nil || a.Revision != "2" {
		t.Errorf("told %+v", a)
	}
	if b := l.Told("one", key("b")); b != nil {
		t.Errorf("an object that is not told of any more was told %+v", b)
	}
	l.Forget("one")
	if a := l.Told("one", key("a")); a != nil {
		t.Errorf("an object of a forgotten generator was told %+v", a)
	}
}

// A version is moved only from where it is known to be: what somebody else has
// written in between has to be read.
func TestMove(t *testing.T) {
	var l ledger.Ledger
	a, b := written("a"), written("b")
	a.ResourceVersion = "3"
	commit(t, l.Open("one", "v1", nil, nil), a, b)
	for _, step := range []struct{ name, from, to, want string }{
		{"a", "2", "4", "3"},
		{"a", "3", "4", "4"},
		{"b", "", "4", ""},
		{"c", "3", "4", ""},
	} {
		l.Move("one", key(step.name), step.from, step.to)
		v, err := l.Open("one", "v1", nil, nil).Load(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		if it, _ := v.Find(key(step.name)); it.ResourceVersion != step.want {
			t.Errorf("%+v: version %q", step, it.ResourceVersion)
		}
	}
}

// Passes over different generators run side by side.
func TestConcurrentUse(t *testing.T) {
	var l ledger.Ledger
	var group sync.WaitGroup
	for _, uid := range []types.UID{"one", "two", "three"} {
		group.Go(func() {
			for range 100 {
				b := l.Open(uid, "v1", keys("a b"), nil)
				commit(t, b, written("a"))
				holds(t, b, "a=Ready")
				l.Mark(uid, ledger.Mark{Digest: string(uid)})
				if got := l.Marked(uid).Digest; got != string(uid) {
					t.Errorf("%s has the mark of %s", uid, got)
				}
			}
		})
	}
	group.Wait()
}

// Expressions are compiled once a generation, and what is wrong every time.
func TestRecipe(t *testing.T) {
	var l ledger.Ledger
	compiled := 0
	compile := func() (*recipe.Recipe, error) {
		compiled++
		return &recipe.Recipe{}, nil
	}
	for i, c := range []struct {
		uid        types.UID
		generation int64
		want       int
	}{{"a", 1, 1}, {"a", 1, 1}, {"b", 1, 2}, {"a", 2, 3}, {"a", 2, 3}, {"a", 1, 4}} {
		if r, err := l.Recipe(c.uid, c.generation, compile); r == nil || err != nil || compiled != c.want {
			t.Errorf("%d: compiled %d times, want %d; %v", i, compiled, c.want, err)
		}
	}
	l.Forget("b")
	wrong := errors.New("wrong")
	for range 2 {
		if _, err := l.Recipe("b", 1, func() (*recipe.Recipe, error) { return nil, wrong }); !errors.Is(err, wrong) {
			t.Errorf("got %v", err)
		}
	}
}
