package archive_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-dev/weir/internal/archive"
	"github.com/weir-dev/weir/internal/blob"
	"github.com/weir-dev/weir/internal/tree"
	"github.com/weir-dev/weir/internal/tree/treetest"
)

// file returns the header of a file, with the content where raw takes it from.
func file(name, data string) tar.Header {
	return tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Uname: data}
}

func withMode(mode int64, h tar.Header) tar.Header {
	h.Mode = mode
	return h
}

func dir(name string) tar.Header {
	return tar.Header{Typeflag: tar.TypeDir, Name: name, Mode: 0o755}
}

func symlink(name, to string) tar.Header {
	return tar.Header{Typeflag: tar.TypeSymlink, Name: name, Linkname: to}
}

func hard(name, to string) tar.Header {
	return tar.Header{Typeflag: tar.TypeLink, Name: name, Linkname: to}
}

func special(kind byte) tar.Header {
	return tar.Header{Typeflag: kind, Name: "special", Mode: 0o644}
}

var global = tar.Header{
	Typeflag:   tar.TypeXGlobalHeader,
	Name:       "pax_global_header",
	PAXRecords: map[string]string{"comment": "0123456789abcdef"},
}

// raw returns an uncompressed archive.
func raw(t testing.TB, headers ...tar.Header) []byte {
	t.Helper()
	var out bytes.Buffer
	tw := tar.NewWriter(&out)
	for _, h := range headers {
		data := h.Uname
		h.Uname, h.Size = "", int64(len(data))
		if err := tw.WriteHeader(&h); err != nil {
			t.Fatalf("%q: %v", h.Name, err)
		}
		if _, err := io.WriteString(tw, data); err != nil {
			t.Fatal(err)
		}
	}
	if err := tw.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func zipped(t testing.TB, parts ...[]byte) []byte {
	t.Helper()
	var out bytes.Buffer
	for _, part := range parts {
		zw := gzip.NewWriter(&out)
		if _, err := zw.Write(part); err != nil {
			t.Fatal(err)
		}
		if err := zw.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return out.Bytes()
}

func tarball(t testing.TB, headers ...tar.Header) []byte {
	t.Helper()
	return zipped(t, raw(t, headers...))
}

func read(data []byte, o archive.Options) (tree.Tree, error) {
	return archive.Read(bytes.NewReader(data), blob.Memory{}, o)
}

func TestRead(t *testing.T) {
	for name, c := range map[string]struct {
		in   []tar.Header
		want map[string]string
	}{
		"F1 files and directories": {
			[]tar.Header{file("k.yaml", "k"), dir("nod/"), file("nod/y.txt", "y"), withMode(0o700, file("sub/x.sh", "x"))},
			map[string]string{"k.yaml": "k", "nod/y.txt": "y", "sub/x.sh (x)": "x"},
		},
		"F14 an empty archive":   {nil, map[string]string{}},
		"an empty directory":     {[]tar.Header{dir("a/b/")}, map[string]string{"a/b": "<dir>"}},
		"an empty file":          {[]tar.Header{file("a", "")}, map[string]string{"a": ""}},
		"F15 symlinks":           {[]tar.Header{file("a", "1"), symlink("l", "a"), symlink("a", "/etc/passwd")}, map[string]string{"a": "1"}},
		"a file below a symlink": {[]tar.Header{symlink("l", "/etc"), file("l/passwd", "1")}, map[string]string{"l/passwd": "1"}},
		"F15b a hard link": {
			[]tar.Header{withMode(0o755, file("orig.txt", "hello")), hard("hard.txt", "orig.txt"), hard("d/h", "./hard.txt")},
			map[string]string{"orig.txt (x)": "hello", "hard.txt (x)": "hello", "d/h (x)": "hello"},
		},
		"F15b a hard link keeps what it meant": {
			[]tar.Header{file("a", "1"), hard("b", "a"), file("a", "2")}, map[string]string{"a": "2", "b": "1"},
		},
		"a hard link to itself":         {[]tar.Header{file("a", "1"), hard("a", "a")}, map[string]string{"a": "1"}},
		"a hard link to a symlink":      {[]tar.Header{symlink("l", "x"), hard("m", "l"), hard("n", "m")}, map[string]string{}},
		"F15d a PAX global header":      {[]tar.Header{global, file("a", "1"), global}, map[string]string{"a": "1"}},
		"F18 names that only look bad":  {[]tar.Header{file("a..b/c", "1"), file("./x", "2"), file("...", "3")}, map[string]string{"a..b/c": "1", "x": "2", "...": "3"}},
		"names that are not clean":      {[]tar.Header{dir("./"), dir("."), file("a//b/./c", "1")}, map[string]string{"a/b/c": "1"}},
		"F21 a tarball inside":          {[]tar.Header{file("in.tgz", "packed")}, map[string]string{"in.tgz": "packed"}},
		"F22 modes":                     {[]tar.Header{withMode(0o400, file("a", "1")), withMode(0o777, file("b", "2")), withMode(0o4755, file("c", "3")), withMode(0o001, file("d", "4"))}, map[string]string{"a": "1", "b (x)": "2", "c (x)": "3", "d (x)": "4"}},
		"F29 a file twice":              {[]tar.Header{withMode(0o444, file("a", "1")), withMode(0o755, file("a", "22"))}, map[string]string{"a (x)": "22"}},
		"a long name needs PAX":         {[]tar.Header{file(strings.Repeat("long/", 60)+"é", "1")}, map[string]string{strings.Repeat("long/", 60) + "é": "1"}},
		"spaces, quotes and characters": {[]tar.Header{file(`a b/"c" 'd'*?[é]`, "1")}, map[string]string{`a b/"c" 'd'*?[é]`: "1"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := read(tarball(t, c.in...), archive.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, treetest.Listing(t, got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestReadRefuses(t *testing.T) {
	refuse := archive.Options{Links: archive.Refuse}
	for name, c := range map[string]struct {
		in   []tar.Header
		opts archive.Options
		want string
	}{
		"F15 a symlink":                   {[]tar.Header{symlink("l", "a")}, refuse, `entry "l": links are not allowed`},
		"F15b a hard link to nothing":     {[]tar.Header{hard("h", "gone")}, refuse, `entry "h": hard link to "gone", which is not an earlier file`},
		"F15b a hard link to a later one": {[]tar.Header{hard("h", "a"), file("a", "1")}, refuse, `entry "h": hard link to "a", which is not an earlier file`},
		"F15b a hard link to a directory": {[]tar.Header{dir("d"), hard("h", "d")}, refuse, `entry "h": hard link to "d", which is not an earlier file`},
		"F15b a hard link that climbs":    {[]tar.Header{hard("h", "../a")}, refuse, `entry "h": hard link to "../a": invalid name`},
		"F15c a fifo":                     {[]tar.Header{special(tar.TypeFifo)}, archive.Options{}, `entry "special": unsupported file type`},
		"F15c a character device":         {[]tar.Header{special(tar.TypeChar)}, refuse, `entry "special": unsupported file type`},
		"F15c a block device":             {[]tar.Header{special(tar.TypeBlock)}, refuse, `entry "special": unsupported file type`},
		"F16 climbing":                    {[]tar.Header{file("../k", "")}, refuse, `entry "../k": invalid name`},
		"F16 absolute":                    {[]tar.Header{file("/k", "")}, refuse, `entry "/k": invalid name`},
		"F16 climbing inside":             {[]tar.Header{file("a/../../k", "")}, refuse, `entry "a/../../k": invalid name`},
		"F16 backslash":                   {[]tar.Header{file(`a\b`, "")}, refuse, `entry "a\\b": invalid name`},
		"F16 seeming to climb":            {[]tar.Header{file("foo../bar", "")}, refuse, `entry "foo../bar": invalid name`},
		"F17 the parent":                  {[]tar.Header{dir("..")}, refuse, `entry "..": invalid name`},
		"F17 the parent of a directory":   {[]tar.Header{file("a/..", "")}, refuse, `entry "a/..": invalid name`},
		"a skipped symlink that climbs":   {[]tar.Header{symlink("../k", "x")}, archive.Options{}, `entry "../k": invalid name`},
		"a line end":                      {[]tar.Header{file("a\nb", "")}, refuse, `entry "a\nb": invalid name`},
		"a name that is not UTF-8":        {[]tar.Header{file("a\xffb", "")}, refuse, `entry "a\xffb": invalid name`},
		"a file as the root":              {[]tar.Header{file("./.", "")}, refuse, `entry "./.": "." is a directory`},
		"a very long name":                {[]tar.Header{file(strings.Repeat("x", 5000), "")}, refuse, `xx…": invalid name: longer than 4096`},
		"a very deep name":                {[]tar.Header{file(strings.Repeat("x/", 300)+"x", "")}, refuse, `invalid name: more than 256 elements`},
		"F19 too large, in one file":      {[]tar.Header{file("a", "12345")}, archive.Options{MaxBytes: 4}, `entry "a": the files of the archive have more than 4 bytes`},
		"F19 too large, together":         {[]tar.Header{file("a", "12"), file("b", ""), file("c", "345")}, archive.Options{MaxBytes: 4}, `entry "c": the files of the archive have more than 4 bytes`},
		"F19 too large, by hard links":    {[]tar.Header{file("a", "123"), hard("b", "a")}, archive.Options{MaxBytes: 4}, `entry "b": the files of the archive have more than 4 bytes`},
		"too many entries":                {[]tar.Header{file("a", ""), file("a", ""), file("a", "")}, archive.Options{MaxEntries: 2}, `entry "a": the archive has more than 2 entries`},
		"too many implied directories":    {[]tar.Header{file("a/b/c", "")}, archive.Options{MaxEntries: 2}, `entry "a/b/c": the archive has more than 2 entries`},
		"too many global headers":         {[]tar.Header{global, global, global}, archive.Options{MaxEntries: 2}, `the archive has more than 2 entries`},
		"F27 a file over a directory":     {[]tar.Header{file("a/b", ""), file("a", "")}, refuse, `entry "a": "a" is a directory`},
		"a directory over a file":         {[]tar.Header{file("a", ""), dir("a")}, refuse, `entry "a": "a" is not a directory`},
		"a file below a file":             {[]tar.Header{file("a", ""), file("a/b", "")}, refuse, `entry "a/b": "a" is not a directory`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := read(tarball(t, c.in...), c.opts)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want ….%s…", err, c.want)
			}
		})
	}
}

func TestLimitsAreInclusive(t *testing.T) {
	in := tarball(t, file("a/b", "1234"), dir("a"))
	if _, err := read(in, archive.Options{MaxBytes: 4, MaxEntries: 3}); err != nil {
		t.Error(err)
	}
}

func TestReadWholeStream(t *testing.T) {
	whole := raw(t, file("a", "1"), file("b", strings.Repeat("2", 1000)))
	packed := zipped(t, whole)
	want := map[string]string{"a": "1", "b": strings.Repeat("2", 1000)}
	for name, c := range map[string]struct {
		in   []byte
		want string
	}{
		"two gzip members":        {zipped(t, whole[:700], whole[700:]), ""},
		"an empty member":         {zipped(t, nil, whole, nil), ""},
		"no end mark":             {zipped(t, whole[:len(whole)-1024]), ""},
		"padding":                 {zipped(t, whole, make([]byte, 9<<10)), ""},
		"F13 no bytes":            {nil, "not a gzip-compressed tarball: it is truncated"},
		"F13 not gzip":            {whole, "not a gzip-compressed tarball: gzip: invalid header"},
		"F13 not tar":             {zipped(t, bytes.Repeat([]byte("text "), 500)), "not a gzip-compressed tarball: archive/tar: invalid tar header"},
		"F13 short and not tar":   {zipped(t, []byte("text")), "reading the tarball: it is truncated"},
		"gzip header cut":         {packed[:5], "not a gzip-compressed tarball: it is truncated"},
		"gzip cut":                {packed[:len(packed)/2], "it is truncated"},
		"gzip checksum cut":       {packed[:len(packed)-4], "reading the tarball: it is truncated"},
		"gzip checksum wrong":     {append(packed[:len(packed)-8:len(packed)-8], "12345678"...), "reading the tarball: gzip: invalid checksum"},
		"tar header cut":          {zipped(t, whole[:1024+100]), "reading the tarball: it is truncated"},
		"tar file cut":            {zipped(t, whole[:1024+512+100]), `entry "b": it is truncated`},
		"a broken header":         {zipped(t, append(whole[:1024:1024], bytes.Repeat([]byte("x"), 1024)...)), "reading the tarball: archive/tar: invalid tar header"},
		"bytes behind the gzip":   {append(packed[:len(packed):len(packed)], "trailing garbage"...), "reading the tarball: gzip: invalid header"},
		"bytes behind the tar":    {zipped(t, whole, []byte("x")), "reading the tarball: bytes after the end of the archive"},
		"an archive behind":       {zipped(t, whole, whole), "reading the tarball: bytes after the end of the archive"},
		"a very long run of zero": {zipped(t, whole, make([]byte, 4<<20)), "reading the tarball: too much of the archive is not file content"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := read(c.in, archive.Options{MaxBytes: 1 << 20})
			if c.want != "" {
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("got %v, want …%s…", err, c.want)
				}
				if errors.Is(err, io.EOF) {
					t.Errorf("%v looks like success", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, treetest.Listing(t, got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestBombIsStopped reads an archive that hides its bulk in headers, and one
// whose header promises far more than the limit. Neither is read to its end.
func TestBombIsStopped(t *testing.T) {
	var promise bytes.Buffer
	tw := tar.NewWriter(&promise)
	if err := tw.WriteHeader(&tar.Header{Name: "huge", Size: 1 << 40, Mode: 0o644}); err != nil {
		t.Fatal(err)
	}
	for name, in := range map[string][]byte{
		"headers":   zipped(t, bytes.Repeat(extended(t), 16<<10)),
		"a promise": zipped(t, promise.Bytes(), make([]byte, 16<<20)),
	} {
		t.Run(name, func(t *testing.T) {
			r := bytes.NewReader(in)
			_, err := archive.Read(r, blob.Memory{}, archive.Options{MaxBytes: 1 << 20})
			if err == nil || r.Len() < len(in)/2 {
				t.Errorf("%v after %d of %d bytes", err, len(in)-r.Len(), len(in))
			}
		})
	}
}

// extended returns a PAX header that no entry follows.
func extended(t testing.TB) []byte {
	t.Helper()
	h := file("x", "")
	h.PAXRecords = map[string]string{"WEIR.pad": strings.Repeat("x", 1000)}
	return raw(t, h)[:2048-512]
}

type brokenSink struct{ blob.Memory }

var errDisk = errors.New("no space left")

func (brokenSink) Put(io.Reader) (blob.Blob, error) { return blob.Blob{}, errDisk }

func TestSinkFails(t *testing.T) {
	_, err := archive.Read(bytes.NewReader(tarball(t, file("a", "1"))), brokenSink{}, archive.Options{})
	if !errors.Is(err, errDisk) || !strings.Contains(err.Error(), `"a"`) {
		t.Errorf("got %v", err)
	}
}

func TestSparseFile(t *testing.T) {
	// A GNU sparse file in the PAX 1.0 form: the map stands before the data.
	data := "1\n4096\n4\n" + strings.Repeat("\x00", 512-9) + "data"
	h := file("GNUSparseFile.0/holes", data)
	h.PAXRecords = map[string]string{
		"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.name": "holes", "GNU.sparse.realsize": "4100",
	}
	in := withKeys(t, h)
	got, err := read(in, archive.Options{MaxBytes: 4100})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"holes": strings.Repeat("\x00", 4096) + "data"}
	if diff := cmp.Diff(want, treetest.Listing(t, got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, err := read(in, archive.Options{MaxBytes: 4099}); err == nil {
		t.Error("holes do not count")
	}
}

// withKeys writes h with the GNU.sparse keys that tar.Writer refuses: under
// others of the same length, which are replaced afterwards.
func withKeys(t *testing.T, h tar.Header) []byte {
	t.Helper()
	masked := map[string]string{}
	for k, v := range h.PAXRecords {
		masked[strings.Replace(k, "GNU.", "WEI.", 1)] = v
	}
	h.PAXRecords = masked
	return zipped(t, bytes.ReplaceAll(raw(t, h), []byte("WEI.sparse"), []byte("GNU.sparse")))
}

func BenchmarkRead(b *testing.B) {
	var in []tar.Header
	for i := range 10_000 {
		in = append(in, file(fmt.Sprintf("tenants/t%04d/f%02d.yaml", i/10, i%10), strings.Repeat(fmt.Sprintf("key-%d: value\n", i), 100)))
	}
	data := tarball(b, in...)
	p, err := blob.NewPack(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = p.Close() })
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := archive.Read(bytes.NewReader(data), p, archive.Options{}); err != nil {
			b.Fatal(err)
		}
	}
}
