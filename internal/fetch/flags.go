package fetch

import (
	"errors"
	"flag"
	"strconv"

	"k8s.io/apimachinery/pkg/api/resource"
)

// Flags binds --http-retry and --source-cache-size. Zero, given on the command
// line, means none.
func (o *Options) Flags(fs *flag.FlagSet) {
	fs.Func("http-retry", "how often a failed download of a source is retried at once (default 9)", func(s string) error {
		n, err := strconv.Atoi(s)
		if err != nil || n < 0 {
			return errors.New("want a number of at least 0")
		}
		o.Retries = none(n)
		return nil
	})
	fs.Func("source-cache-size", "how many bytes of unpacked sources are kept, such as 512Mi (default 2Gi)", func(s string) error {
		q, err := resource.ParseQuantity(s)
		if err != nil || q.Sign() < 0 {
			return errors.New("want a number of bytes, such as 512Mi")
		}
		o.CacheBytes = none(q.Value())
		return nil
	})
}

// none turns a zero that was meant into the one that [Options] understand.
func none[T int | int64](n T) T {
	if n == 0 {
		return -1
	}
	return n
}
