package cli_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"
	"sigs.k8s.io/yaml"
)

// group is what the paths of a script's API are relative to.
const group = "/apis/source.extensions.fluxcd.io/v1beta1/"

// kubeconfig is that of a user of the API, in the namespace apps.
const kubeconfig = `
apiVersion: v1
kind: Config
current-context: test
contexts:
- {name: test, context: {cluster: test, user: test, namespace: apps}}
- {name: other, context: {cluster: test, user: test, namespace: other}}
clusters:
- {name: test, cluster: {server: %s}}
users:
- {name: test, user: {token: secret}}
`

// api answers requests with files: what is in DIR/METHOD/PATH.yaml, which may
// be a Status, and for watches, of which the method is WATCH, the events of a
// stream. What has no file is not found, as on a server without the resource.
type api struct {
	dir string

	mu  sync.Mutex
	log io.Writer
}

// startAPI is the command api DIR. It sets KUBECONFIG, and requests are
// written to the file named requests: METHOD PATH?QUERY, and the body if any.
func startAPI(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: api DIR")
	}
	log, err := os.Create(ts.MkAbs("requests"))
	ts.Check(err)
	server := httptest.NewServer(&api{dir: ts.MkAbs(args[0]), log: log})
	ts.Defer(func() {
		server.CloseClientConnections()
		server.Close()
		_ = log.Close()
	})
	config := ts.MkAbs("kubeconfig")
	ts.Check(os.WriteFile(config, fmt.Appendf(nil, kubeconfig, server.URL), 0o600))
	ts.Setenv("KUBECONFIG", config)
}

func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := strings.TrimPrefix(r.URL.Path, group)
	body, _ := io.ReadAll(r.Body)
	a.mu.Lock()
	fmt.Fprintln(a.log, r.Method, path+"?"+r.URL.RawQuery, string(body))
	a.mu.Unlock()
	method := r.Method
	if r.URL.Query().Get("watch") == "true" {
		method = "WATCH"
	}
	data, err := os.ReadFile(filepath.Join(a.dir, method, filepath.FromSlash(path)+".yaml"))
	if err != nil {
		http.NotFound(w, r)
		return
	}
	var status struct {
		Kind string
		Code int
	}
	_ = yaml.Unmarshal(data, &status)
	w.Header().Set("Content-Type", "application/json")
	if status.Kind == "Status" {
		w.WriteHeader(status.Code)
	}
	for doc := range bytes.SplitSeq(data, []byte("---\n")) {
		line, _ := yaml.YAMLToJSON(doc)
		fmt.Fprintf(w, "%s\n", line)
	}
	if method == "WATCH" {
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}
}
