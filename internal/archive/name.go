package archive

import (
	"errors"
	"fmt"
	"path"
	"strings"
	"unicode/utf8"
)

// The longest name of an entry in bytes, which is Linux's limit for a path,
// and the most elements that it may have.
const (
	maxName  = 4096
	maxDepth = 256
)

// Name returns the clean path, as [io/fs.ValidPath] wants it, that an entry's
// name stands for. It refuses what Flux refuses when it unpacks an artifact:
// empty and absolute names, backslashes, and names that climb or seem to
// ("../" in "foo../bar"). It also refuses what breaks listings: names that are
// not UTF-8, control characters for NUL and line ends, more than 4,096 bytes,
// more than 256 elements.
func Name(name string) (string, error) {
	switch {
	case name == "":
		return "", errors.New("invalid name: empty")
	case len(name) > maxName:
		return "", fmt.Errorf("invalid name: longer than %d bytes", maxName)
	case !utf8.ValidString(name):
		return "", errors.New("invalid name: not valid UTF-8")
	case strings.ContainsAny(name, "\x00\n\r"):
		return "", errors.New("invalid name: NUL or line end inside")
	case strings.Contains(name, `\`):
		return "", errors.New("invalid name: backslash inside")
	case name[0] == '/':
		return "", errors.New("invalid name: absolute path")
	case strings.Contains(name, "../"), name == "..", strings.HasSuffix(name, "/.."):
		return "", errors.New(`invalid name: ".." at the end of a path element`)
	}
	clean := path.Clean(name)
	if strings.Count(clean, "/") >= maxDepth {
		return "", fmt.Errorf("invalid name: more than %d elements", maxDepth)
	}
	return clean, nil
}

// shown returns name as far as it is fit for a message.
func shown(name string) string {
	const enough = 256
	if len(name) > enough {
		return name[:enough] + "…"
	}
	return name
}
