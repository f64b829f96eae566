package store

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
)

// TestGarbage is about one name. In its cases 1 to 9 are tarballs by content,
// .1 to .9 their records; each file has its age in seconds. What is referenced
// has an asterisk, what is held a plus.
func TestGarbage(t *testing.T) {
	policy := Policy{Now: time.Unix(1e9, 0), TTL: time.Minute, Records: 2, Safe: time.Hour}
	for name, c := range map[string]struct {
		files string
		want  string
	}{
		"nothing":                          {"", ""},
		"the only one":                     {"1*=10 .1=10", ""},
		"O2 the only one, old":             {"1*=9999999 .1=9999999", ""},
		"O2 many, all referenced":          {"1*=9999999 2*=99999 3*=9999 4*=999 5*=99", ""},
		"O2 put by a pass beyond the TTL":  {"1*=9999 .1=9999 2+=600 .2=600", ""},
		"O2 put by the first pass":         {"1+=600 .1=600", ""},
		"put again for a rollback":         {"1+=1 .1=9999 2*=600 .2=600", ""},
		"put and never published":          {"1*=9999 .1=9999 2+=3600 .2=3600", "2 .2"},
		"old, superseded a moment ago":     {"1=9999 .1=9999 2*=30 .2=30", ""},
		"superseded beyond the TTL":        {"1=9999 .1=9999 2*=60 .2=60", "1 .1"},
		"superseded by one that is not it": {"1*=9999 2=9999", "2"},
		"more than the records":            {"1=5 2=4 3=3 4*=2 .1=5 .2=4 .3=3 .4=2", "1 .1"},
		"an old one is referenced":         {"1*=99999 2=5 3=4 4=3", "2"},
		"nothing is referenced":            {"1=99 .1=99 2=98 .2=98", "1 2 .1 .2"},
		"nothing is, but lately":           {"1=59 .1=59 2=1 .2=1", ""},
		"two of one age":                   {"1=5 2=5 3=5 4*=5", "3"},
		"from tomorrow":                    {"1=-9999 2=-9998 3=-9997 4*=1", "3"},
		"a record alone":                   {".1=3600 .2=3599", ".1"},
		"a temporary file":                 {".tmp-A=3600 .tmp-B=3599", ".tmp-A"},
		"source-watcher's":                 {"345.tar.gz=3600 345.tar.gz.lock=3600 346.tar.gz*=3600", "345.tar.gz 345.tar.gz.lock"},
	} {
		t.Run(name, func(t *testing.T) {
			p := policy
			p.Referenced = map[string]bool{}
			var files []file
			held := ""
			for f := range strings.FieldsSeq(c.files) {
				name, age, _ := strings.Cut(f, "=")
				base := strings.TrimRight(name, "*+")
				seconds, err := time.ParseDuration(age + "s")
				if err != nil {
					t.Fatal(err)
				}
				at := long(base)
				files = append(files, file{path: at, modified: p.Now.Add(-seconds)})
				if strings.HasSuffix(name, "*") {
					p.Referenced[at] = true
				}
				if strings.HasSuffix(name, "+") {
					held = at
				}
			}
			var want, got []string
			for f := range strings.FieldsSeq(c.want) {
				want = append(want, long(f))
			}
			for _, f := range garbage(files, p, held) {
				got = append(got, f.path)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("removed (-want +got):\n%s", diff)
			}
		})
	}
}

func long(base string) string {
	dir := "externalartifact/apps/app/"
	switch {
	case len(base) == 1:
		return dir + strings.Repeat(base, 64) + suffix
	case len(base) == 2:
		return recordOf(dir + strings.Repeat(base[1:], 64) + suffix)
	default:
		return dir + base
	}
}

