package metrics

import (
	"io"
	"net/http"
	"strconv"
)

// Serving returns a handler that counts what next answers.
func (m *Metrics) Serving(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := &counter{ResponseWriter: w, m: m, code: http.StatusOK}
		// Also when a download is broken off by a panic, which is how
		// handlers do that.
		defer func() { m.requests.WithLabelValues(strconv.Itoa(c.code)).Inc() }()
		next.ServeHTTP(c, r)
	})
}

// counter counts the bytes of a response.
type counter struct {
	http.ResponseWriter
	m    *Metrics
	code int
}

func (c *counter) WriteHeader(code int) {
	c.code = code
	c.ResponseWriter.WriteHeader(code)
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.ResponseWriter.Write(p)
	c.m.served.Add(float64(n))
	return n, err
}

// ReadFrom leaves files to the kernel, as without a counter.
func (c *counter) ReadFrom(r io.Reader) (int64, error) {
	n, err := io.Copy(c.ResponseWriter, r)
	c.m.served.Add(float64(n))
	return n, err
}

// Unwrap is for [http.ResponseController].
func (c *counter) Unwrap() http.ResponseWriter { return c.ResponseWriter }
