// Package pack writes trees as deterministic gzip-compressed tarballs, and
// computes the digest of a tree's content, which no compressor can change. It
// names no files and opens none.
package pack

import (
	"crypto/sha256"
	"slices"
	"strings"

	"github.com/weir-dev/weir/internal/blob"
	"github.com/weir-dev/weir/internal/tree"
)

// escape keeps a path on its line of the listing.
var escape = strings.NewReplacer(`\`, `\\`, "\n", `\n`)

// Digest returns the digest of t's content: paths, kinds, executable bits and
// bytes. It reads no file. The digest is the SHA-256 of a listing with a line
// for each entry but the root, sorted by the bytes of its path:
//
//	d - PATH         a directory
//	f SHA256 PATH    a file
//	x SHA256 PATH    an executable file
//
// In PATH a backslash is written as `\\` and a line end as `\n`. A shell can
// compute it for a directory:
//
//	find . -mindepth 1 -printf '%P\n' | LC_ALL=C sort | while IFS= read -r p; do
//	  if [ -d "$p" ]; then echo "d - $p"; continue; fi
//	  if [ -x "$p" ]; then k=x; else k=f; fi
//	  echo "$k $(sha256sum < "$p" | cut -d' ' -f1) $p"
//	done | sha256sum
func Digest(t tree.Tree) blob.Digest {
	var entries []tree.Entry
	// The function returns no error, so Walk has none either.
	_ = t.Walk(".", func(e tree.Entry) error {
		if e.Path != "." {
			entries = append(entries, e)
		}
		return nil
	})
	slices.SortFunc(entries, func(a, b tree.Entry) int { return strings.Compare(a.Path, b.Path) })

	h := sha256.New()
	var line []byte
	for _, e := range entries {
		line = appendLine(line[:0], e)
		h.Write(line)
	}
	var d blob.Digest
	h.Sum(d[:0])
	return d
}

func appendLine(line []byte, e tree.Entry) []byte {
	switch {
	case e.IsDir():
		line = append(line, "d -"...)
	case e.Executable():
		line = append(append(line, "x "...), e.Blob.Digest().String()...)
	default:
		line = append(append(line, "f "...), e.Blob.Digest().String()...)
	}
	line = append(line, ' ')
	line = append(line, escape.Replace(e.Path)...)
	return append(line, '\n')
}

// Revision returns the revision of an artifact with the content digest d.
func Revision(d blob.Digest) string { return "latest@sha256:" + d.String() }