// age sets the time of all files of the store back.
func age(t *testing.T, dir string, by time.Duration) {
	t.Helper()
	err := filepath.Walk(dir, func(name string, info os.FileInfo, err error) error {
		if err != nil || info.IsDir() {
			return err
		}
		at := info.ModTime().Add(-by)
		return os.Chtimes(name, at, at)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestLongPass is O2: a pass that takes longer than the retention makes 30
// artifacts, while sweeps run that know nothing of it, and publishes them (W11).
func TestLongPass(t *testing.T) {
	dir := t.TempDir()
	d := openAt(t, dir)
	policy := func(refs ...string) Policy {
		p := Policy{Now: time.Now(), TTL: time.Minute, Records: 2, Referenced: map[string]bool{}}
		for _, r := range refs {
			p.Referenced[r] = true
		}
		return p
	}
	sweep := func(p Policy, want ...string) {
		t.Helper()
		got, err := d.Sweep(t.Context(), p)
		if err != nil || !slices.Equal(got.Removed, want) {
			t.Fatalf("swept %+v, want %q, %v", got, want, err)
		}
	}
	var published []string
	for i := range 30 {
		tr, content := one(t, strconv.Itoa(i))
		a, err := d.Put(t.Context(), types.NamespacedName{Namespace: "apps", Name: fmt.Sprint("a", i)}, tr, content)
		if err != nil {
			t.Fatal(err)
		}
		published = append(published, a.Path)
		age(t, dir, time.Minute)
		sweep(policy())
	}
	sweep(policy(published...))
	age(t, dir, 24*time.Hour)
	sweep(policy(published...))

	// The next content of one of them; the former stays for a minute.
	tr, content := one(t, "next")
	name := types.NamespacedName{Namespace: "apps", Name: "a7"}
	a, err := d.Put(t.Context(), name, tr, content)
	if err != nil {
		t.Fatal(err)
	}
	former := published[7]
	published[7] = a.Path
	sweep(policy(published...))
	age(t, dir, time.Minute)
	sweep(policy(published...), former, recordOf(former))

	// A generator is gone, and with it all that it named.
	got, err := d.Sweep(t.Context(), policy(published[0]))
	if err != nil || len(got.Removed) != 2*29 {
		t.Errorf("removed %d files, %v", len(got.Removed), err)
	}
	names, err := d.names()
	if err != nil || len(names) != 1 {
		t.Errorf("left the directories %q, %v", names, err)
	}
	if _, err := Stat(d, published[0]); err != nil {
		t.Error(err)
	}
}

// TestRollback puts again what was superseded long ago. It is the newest then,
// and held until it is published.
func TestRollback(t *testing.T) {
	dir := t.TempDir()
	d := openAt(t, dir)
	old, oldContent := one(t, "old")
	first, err := d.Put(t.Context(), named, old, oldContent)
	if err != nil {
		t.Fatal(err)
	}
	next, nextContent := one(t, "next")
	second, err := d.Put(t.Context(), named, next, nextContent)
	if err != nil {
		t.Fatal(err)
	}
	age(t, dir, 24*time.Hour)
	if _, err := d.Put(t.Context(), named, old, oldContent); err != nil {
		t.Fatal(err)
	}
	// Nobody refers to it yet; then it alone is referred to.
	got, err := d.Sweep(t.Context(), Policy{Now: time.Now(), Referenced: map[string]bool{second.Path: true}})
	if err != nil || len(got.Removed) > 0 {
		t.Errorf("swept %+v, %v", got, err)
	}
	got, err = d.Sweep(t.Context(), Policy{Now: time.Now(), Referenced: map[string]bool{first.Path: true}, TTL: time.Minute, Records: 1})
	if err != nil || len(got.Removed) > 0 {
		t.Errorf("swept %+v a moment after it was superseded, %v", got, err)
	}
	got, err = d.Sweep(t.Context(), Policy{Now: time.Now().Add(time.Minute), Referenced: map[string]bool{first.Path: true}, TTL: time.Minute, Records: 1})
	if err != nil || len(got.Removed) != 2 || got.Removed[0] != second.Path {
		t.Errorf("swept %+v, %v", got, err)
	}
}

// TestSweepLeaves has files that are not of the store's making.
func TestSweepLeaves(t *testing.T) {
	dir := t.TempDir()
	d := openAt(t, dir)
	files := []string{"lost+found/x", "gitrepository/a/b/x.tar.gz", "externalartifact/x", "externalartifact/apps/x", "externalartifact/Apps/a/x", "externalartifact/apps/app/dir/x"}
	for _, name := range files {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := d.Sweep(t.Context(), Policy{Now: time.Now().Add(1000 * time.Hour)})
	if err != nil || len(got.Removed) > 0 {
		t.Errorf("removed %+v, %v", got, err)
	}
	for _, name := range files {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
}

func BenchmarkSweep(b *testing.B) {
	d, err := OpenDisk(b.TempDir(), Options{})
	if err != nil {
		b.Fatal(err)
	}
	refs := map[string]bool{}
	for i := range 1459 {
		name := types.NamespacedName{Namespace: "apps", Name: fmt.Sprint("a", i)}
		file := Path(name, [32]byte{1})
		refs[file] = true
		if err := d.dir.Root.MkdirAll(dirOf(name), 0o700); err != nil {
			b.Fatal(err)
		}
		for _, f := range []string{file, recordOf(file)} {
			if err := d.dir.Root.WriteFile(f, nil, 0o600); err != nil {
				b.Fatal(err)
			}
		}
	}
	for b.Loop() {
		if got, err := d.Sweep(b.Context(), Policy{Now: time.Now(), Referenced: refs}); err != nil || len(got.Removed) > 0 {
			b.Fatal(got, err)
		}
	}
}
