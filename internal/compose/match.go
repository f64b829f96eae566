package compose

import (
	"fmt"
	"path"

	"github.com/weir-dev/weir/api/source/v1beta1"
	"github.com/weir-dev/weir/internal/tree"
)

// matches copies what the pattern of the operation selects. A directory that
// matches is copied whole, and an excluded directory takes its content along.
func (r *run) matches() error {
	s := selection{run: r, prefix: r.op.glob.Prefix()}
	root, ok := r.src.Lookup(s.prefix)
	if ok && root.IsDir() {
		if err := s.all(root); err != nil {
			return err
		}
	}
	switch {
	case s.copied > 0:
		return nil
	case s.excluded:
		return errNothing{"all files that the pattern matches are excluded; narrow exclude, or set optional: true"}
	default:
		return errNothing{"no files match the pattern; correct it, or set optional: true"}
	}
}

// selection is what a pattern has matched so far.
type selection struct {
	run      *run
	prefix   string
	copied   int
	excluded bool
}

// all matches what lies below root, the fast way where the pattern selects all
// there is.
func (s *selection) all(root tree.Entry) error {
	r := s.run
	if r.op.glob.Recursive() && !r.op.filters && r.op.strategy == v1beta1.CopyOverwrite {
		if root.Empty() {
			return nil
		}
		s.copied++
		return r.dst.AddEntry(s.destination(root.Path), root)
	}
	return s.below(root)
}

// below matches what lies in the directory e: files before directories, so
// that of several tarballs the one in the deepest directory is unpacked last.
func (s *selection) below(e tree.Entry) error {
	for _, dirs := range []bool{false, true} {
		err := e.Children(func(c tree.Entry) error {
			if c.IsDir() != dirs {
				return nil
			}
			return s.visit(c)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *selection) visit(e tree.Entry) error {
	if err := s.run.ctx.Err(); err != nil {
		return err
	}
	matched := s.run.op.glob.Match(e.Path)
	if s.run.op.excludes.Match(e.Path, below(s.prefix, e.Path)) {
		s.excluded = s.excluded || matched || e.IsDir()
		return nil
	}
	switch {
	case s.run.op.strategy == v1beta1.CopyExtract:
		return s.tarball(e, matched)
	case matched && e.IsDir():
		s.copied++
		return s.run.dir(e, s.destination(e.Path), s.prefix)
	case matched:
		s.copied++
		return s.run.file(e, s.destination(e.Path))
	case e.IsDir() && s.run.op.glob.CouldMatchBelow(e.Path):
		return s.below(e)
	default:
		return nil
	}
}

// tarball unpacks e when it matched and is a tarball; anything else is passed
// over. A directory is searched, for no directory is ever unpacked whole.
func (s *selection) tarball(e tree.Entry, matched bool) error {
	if matched {
		s.copied++
	}
	switch {
	case e.IsDir() && matched && isTarball(e.Path):
		return fmt.Errorf("%q is a directory, not a tarball", e.Path)
	case e.IsDir():
		if !s.run.op.glob.CouldMatchBelow(e.Path) {
			return nil
		}
		return s.below(e)
	case matched && isTarball(e.Path):
		return s.run.extract(e, s.run.op.to)
	default:
		return nil
	}
}

// destination returns where a match lands: relative to the part of the
// pattern before its first glob.
func (s *selection) destination(name string) string {
	strip := s.prefix
	if s.run.options.RootGlobs && s.run.op.glob.String() != path.Join(s.prefix, "**") {
		strip = "."
	}
	return path.Join(s.run.op.to, below(strip, name))
}
