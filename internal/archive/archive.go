// Package archive reads gzip-compressed tarballs into trees. It streams, so
// that its memory does not grow with the size of the archive, and it takes
// archives to be hostile. It opens nothing: callers bring the reader, and the
// sink that keeps the bytes.
package archive

import (
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"

	"github.com/weir-dev/weir/internal/blob"
	"github.com/weir-dev/weir/internal/tree"
)

// Links says what becomes of symbolic links.
type Links int

const (
	// Skip leaves symbolic links out, as Flux does when it fetches a source.
	Skip Links = iota
	// Refuse makes a symbolic link an error, as Flux does when it extracts
	// the tarballs inside a source.
	Refuse
)

// What an archive may hold when [Options] do not say otherwise.
const (
	DefaultMaxBytes   = 1 << 30
	DefaultMaxEntries = 1_000_000
)

// Options bound what [Read] accepts. The zero value works.
type Options struct {
	// MaxBytes is how many bytes the files may have together, at most, after
	// decompression; zero means [DefaultMaxBytes].
	MaxBytes int64
	// MaxEntries is how many entries the archive may hold, at most, with the
	// directories that it only implies; zero means [DefaultMaxEntries].
	MaxEntries int
	// Links says what becomes of symbolic links.
	Links Links
}

// Read reads the gzip-compressed tarball r to its end, puts the files into the
// sink and returns them as a tree. Owners, times, extended attributes and all
// mode bits but the executable one are dropped. A later file replaces an
// earlier one of the same name; a hard link becomes a file with the content of
// the earlier entry that it names. Errors name the entry that they are about.
// After an error the sink may keep bytes that nothing refers to.
func Read(r io.Reader, sink blob.Sink, o Options) (tree.Tree, error) {
	if o.MaxBytes == 0 {
		o.MaxBytes = DefaultMaxBytes
	}
	if o.MaxEntries == 0 {
		o.MaxEntries = DefaultMaxEntries
	}
	zr, err := gzip.NewReader(r)
	if err != nil {
		return tree.Tree{}, fmt.Errorf("not a gzip-compressed tarball: %w", noEOF(err))
	}
	rd := newReader(zr, sink, o)
	if err := rd.entries(); err != nil {
		return tree.Tree{}, err
	}
	if err := rd.end(); err != nil {
		return tree.Tree{}, fmt.Errorf("reading the tarball: %w", noEOF(err))
	}
	return rd.tree.Tree(), nil
}

// noEOF makes an end in the wrong place look like one: a bare [io.EOF] reads
// like success, here and to a caller that tests for it.
func noEOF(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("it is truncated: %w", io.ErrUnexpectedEOF)
	}
	return err
}
