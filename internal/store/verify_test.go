package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
)

func TestVerify(t *testing.T) {
	dir := t.TempDir()
	d := openAt(t, dir)
	var paths []string
	size := int64(0)
	for i := range 5 {
		tr, content := one(t, strconv.Itoa(i))
		a, err := d.Put(t.Context(), types.NamespacedName{Namespace: "apps", Name: fmt.Sprint("a", i)}, tr, content)
		if err != nil {
			t.Fatal(err)
		}
		paths = append(paths, a.Path)
		size += a.Size
	}
	verify := func(want Verified) {
		t.Helper()
		got, err := d.Verify(t.Context(), Check{Referenced: append(paths[:5:5], "externalartifact/old/x/345.tar.gz")})
		want.Missing = append(want.Missing, "externalartifact/old/x/345.tar.gz")
		if err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	verify(Verified{Files: 5, Bytes: size})

	// One bit, same size: only reading tells.
	name := filepath.Join(dir, paths[1])
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)/2] ^= 1
	if err := errors.Join(os.WriteFile(name, data, 0o600), os.Remove(filepath.Join(dir, paths[3]))); err != nil {
		t.Fatal(err)
	}
	verify(Verified{Files: 4, Bytes: size - int64(len(data)), Corrupt: paths[1:2], Missing: []string{paths[1], paths[3]}})

	for _, i := range []int{1, 3} {
		tr, content := one(t, strconv.Itoa(i))
		if _, err := d.Put(t.Context(), types.NamespacedName{Namespace: "apps", Name: fmt.Sprint("a", i)}, tr, content); err != nil {
			t.Fatal(err)
		}
	}
	verify(Verified{Files: 5, Bytes: size})
}

// TestVerifyPaces reads 1 MiB at 64 KiB a second, and is stopped once (W6).
func TestVerifyPaces(t *testing.T) {
	dir := t.TempDir()
	d := openAt(t, dir)
	tr, content := one(t, "x")
	a, err := d.Put(t.Context(), named, tr, content)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, a.Path), make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		start := time.Now()
		got, err := d.Verify(ctx, Check{BytesPerSecond: 64 << 10})
		if !errors.Is(err, context.DeadlineExceeded) || len(got.Corrupt) > 0 || time.Since(start) != 5*time.Second {
			t.Errorf("stopped after %v: %+v, %v", time.Since(start), got, err)
		}
		start = time.Now()
		got, err = d.Verify(t.Context(), Check{BytesPerSecond: 64 << 10})
		if err != nil || len(got.Corrupt) != 1 || got.Bytes != 1<<20 || time.Since(start) != 17*time.Second {
			t.Errorf("took %v: %+v, %v", time.Since(start), got, err)
		}
	})
}

// TestVerifySparesTheNew replaces a damaged file while it is being read.
func TestVerifySparesTheNew(t *testing.T) {
	dir := t.TempDir()
	d := openAt(t, dir)
	tr, content := one(t, strings.Repeat("x", 1000))
	a, err := d.Put(t.Context(), named, tr, content)
	if err != nil {
		t.Fatal(err)
	}
	data := make([]byte, a.Size)
	if err := os.WriteFile(filepath.Join(dir, a.Path), data, 0o600); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		found := make(chan Verified)
		go func() {
			v, err := d.Verify(t.Context(), Check{Referenced: []string{a.Path}, BytesPerSecond: 1})
			if err != nil {
				t.Error(err)
			}
			found <- v
		}()
		synctest.Wait() // it has the file open and waits for its turn
		if err := d.Remove(t.Context(), named); err != nil {
			t.Error(err)
		}
		if _, err := d.Put(t.Context(), named, tr, content); err != nil {
			t.Error(err)
		}
		if v := <-found; len(v.Corrupt)+len(v.Missing) > 0 {
			t.Errorf("verified %+v", v)
		}
	})
	if _, err := Stat(d, a.Path); err != nil {
		t.Error(err)
	}
}
