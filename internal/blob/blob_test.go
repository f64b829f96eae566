package blob_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"os"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/weir-dev/weir/internal/blob"
)

func pack(t *testing.T) *blob.Pack {
	t.Helper()
	p, err := blob.NewPack(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

func TestSinksKeepBytes(t *testing.T) {
	for name, sink := range map[string]blob.Sink{"pack": pack(t), "memory": blob.Memory{}} {
		t.Run(name, func(t *testing.T) {
			var blobs []blob.Blob
			texts := []string{"one", "", strings.Repeat("large ", 1<<17), "two"}
			for _, text := range texts {
				b, err := sink.Put(strings.NewReader(text))
				if err != nil {
					t.Fatal(err)
				}
				blobs = append(blobs, b)
			}
			for i, text := range texts {
				data, err := blobs[i].ReadAll()
				if err != nil || string(data) != text {
					t.Errorf("blob %d: %d bytes and %v, want %d bytes", i, len(data), err, len(text))
				}
				if want := sha256.Sum256([]byte(text)); blobs[i].Digest() != want {
					t.Errorf("blob %d: digest %s, want %x", i, blobs[i].Digest(), want)
				}
				if blobs[i].Size() != int64(len(text)) {
					t.Errorf("blob %d: size %d, want %d", i, blobs[i].Size(), len(text))
				}
			}
		})
	}
}

func TestBlobOpensAsReader(t *testing.T) {
	p := pack(t)
	if _, err := p.Put(strings.NewReader("before")); err != nil {
		t.Fatal(err)
	}
	b, err := p.Put(strings.NewReader("hello"))
	if err != nil {
		t.Fatal(err)
	}
	if err := iotest.TestReader(b.Open(), []byte("hello")); err != nil {
		t.Error(err)
	}
}

func TestFailedPutLeavesThePackUsable(t *testing.T) {
	p := pack(t)
	broken := errors.New("broken")
	if _, err := p.Put(io.MultiReader(strings.NewReader("half"), iotest.ErrReader(broken))); !errors.Is(err, broken) {
		t.Fatalf("got %v, want %v", err, broken)
	}
	b, err := p.Put(strings.NewReader("whole"))
	if err != nil {
		t.Fatal(err)
	}
	if data, err := b.ReadAll(); err != nil || !bytes.Equal(data, []byte("whole")) {
		t.Errorf("got %q, %v", data, err)
	}
}

func TestPackLeavesNoFile(t *testing.T) {
	dir := t.TempDir()
	p, err := blob.NewPack(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("the directory holds %v, %v", left, err)
	}
}

func TestNewPackNeedsADirectory(t *testing.T) {
	if _, err := blob.NewPack(t.TempDir() + "/nope"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

// A sealed pack can be read, keeps no buffers and takes nothing more.
func TestSeal(t *testing.T) {
	p := pack(t)
	b, err := p.Put(strings.NewReader("kept"))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		// The second time nothing is left to be done.
		if err := p.Seal(); err != nil {
			t.Fatal(err)
		}
	}
	if data, err := b.ReadAll(); err != nil || string(data) != "kept" {
		t.Errorf("got %q, %v", data, err)
	}
	if _, err := p.Put(strings.NewReader("more")); err == nil {
		t.Error("a sealed pack takes more")
	}
	if p.Size() != 4 {
		t.Errorf("size %d", p.Size())
	}
}

// Many sealed packs, as of many sources that are in use, take next to no
// memory.
func TestSealedPacksAreSmall(t *testing.T) {
	const n = 100
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	packs := make([]*blob.Pack, n)
	for i := range packs {
		packs[i] = pack(t)
		if _, err := packs[i].Put(strings.NewReader("x")); err != nil {
			t.Fatal(err)
		}
		if err := packs[i].Seal(); err != nil {
			t.Fatal(err)
		}
	}
	if each := int64(heap()-before) / n; each > 8<<10 {
		t.Errorf("a sealed pack takes %d bytes", each)
	}
	runtime.KeepAlive(packs)
}
