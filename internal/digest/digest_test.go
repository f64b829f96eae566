package digest_test

import (
	"crypto/sha256"
	"crypto/sha512"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/weir-dev/weir/internal/digest"
)

func TestDigests(t *testing.T) {
	data := []byte("tarball")
	for name, want := range map[string]string{
		"sha256": fmt.Sprintf("sha256:%x", sha256.Sum256(data)),
		"sha384": fmt.Sprintf("sha384:%x", sha512.Sum384(data)),
		"SHA512": fmt.Sprintf("sha512:%x", sha512.Sum512(data)),
	} {
		a, err := digest.Named(name)
		if err != nil {
			t.Fatal(err)
		}
		h := a.New()
		h.Write(data)
		if got := a.Of(h); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
		d, err := digest.Parse(strings.ToUpper(want))
		if err != nil || d.String() != want || !d.Is(h) || d.Algorithm != a {
			t.Errorf("%q parses as %q, %v", want, d, err)
		}
		if h.Write([]byte("more")); d.Is(h) {
			t.Errorf("%s does not tell other bytes", name)
		}
	}
}

func TestZeroIsSHA256(t *testing.T) {
	var zero digest.Algorithm
	h := zero.New()
	_, _ = io.WriteString(h, "x")
	if want := fmt.Sprintf("sha256:%x", sha256.Sum256([]byte("x"))); zero.Of(h) != want || zero.String() != "sha256" {
		t.Errorf("%s gives %s, want %s", zero, zero.Of(h), want)
	}
}

func TestParseRefuses(t *testing.T) {
	hex := strings.Repeat("0", 64)
	for text, want := range map[string]string{
		"":                   "there is no digest",
		hex:                  "want algorithm:hex",
		"blake3:" + hex:      `algorithm "blake3" is not supported, only sha256, sha384 and sha512`,
		"md5:" + hex:         "not supported",
		"sha256:" + hex[1:]:  "want 64 hexadecimal digits",
		"sha256:g" + hex[1:]: "want 64 hexadecimal digits",
		"sha512:" + hex:      "want 128 hexadecimal digits",
	} {
		if _, err := digest.Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("sha256:" + strings.Repeat("0a", 32))
	f.Fuzz(func(t *testing.T, text string) {
		d, err := digest.Parse(text)
		if err == nil && d.String() != strings.ToLower(text) {
			t.Errorf("%q became %q", text, d)
		}
	})
}
