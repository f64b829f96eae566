package inventory

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
)

// maxDecoded bounds what a compressed inventory may grow to, in bytes.
const maxDecoded = 64 << 20

// Encode returns the items as compressed JSON. Equal items give equal bytes.
func Encode(items []Item) ([]byte, error) {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	if err != nil {
		return nil, err
	}
	if err := json.NewEncoder(z).Encode(items); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// Decode returns the items of [Encode].
func Decode(data []byte) ([]Item, error) {
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("reading an inventory: %w", err)
	}
	r := io.LimitReader(z, maxDecoded)
	var items []Item
	if err := json.NewDecoder(r).Decode(&items); err != nil {
		return nil, fmt.Errorf("reading an inventory: %w", err)
	}
	return items, nil
}
