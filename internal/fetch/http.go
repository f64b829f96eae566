package fetch

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"
)

// How many redirects are followed, and how many of them to another host. Flux
// answers with none; servers before a bucket send on to it.
const (
	maxRedirects = 5
	maxHosts     = 1
)

// errRedirect is a redirect that is not followed.
var errRedirect = errors.New("redirect refused")

func transport() http.RoundTripper {
	dial := net.Dialer{Timeout: 10 * time.Second}
	return &http.Transport{
		DialContext:         dial.DialContext,
		TLSHandshakeTimeout: 10 * time.Second,
		ForceAttemptHTTP2:   true,
		MaxIdleConns:        100,
		IdleConnTimeout:     90 * time.Second,
	}
}

func newRequest(ctx context.Context, address string) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, errors.New("not a URL")
	}
	if s := req.URL.Scheme; s != "http" && s != "https" || req.URL.Host == "" {
		return nil, errors.New("not an http or https URL")
	}
	req.Header.Set("User-Agent", "weir")
	// The digest is that of the bytes as they are.
	req.Header.Set("Accept-Encoding", "identity")
	return req, nil
}

// follow decides about a redirect.
func follow(req *http.Request, via []*http.Request) error {
	if len(via) > maxRedirects {
		return fmt.Errorf("%w: more than %d", errRedirect, maxRedirects)
	}
	hosts := 0
	for i, from := range via {
		to := req
		if i+1 < len(via) {
			to = via[i+1]
		}
		if to.URL.Host != from.URL.Host {
			hosts++
		}
		if from.URL.Scheme == "https" && to.URL.Scheme != "https" {
			return fmt.Errorf("%w: from https to %s", errRedirect, to.URL.Scheme)
		}
	}
	if hosts > maxHosts {
		return fmt.Errorf("%w: more than %d to another host", errRedirect, maxHosts)
	}
	return nil
}

// refused is the trouble when there is no response.
func refused(err error) *trouble {
	_, cert := errors.AsType[*tls.CertificateVerificationError](err)
	if cert || errors.Is(err, errRedirect) {
		return &trouble{later, plain(err)}
	}
	return &trouble{now, plain(err)}
}

// plain returns the part of a network error that is the same at every try:
// without the address, which the caller names, local ports and name servers.
func plain(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	if d, ok := errors.AsType[*net.DNSError](err); ok {
		if d.IsNotFound {
			return fmt.Errorf("looking up %q: no such host", d.Name)
		}
		return fmt.Errorf("looking up %q: no answer", d.Name)
	}
	if o, ok := errors.AsType[*net.OpError](err); ok {
		return &net.OpError{Op: o.Op, Net: o.Net, Addr: o.Addr, Err: o.Err}
	}
	return err
}

// status returns the status line by its number: its words are the server's.
func status(res *http.Response) string {
	return fmt.Sprintf("%d %s", res.StatusCode, http.StatusText(res.StatusCode))
}

// shown returns the address without what may be secret.
func shown(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, Opaque: u.Opaque}).String()
}
