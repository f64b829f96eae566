package object

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"strconv"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// ignored are the fields of metadata that a server sets. They are no part of
// a digest and are not written.
var ignored = map[string]bool{
	"resourceVersion": true, "generation": true, "managedFields": true,
	"uid": true, "creationTimestamp": true, "selfLink": true,
	"deletionTimestamp": true, "deletionGracePeriodSeconds": true,
}

// canon writes values in one canonical form: map keys sorted, every value
// tagged with its type and length so that no two values look the same. It is
// several times faster than encoding JSON and needs no copy of the object.
type canon struct {
	buf  []byte
	keys []string // a stack: each map being written sorts its part of it
}

var canons = sync.Pool{New: func() any { return new(canon) }}

// maxDepth bounds the nesting of a manifest; a server refuses much less.
const maxDepth = 1000

// Digest returns the digest of the manifest in its normal form, 32 hexadecimal
// digits, without making a copy. Nulls and empty maps inside metadata and an
// empty status do not count; elsewhere they may mean something to the server.
func (n Norm) Digest(u *unstructured.Unstructured) (string, error) {
	c := canons.Get().(*canon)
	defer canons.Put(c)
	c.reset()
	if err := c.object(u.Object, n); err != nil {
		return "", err
	}
	if n.merges(u) { // only now it is known to be safe to copy
		c.reset()
		if err := c.object(n.Body(u).Object, n); err != nil {
			return "", err
		}
	}
	sum := sha256.Sum256(c.buf)
	return hex.EncodeToString(sum[:16]), nil
}

func (c *canon) reset() { c.buf, c.keys = c.buf[:0], c.keys[:0] }

func (c *canon) object(o map[string]any, n Norm) error {
	return c.each(o, func(k string, v any) error {
		if m, ok := v.(map[string]any); ok && (k == "metadata" || k == "status" && len(m) == 0) {
			if k == "status" {
				return nil
			}
			return c.metadata(m, n)
		}
		c.text(k)
		return c.value(v, 1)
	})
}

func (c *canon) metadata(m map[string]any, n Norm) error {
	c.text("metadata")
	if n.Namespaced {
		c.text(namespace(m, n.Namespace))
	}
	return c.each(m, func(k string, v any) error {
		if ignored[k] || k == "namespace" || v == nil {
			return nil
		}
		mm, ok := v.(map[string]any)
		switch {
		case !ok:
			c.text(k)
			return c.value(v, 2)
		case k == "labels":
			return c.without(k, mm, n.Labels)
		case k == "annotations":
			return c.without(k, mm, n.Annotations)
		case len(mm) == 0:
			return nil
		}
		c.text(k)
		return c.value(v, 2)
	})
}

// without writes a map without some of its keys, and nothing when none is left.
func (c *canon) without(key string, m map[string]any, drop []string) error {
	left := len(m)
	for _, k := range drop {
		if _, ok := m[k]; ok {
			left--
		}
	}
	if left == 0 {
		return nil
	}
	c.text(key)
	return c.each(m, func(k string, v any) error {
		if slices.Contains(drop, k) {
			return nil
		}
		c.text(k)
		return c.value(v, 3)
	})
}

// each calls f for the entries of m in the order of their keys.
func (c *canon) each(m map[string]any, f func(string, any) error) error {
	from := len(c.keys)
	for k := range m {
		c.keys = append(c.keys, k)
	}
	to := len(c.keys)
	slices.Sort(c.keys[from:to])
	c.buf = append(c.buf, '{')
	for i := from; i < to; i++ {
		if err := f(c.keys[i], m[c.keys[i]]); err != nil {
			return err
		}
	}
	c.buf = append(c.buf, '}')
	c.keys = c.keys[:from]
	return nil
}

func (c *canon) text(s string) {
	c.buf = append(c.buf, '"')
	c.buf = strconv.AppendInt(c.buf, int64(len(s)), 36)
	c.buf = append(c.buf, ':')
	c.buf = append(c.buf, s...)
}

func (c *canon) value(v any, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("values are nested more than %d deep", maxDepth)
	}
	switch v := v.(type) {
	case nil:
		c.buf = append(c.buf, 'n')
	case bool:
		c.buf = strconv.AppendBool(c.buf, v)
	case string:
		c.text(v)
	case int64:
		c.buf = strconv.AppendInt(append(c.buf, 'i'), v, 10)
	case float64:
		return c.float(v)
	case map[string]any:
		return c.each(v, func(k string, v any) error {
			c.text(k)
			return c.value(v, depth+1)
		})
	case []any:
		c.buf = strconv.AppendInt(append(c.buf, '['), int64(len(v)), 10)
		for _, e := range v {
			if err := c.value(e, depth+1); err != nil {
				return err
			}
		}
	default:
		return fmt.Errorf("a value has the Go type %T, which JSON objects do not have", v)
	}
	return nil
}

// float writes whole numbers like integers, as JSON does not tell them apart.
func (c *canon) float(v float64) error {
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return fmt.Errorf("the number %v has no JSON form", v)
	case v == math.Trunc(v) && math.Abs(v) < 1<<53:
		c.buf = strconv.AppendInt(append(c.buf, 'i'), int64(v), 10)
	default:
		c.buf = strconv.AppendFloat(append(c.buf, 'f'), v, 'g', -1, 64)
	}
	return nil
}

// Hash returns a short digest of any JSON value in its canonical form.
func Hash(v any) string {
	c := canons.Get().(*canon)
	defer canons.Put(c)
	c.reset()
	if err := c.value(v, 0); err != nil {
		return "!" + err.Error()
	}
	sum := sha256.Sum256(c.buf)
	return hex.EncodeToString(sum[:8])
}
