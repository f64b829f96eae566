package fetch

import (
	"bytes"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"strings"
)

// digest is the digest that a tarball must have.
type digest struct {
	text string // in lower case
	sum  []byte
	hash func() hash.Hash
}

// parse reads algorithm:hex. BLAKE3, which Flux can be told to use, needs a
// module of its own and is refused.
func parse(text string) (digest, error) {
	if text == "" {
		return digest{}, errors.New("the source gives no digest")
	}
	algorithm, sum, ok := strings.Cut(strings.ToLower(text), ":")
	if !ok {
		return digest{}, fmt.Errorf("digest %q: want algorithm:hex", text)
	}
	d := digest{text: algorithm + ":" + sum}
	switch algorithm {
	case "sha256":
		d.hash = sha256.New
	case "sha384":
		d.hash = sha512.New384
	case "sha512":
		d.hash = sha512.New
	default:
		return digest{}, fmt.Errorf("digest %q: algorithm %q is not supported, only sha256, sha384 and sha512", text, algorithm)
	}
	var err error
	if d.sum, err = hex.DecodeString(sum); err != nil || len(d.sum) != d.hash().Size() {
		return digest{}, fmt.Errorf("digest %q: want %d hexadecimal digits", text, 2*d.hash().Size())
	}
	return d, nil
}

func (d digest) is(h hash.Hash) bool { return bytes.Equal(d.sum, h.Sum(nil)) }
