// Package testforge is where teams push: a git server, an OCI registry and an
// S3 store for tests, in a process of their own. It pushes to them as people
// and pipelines do, with git and over HTTP. It knows no cluster, only what a
// source's spec says.
package testforge

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"github.com/weir-dev/weir/internal/child"
)

const startTimeout = 30 * time.Second

// Forge is the running servers. Its methods may be called concurrently, but not
// for the same repository or bucket.
type Forge struct {
	host  string
	dir   string
	group *child.Group
	// stop ends the process once.
	stop func() error
}

// Start returns when the servers answer on the address, which nobody else uses.
// The program is that of test/servers; everything is written below dir, which
// exists. The caller stops the forge.
func Start(ctx context.Context, program, host, dir string) (*Forge, error) {
	env, err := exec.LookPath("env") // children start without an environment
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"repositories", "checkouts"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			return nil, err
		}
	}
	f := &Forge{host: host, dir: dir, group: child.NewGroup()}
	f.stop = sync.OnceValue(f.group.Stop)
	// The git server runs git.
	proc, err := f.group.Start(env, dir, append(f.environment(), program, "--host="+host, "--git="+f.path("repositories"))...)
	if err != nil {
		return nil, errors.Join(err, f.Stop())
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	err = proc.Await(ctx, func(ctx context.Context) error {
		for _, url := range []string{f.url("3000"), f.url("5000"), f.url("9000")} {
			res, err := f.send(ctx, http.MethodGet, url, nil, "")
			if err != nil {
				return err
			}
			res.Body.Close()
		}
		return nil
	})
	if err != nil {
		_ = f.Stop() // it may say again that the process has ended
		return nil, fmt.Errorf("starting the servers of sources: %w", err)
	}
	return f, nil
}

// Stop ends the servers. Its error says that they had ended before.
func (f *Forge) Stop() error { return f.stop() }

func (f *Forge) path(name ...string) string {
	return filepath.Join(append([]string{f.dir}, name...)...)
}

func (f *Forge) url(port string) string { return "http://" + f.host + ":" + port }

// environment is what git needs, and nothing of the user's own.
func (f *Forge) environment() []string {
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + f.dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0",
		"GIT_AUTHOR_NAME=dev", "GIT_AUTHOR_EMAIL=dev@example.com", "GIT_COMMITTER_NAME=dev", "GIT_COMMITTER_EMAIL=dev@example.com",
	}
}

// send sends a request of which only the transport may fail.
func (f *Forge) send(ctx context.Context, method, url string, body []byte, mediaType string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if mediaType != "" {
		req.Header.Set("Content-Type", mediaType)
	}
	return http.DefaultClient.Do(req)
}

// put sends a request that must succeed.
func (f *Forge) put(ctx context.Context, method, url string, body []byte, mediaType string) error {
	res, err := f.send(ctx, method, url, body, mediaType)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode >= http.StatusMultipleChoices {
		text, _ := io.ReadAll(io.LimitReader(res.Body, 1<<10))
		return fmt.Errorf("%s %s: %s: %s", method, url, res.Status, text)
	}
	return nil
}

// archive returns a tar.gz of what is in the directory.
func archive(dir string) ([]byte, error) {
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	w := tar.NewWriter(zip)
	if err := errors.Join(w.AddFS(os.DirFS(dir)), w.Close(), zip.Close()); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
