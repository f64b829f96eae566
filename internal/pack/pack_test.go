package pack_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-dev/weir/internal/archive"
	"github.com/weir-dev/weir/internal/blob"
	"github.com/weir-dev/weir/internal/pack"
	"github.com/weir-dev/weir/internal/tree"
)

// of returns a tree of files by path. A path that ends in a slash is an empty
// directory, one that ends in an asterisk an executable file.
func of(t testing.TB, files map[string]string) tree.Tree {
	t.Helper()
	var b tree.Builder
	for name, data := range files {
		var err error
		if d, ok := strings.CutSuffix(name, "/"); ok {
			err = b.AddDir(d)
		} else {
			name, exec := strings.CutSuffix(name, "*")
			err = b.AddFile(name, exec, blob.Of([]byte(data)))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return b.Tree()
}

func write(t testing.TB, tr tree.Tree) ([]byte, pack.Result) {
	t.Helper()
	var out bytes.Buffer
	r, err := pack.Write(&out, tr)
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes(), r
}

// small has what a tarball can hold, a long name and one that is not ASCII
// among it.
func small(t testing.TB) tree.Tree {
	return of(t, map[string]string{
		"a.txt": "hello", "b/c.txt": "x", "b/run.sh*": "#!/bin/sh\n", "b-d": "", "empty/dir/": "",
		strings.Repeat("long/", 50) + strings.Repeat("n", 120): "deep", "é/ü y": "1",
	})
}

// TestGolden holds the bytes still: a failure means that every artifact of
// every user gets a new digest (second value) or even a new revision (first
// one, never to change) with the next release.
func TestGolden(t *testing.T) {
	for name, c := range map[string]struct {
		tree     tree.Tree
		revision string
		digest   string
	}{
		"G9 two files": {
			of(t, map[string]string{"a.txt": "hello", "b/c.txt": "x"}),
			"latest@sha256:60b67a07b0e99c7549eb532af2338e217cf8abe1e4a7e0c3843f92a40bc87c2d",
			"9de8acebca5d6e194a0b94409176c403f2c3bbe081d292b0796915d704c737e1",
		},
		"the empty tree": {
			tree.Tree{},
			"latest@sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
			"9addb4c7f3afa99b03f24f9e05cb87d274a63ae9ba30c94f02c75e85d133e9de",
		},
		"small": {
			small(t),
			"latest@sha256:afd0330437491888e99a650ff3e93e63916a64a404825fd37f363c14d6306019",
			"502c9965766cb32da5e3a8557a6b9654006057218455193f82f3d3b6de25b539",
		},
	} {
		t.Run(name, func(t *testing.T) {
			data, r := write(t, c.tree)
			if got := pack.Revision(pack.Digest(c.tree)); got != c.revision {
				t.Errorf("revision %s, want %s", got, c.revision)
			}
			if got := r.Digest.String(); got != c.digest {
				t.Errorf("digest %s, want %s", got, c.digest)
			}
			if r.Digest != sha256.Sum256(data) || r.Size != int64(len(data)) {
				t.Errorf("the result %+v is not about the %d bytes written", r, len(data))
			}
		})
	}
}

func TestDigestSees(t *testing.T) {
	base := map[string]string{"a": "1", "d/b": "2"}
	for name, c := range map[string]struct {
		files map[string]string
		same  bool
	}{
		"the same content":     {map[string]string{"d/b": "2", "a": "1"}, true},
		"G4 chmod +x":          {map[string]string{"a*": "1", "d/b": "2"}, false},
		"G5 an empty dir":      {map[string]string{"a": "1", "d/b": "2", "e/": ""}, false},
		"G6 a picture":         {map[string]string{"a": "1", "d/b": "2", "x.png": ""}, false},
		"another content":      {map[string]string{"a": "1", "d/b": "3"}, false},
		"another name":         {map[string]string{"a": "1", "d/c": "2"}, false},
		"a dir made a file":    {map[string]string{"a": "1", "d": "2"}, false},
		"a forged line":        {map[string]string{"a": "1", "d\nf 0 d/b": "2"}, false},
		"contents swapped":     {map[string]string{"a": "2", "d/b": "1"}, false},
		"a file made an empty": {map[string]string{"a": "1", "d/b": ""}, false},
	} {
		t.Run(name, func(t *testing.T) {
			want, got := of(t, base), of(t, c.files)
			if same := pack.Digest(want) == pack.Digest(got); same != c.same {
				t.Errorf("same digest: %v, want %v", same, c.same)
			}
			a, _ := write(t, want)
			b, _ := write(t, got)
			if same := bytes.Equal(a, b); same != c.same {
				t.Errorf("same bytes: %v, want %v", same, c.same)
			}
		})
	}
}

// TestDigestCannotBeForged tries names that would look like other entries if
// they were not escaped.
func TestDigestCannotBeForged(t *testing.T) {
	x := fmt.Sprintf("%x", sha256.Sum256([]byte("1")))
	seen := map[blob.Digest]string{}
	for name, files := range map[string]map[string]string{
		"two files":    {"a": "1", "b": "1"},
		"a line end":   {"a\nf " + x + " b": "1"},
		"an escape":    {`a\nf ` + x + ` b`: "1"},
		"a backslash":  {`a\`: "1"},
		"two of them":  {`a\\`: "1"},
		"a path":       {"a/b": "1"},
		"a plain name": {"a": "1"},
	} {
		d := pack.Digest(of(t, files))
		if other, ok := seen[d]; ok {
			t.Errorf("%s and %s have one digest", name, other)
		}
		seen[d] = name
	}
}

// TestWriteIsDeterministic covers G1 (another day: no clock is read), G7 (no
// name goes in), G10 (order of building) and any order of writers.
func TestWriteIsDeterministic(t *testing.T) {
	trees := make([]tree.Tree, 8)
	want := make([][]byte, len(trees))
	rnd := rand.New(rand.NewPCG(1, 2))
	for i := range trees {
		files := map[string]string{}
		for j := range 1 << i {
			data := make([]byte, rnd.IntN(3000))
			for k := range data {
				data[k] = "abcdefgh \n"[rnd.IntN(1+rnd.IntN(10))]
			}
			files[fmt.Sprintf("d%d/f%d", j%7, j)] = string(data)
		}
		trees[i] = of(t, files)
		want[i], _ = write(t, trees[i])
	}
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			for i := range 2 * len(trees) {
				i = (i*(w+1) + w) % len(trees)
				var out bytes.Buffer
				if _, err := pack.Write(&out, trees[i]); err != nil || !bytes.Equal(out.Bytes(), want[i]) {
					t.Errorf("writer %d, tree %d: other bytes, %v", w, i, err)
				}
			}
		})
	}
	wg.Wait()
}

func TestHeaders(t *testing.T) {
	data, _ := write(t, small(t))
	if want := []byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0}; !bytes.HasPrefix(data, want) {
		t.Errorf("the gzip header is % x", data[:10])
	}
	zr, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for tr := tar.NewReader(zr); ; {
		h, err := tr.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, h.Name)
		mode := map[bool]int64{true: 0o755, false: 0o644}[h.Typeflag == tar.TypeDir || h.Name == "b/run.sh"]
		if h.Mode != mode || h.Uid != 0 || h.Gid != 0 || h.Uname != "" || h.Gname != "" || !h.ModTime.Equal(time.Unix(0, 0)) {
			t.Errorf("%q: %+v", h.Name, h)
		}
		format := tar.FormatUSTAR
		if len(h.Name) > 255 || strings.Contains(h.Name, "é") {
			format = tar.FormatPAX
		}
		if h.Format != format {
			t.Errorf("%q has the format %v", h.Name, h.Format)
		}
	}
	var short []string
	for _, n := range names {
		if !strings.HasPrefix(n, "long/long/") {
			short = append(short, n)
		}
	}
	want := []string{"a.txt", "b/", "b/c.txt", "b/run.sh", "b-d", "empty/", "empty/dir/", "long/", "é/", "é/ü y"}
	if diff := cmp.Diff(want, short); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestRoundTrip(t *testing.T) {
	for name, tr := range map[string]tree.Tree{"small": small(t), "empty": {}} {
		data, r := write(t, tr)
		got, err := archive.Read(bytes.NewReader(data), blob.Memory{}, archive.Options{Links: archive.Refuse})
		if err != nil {
			t.Fatal(err)
		}
		if pack.Digest(got) != pack.Digest(tr) {
			t.Errorf("%s: other content came back", name)
		}
		files := 0
		_ = got.Walk(".", func(e tree.Entry) error {
			if !e.IsDir() {
				files++
			}
			return nil
		})
		if r.Files != files {
			t.Errorf("%s: %d files, want %d", name, r.Files, files)
		}
	}
}

// unpack runs a foreign program on a tarball of small and compares what it
// left with the tree.
func unpack(t *testing.T, command ...string) {
	t.Helper()
	if _, err := exec.LookPath(command[0]); err != nil {
		t.Skip(err)
	}
	tr := small(t)
	data, _ := write(t, tr)
	dir := t.TempDir()
	packed, out := filepath.Join(dir, "a.tar.gz"), filepath.Join(dir, "out")
	if err := errors.Join(os.WriteFile(packed, data, 0o600), os.Mkdir(out, 0o700)); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), command[0], append(command[1:], packed)...)
	cmd.Dir = out
	if text, err := cmd.CombinedOutput(); err != nil || len(text) > 0 {
		t.Fatalf("%v: %s", err, text)
	}
	var b tree.Builder
	fsys := os.DirFS(out)
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return errors.Join(err, b.AddDir(name))
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		content, err := fs.ReadFile(fsys, name)
		return errors.Join(err, b.AddFile(name, info.Mode()&0o111 != 0, blob.Of(content)))
	})
	if err != nil {
		t.Fatal(err)
	}
	if pack.Digest(b.Tree()) != pack.Digest(tr) {
		t.Error("other content came out")
	}
}

func TestTarReads(t *testing.T) { unpack(t, "tar", "-xzf") }

func TestPythonReads(t *testing.T) {
	unpack(t, "python3", "-c", "import sys, tarfile; tarfile.open(sys.argv[1]).extractall(filter='data')")
}

// recipe is the shell text that the documentation of Digest shows.
const recipe = `
find . -mindepth 1 -printf '%P\n' | LC_ALL=C sort | while IFS= read -r p; do
  if [ -d "$p" ]; then echo "d - $p"; continue; fi
  if [ -x "$p" ]; then k=x; else k=f; fi
  echo "$k $(sha256sum < "$p" | cut -d' ' -f1) $p"
done | sha256sum`

func TestShellComputesDigest(t *testing.T) {
	for _, name := range []string{"sh", "find", "sort", "sha256sum", "tar"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skip(err)
		}
	}
	tr := small(t)
	data, _ := write(t, tr)
	cmd := exec.CommandContext(t.Context(), "sh", "-ec", "tar -xzf -\n"+recipe)
	cmd.Dir, cmd.Stdin = t.TempDir(), bytes.NewReader(data)
	out, err := cmd.Output()
	if err != nil {
		if strings.Contains(fmt.Sprint(err), "printf") {
			t.Skip("find is not GNU's")
		}
		t.Fatal(err)
	}
	if got, want := strings.Fields(string(out))[0], pack.Digest(tr).String(); got != want {
		t.Errorf("the shell says %s, Digest %s", got, want)
	}
}

type full struct{ left int }

var errFull = errors.New("no space left")

func (f *full) Write(p []byte) (int, error) {
	if len(p) > f.left {
		return f.left, errFull
	}
	f.left -= len(p)
	return len(p), nil
}

// TestWriteFails fails at any place and then writes right.
func TestWriteFails(t *testing.T) {
	tr := small(t)
	want, _ := write(t, tr)
	for n := 0; n < len(want); n += 7 {
		if _, err := pack.Write(&full{n}, tr); !errors.Is(err, errFull) {
			t.Fatalf("after %d bytes: %v", n, err)
		}
	}
	if got, _ := write(t, tr); !bytes.Equal(got, want) {
		t.Error("a failure changes what the next call writes")
	}
}

func TestBlobFails(t *testing.T) {
	p, err := blob.NewPack(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b, err := p.Put(strings.NewReader("x"))
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	var edit tree.Builder
	if err := edit.AddFile("dir/file", false, b); err != nil {
		t.Fatal(err)
	}
	if _, err := pack.Write(io.Discard, edit.Tree()); err == nil || !strings.Contains(err.Error(), `packing "dir/file"`) {
		t.Errorf("got %v", err)
	}
}

func BenchmarkWrite(b *testing.B) {
	files := map[string]string{}
	for i := range 16 {
		files[fmt.Sprintf("resources/f%02d.yaml", i)] = strings.Repeat(fmt.Sprintf("key-%d: value\n", i), 100)
	}
	tr := of(b, files)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := pack.Write(io.Discard, tr); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDigest(b *testing.B) {
	tr := small(b)
	b.ReportAllocs()
	for b.Loop() {
		pack.Digest(tr)
	}
}
