// Package digest is digests as Flux writes them, algorithm:hex, and the
// algorithms by their names. BLAKE3, which Flux can be told to use, needs a
// module of its own and is refused.
package digest

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"strings"
)

// Algorithm makes hashes. The zero value is [SHA256].
type Algorithm string

// The algorithms, by their names.
const (
	SHA256 Algorithm = "sha256"
	SHA384 Algorithm = "sha384"
	SHA512 Algorithm = "sha512"
)

// Named returns the algorithm of that name, whatever the case of its letters.
func Named(name string) (Algorithm, error) {
	switch a := Algorithm(strings.ToLower(name)); a {
	case SHA256, SHA384, SHA512:
		return a, nil
	default:
		return "", fmt.Errorf("algorithm %q is not supported, only sha256, sha384 and sha512", name)
	}
}

// String returns the name.
func (a Algorithm) String() string { return string(cmp.Or(a, SHA256)) }

// New returns a hash.
func (a Algorithm) New() hash.Hash {
	switch a {
	case SHA384:
		return sha512.New384()
	case SHA512:
		return sha512.New()
	default:
		return sha256.New()
	}
}

// Of returns the digest of what h, a hash of the algorithm, has seen.
func (a Algorithm) Of(h hash.Hash) string { return a.String() + ":" + hex.EncodeToString(h.Sum(nil)) }

// Digest is a digest that something must have.
type Digest struct {
	Algorithm

	sum []byte
}

// Parse reads a digest, in letters of any case.
func Parse(text string) (Digest, error) {
	if text == "" {
		return Digest{}, errors.New("there is no digest")
	}
	name, sum, ok := strings.Cut(text, ":")
	if !ok {
		return Digest{}, fmt.Errorf("digest %q: want algorithm:hex", text)
	}
	a, err := Named(name)
	if err != nil {
		return Digest{}, fmt.Errorf("digest %q: %w", text, err)
	}
	d := Digest{Algorithm: a}
	if d.sum, err = hex.DecodeString(sum); err != nil || len(d.sum) != a.New().Size() {
		return Digest{}, fmt.Errorf("digest %q: want %d hexadecimal digits", text, 2*a.New().Size())
	}
	return d, nil
}

// String returns the digest in lower case.
func (d Digest) String() string { return d.Algorithm.String() + ":" + hex.EncodeToString(d.sum) }

// Is reports whether it is the digest of what h, a hash of its algorithm, has
// seen.
func (d Digest) Is(h hash.Hash) bool { return bytes.Equal(d.sum, h.Sum(nil)) }
