package demo

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"
)

// picture is what is in the cluster at a moment.
type picture struct{ Generators []generator }

// generator is an ArtifactGenerator, what it is made of, and what it makes.
type generator struct {
	Name string // with its namespace
	state
	Sources   []source
	Artifacts []artifact
}

// state is what an object says of itself.
type state struct {
	Ready   bool
	Message string
}

// source is an object that source-controller looks after.
type source struct {
	state
	Kind, Name, Revision string
}

// artifact is an ExternalArtifact with who applies it.
type artifact struct {
	state
	Name     string // with the namespace, if it is not the generator's
	Revision string
	Size     int64 // bytes
	// Origin is the revision of the source that it tells of; may be empty.
	Origin string
	// Fresh says that the revision has just changed.
	Fresh   bool
	Applied []kustomization
}

// kustomization is what kustomize-controller does with an artifact.
type kustomization struct {
	state
	Name, Revision string
	Objects        []object
}

// object is what was applied, as it is in the cluster.
type object struct {
	Kind, Name string // the name with the namespace, if it has one
	// About is what of it is worth seeing; may be empty.
	About string
}

// done reports whether everything is ready and the latest is applied.
func (p picture) done() bool {
	for _, g := range p.Generators {
		if !g.Ready || len(g.Artifacts) == 0 {
			return false
		}
		for _, a := range g.Artifacts {
			if !a.Ready {
				return false
			}
			for _, k := range a.Applied {
				if !k.Ready || k.Revision != a.Revision {
					return false
				}
			}
		}
	}
	return len(p.Generators) > 0
}

// Pen says how a picture is drawn: in colours or without.
type Pen struct{ Colours bool }

const (
	bold, dim, green, yellow, cyan = "1", "2", "32", "33", "36"
)

// in returns the text in a colour.
func (p Pen) in(colour, text string) string {
	if !p.Colours {
		return text
	}
	return "\x1b[" + colour + "m" + text + "\x1b[0m"
}

// column returns the text with spaces behind it up to a width.
func column(text string, width int) string {
	return text + strings.Repeat(" ", max(1, width-utf8.RuneCountInString(text)))
}

// step is a line about something that has been done.
func (p Pen) step(what string, took time.Duration) string {
	return p.in(green, "✓") + " " + column(what, 50) + p.in(dim, fmt.Sprintf("%5.1fs", took.Seconds()))
}

// nameWidth is that of the column of names, revisionWidth of the next.
const (
	nameWidth     = 38
	revisionWidth = 32
)

// draw writes the picture as a tree for each generator.
func (p Pen) draw(w io.Writer, seen picture) {
	for i, g := range seen.Generators {
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "%s %s %s\n", p.mark(g.state), p.in(bold, column("ArtifactGenerator "+g.Name, nameWidth+7)), p.in(dim, g.Message))
		for _, s := range g.Sources {
			fmt.Fprintf(w, "  %s %s %s %s\n", p.in(dim, "from"), p.mark(s.state), column(s.Kind+" "+s.Name, nameWidth), p.in(cyan, short(s.Revision)))
		}
		for _, a := range g.Artifacts {
			p.artifact(w, a)
		}
	}
}

func (p Pen) artifact(w io.Writer, a artifact) {
	revision := p.in(cyan, column(short(a.Revision), revisionWidth))
	if a.Fresh {
		revision = p.in(yellow, column(short(a.Revision)+" new", revisionWidth))
	}
	about := fmt.Sprintf("%d bytes", a.Size)
	if a.Origin != "" {
		about += ", of " + short(a.Origin)
	}
	fmt.Fprintf(w, "  %s %s %s %s %s\n", p.in(dim, "made"), p.mark(a.state), column("ExternalArtifact "+a.Name, nameWidth), revision, p.in(dim, about))
	for _, k := range a.Applied {
		state := "applied"
		if k.Revision != a.Revision || !k.Ready {
			state = k.Message
		}
		fmt.Fprintf(w, "       %s %s %s\n", p.mark(k.state), column("Kustomization "+k.Name, nameWidth), p.in(dim, state))
		for _, o := range k.Objects {
			fmt.Fprintf(w, "           %s %s\n", column(o.Kind+" "+o.Name, nameWidth-2), p.in(cyan, o.About))
		}
	}
}

// mark is what people look for.
func (p Pen) mark(s state) string {
	if s.Ready {
		return p.in(green, "✓")
	}
	return p.in(yellow, "…")
}

// short returns a revision with a hash that people can compare.
func short(revision string) string {
	name, hash, ok := strings.Cut(revision, ":")
	if !ok {
		return revision
	}
	return name + ":" + hash[:min(len(hash), 12)]
}
