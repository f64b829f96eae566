package durable_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/weir-dev/weir/internal/durable"
)

func open(t *testing.T) durable.Dir {
	t.Helper()
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = root.Close() })
	return durable.Dir{Root: root}
}

func text(s string) func(*durable.Sink) error {
	return func(w *durable.Sink) error {
		_, err := w.Write([]byte(s))
		return err
	}
}

func TestFilesAreMadeAndMoved(t *testing.T) {
	d := open(t)
	err := errors.Join(
		d.Mkdirs("a/b"), d.Mkdirs("a/b"),
		d.Write(t.Context(), "a/b/new", text("one")), d.Write(t.Context(), "a/b/new", text("2")),
		d.Rename("a/b/new", "a/b/f"), d.Sync("a/b"), d.Remove("a/b/new"),
	)
	if err != nil {
		t.Fatal(err)
	}
	if data, err := d.Root.ReadFile("a/b/f"); err != nil || string(data) != "2" {
		t.Errorf("got %q, %v", data, err)
	}
	if err := d.Remove("a/b"); err == nil {
		t.Error("a directory with a file in it is removed")
	}
}

// Errors are the same whatever a file is called.
func TestErrorsNameNoFiles(t *testing.T) {
	d := open(t)
	for what, err := range map[string]error{
		"write":  d.Write(t.Context(), "no/secret", text("x")),
		"rename": d.Rename("secret", "secret2"),
		"mkdirs": errors.Join(d.Write(t.Context(), "secret", text("x")), d.Mkdirs("secret/x")),
	} {
		if err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := d.Write(t.Context(), "no/file", text("x")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

// Whatever Before refuses does not happen, and writing ends with its context.
func TestBefore(t *testing.T) {
	d := open(t)
	refused := errors.New("refused")
	d.Before = func(op, name string) error {
		if op == "create" && name == "f" {
			return refused
		}
		return nil
	}
	if err := d.Write(t.Context(), "f", text("x")); !errors.Is(err, refused) {
		t.Errorf("got %v", err)
	}
	if _, err := d.Root.Stat("f"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the file is there: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := d.Write(ctx, "g", text("x")); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
