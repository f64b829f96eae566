package inputs_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/weir-dev/weir/internal/blob"
	"github.com/weir-dev/weir/internal/inputs"
	"github.com/weir-dev/weir/internal/tree"
)

// What files say is among the cases of packages build and values.

func TestFilesAreBounded(t *testing.T) {
	for size, want := range map[int]string{inputs.MaxBytes: "", inputs.MaxBytes + 1: "too many"} {
		data := append([]byte("a: "), bytes.Repeat([]byte("x"), size-3)...)
		var b tree.Builder
		if err := b.AddFile("f", false, blob.Of(data)); err != nil {
			t.Fatal(err)
		}
		_, err := inputs.Read(b.Tree(), "f")
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%d bytes: got %v, want %q", size, err, want)
		}
	}
}
