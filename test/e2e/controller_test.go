package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"

	"github.com/weir-dev/weir/internal/child"
	"github.com/weir-dev/weir/internal/testcluster"
)

// Below the 30 seconds that a kubelet waits, and with room for a busy machine.
const (
	startTimeout = 60 * time.Second
	stopTimeout  = 30 * time.Second

	requestTimeout = 10 * time.Second
)

// controller is the process of weir-controller, which may have ended. Its
// methods may be called concurrently.
type controller struct {
	user    string   // its ServiceAccount, as the API server knows it
	command []string // env NAME=VALUE… PROGRAM ARG…
	dir     string   // holds a directory for each start
	temp    string   // for its temporary files
	host    string

	mu     sync.Mutex
	starts int
	disk   string         // how large the file system of the store is; empty: as the machine's
	flags  []string       // beside those of the Deployment
	proc   *child.Process // nil: stopped
	group  *child.Group   // of proc alone
}

// newController returns the controller as it would run in the pod of the
// Deployment, but for addresses and directories. It is not started.
func newController(t *testing.T, cluster *testcluster.Cluster, program string, d *appsv1.Deployment) *controller {
	t.Helper()
	env, err := exec.LookPath("env") // children start without an environment
	if err != nil {
		t.Fatal(err)
	}
	pod := d.Spec.Template.Spec
	account := cluster.ServiceAccount(t, d.Namespace, pod.ServiceAccountName)
	c := &controller{
		user: fmt.Sprintf("system:serviceaccount:%s:%s", d.Namespace, pod.ServiceAccountName),
		dir:  t.TempDir(),
		temp: t.TempDir(),
		// An address of its own keeps fixed ports free over restarts.
		host: fmt.Sprintf("127.%d.%d.%d", 1+rand.IntN(254), rand.IntN(256), 1+rand.IntN(254)),
	}
	vars := variables(d)
	c.command = []string{env, "KUBECONFIG=" + cluster.Kubeconfig(t, account), "TMPDIR=" + c.temp}
	for name, value := range vars {
		c.command = append(c.command, name+"="+value)
	}
	c.command = append(c.command, program)
	for _, arg := range pod.Containers[0].Args {
		for name, value := range vars {
			arg = strings.ReplaceAll(arg, "$("+name+")", value)
		}
		c.command = append(c.command, arg)
	}
	c.command = append(c.command,
		"--storage-path="+t.TempDir(),
		"--storage-addr="+c.host+":9090",
		"--storage-adv-addr="+c.host+":9090",
		"--metrics-addr="+c.host+":8080",
		"--health-addr="+c.host+":9440")
	return c
}

// variables returns the environment of the pod's first container.
func variables(d *appsv1.Deployment) map[string]string {
	vars := map[string]string{}
	for _, v := range d.Spec.Template.Spec.Containers[0].Env {
		vars[v.Name] = v.Value
		if v.ValueFrom != nil && v.ValueFrom.FieldRef != nil {
			vars[v.Name] = field(d, v.ValueFrom.FieldRef)
		}
	}
	return vars
}

func field(d *appsv1.Deployment, ref *v1.ObjectFieldSelector) string {
	switch ref.FieldPath {
	case "metadata.namespace":
		return d.Namespace
	case "metadata.name":
		return d.Name + "-0"
	}
	return ""
}

// start returns when the controller is ready. If it runs, it is stopped first.
func (c *controller) start(ctx context.Context, flags ...string) error {
	return c.startOn(ctx, "", flags...)
}

// startOn is start with an empty store on a file system of that size, as
// mount(8) takes it, which ends with the controller.
func (c *controller) startOn(ctx context.Context, disk string, flags ...string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.startLocked(ctx, disk, flags)
}

func (c *controller) startLocked(ctx context.Context, disk string, flags []string) error {
	if err := c.stopLocked(ctx); err != nil {
		return err
	}
	command, err := c.commandOn(disk)
	if err != nil {
		return err
	}
	dir := filepath.Join(c.dir, strconv.Itoa(c.starts))
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	c.starts++
	c.disk, c.flags = disk, flags
	group := child.NewGroup()
	proc, err := group.Start(command[0], dir, append(command[1:], flags...)...)
	if err != nil {
		return errors.Join(err, group.Stop())
	}
	c.proc, c.group = proc, group
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	err = proc.Await(ctx, c.ready)
	if err != nil {
		c.proc = nil
		_ = group.Stop() // it may say again that the process has ended
		return fmt.Errorf("starting weir-controller: %w", err)
	}
	return nil
}

// commandOn returns the command that runs the controller on a disk of that
// size. Only the controller sees the disk: it is mounted in a namespace of its
// own, for which nobody has to be root.
func (c *controller) commandOn(size string) ([]string, error) {
	if size == "" {
		return slices.Clone(c.command), nil
	}
	var paths []string
	for _, name := range []string{"unshare", "sh", "mount"} {
		path, err := exec.LookPath(name) // children start without an environment
		if err != nil {
			return nil, fmt.Errorf("a disk of its own: %w", err)
		}
		paths = append(paths, path)
	}
	store, err := c.store()
	if err != nil {
		return nil, err
	}
	const mount = `"$1" -t tmpfs -o "size=$2" weir "$3" && shift 3 && exec "$@"`
	wrapped := []string{c.command[0], paths[0], "--user", "--map-root-user", "--mount", paths[1], "-c", mount, "sh", paths[2], size, store}
	return append(wrapped, c.command...), nil
}

// store returns the directory of the store, but for a flag that says otherwise.
func (c *controller) store() (string, error) {
	for _, arg := range slices.Backward(c.command) { // the last one counts
		if dir, ok := strings.CutPrefix(arg, "--storage-path="); ok {
			return dir, nil
		}
	}
	return "", errors.New("the controller has no flag --storage-path")
}

func (c *controller) ready(ctx context.Context) error {
	_, err := get(ctx, "http://"+c.host+":9440/readyz")
	return err
}

// stop asks the controller to end, and fails if it does not or has ended
// before. One that is stopped already stays so.
func (c *controller) stop(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stopLocked(ctx)
}

func (c *controller) stopLocked(ctx context.Context) error {
	if c.proc == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, stopTimeout)
	defer cancel()
	seen, asked := false, false
	err := c.proc.Await(ctx, func(context.Context) error {
		var err error
		if seen && !asked {
			asked = true
			err = syscall.Kill(c.group.Pids()[0], syscall.SIGTERM)
		}
		seen = true // from the second call on it has not ended before
		return errors.Join(errRuns, err)
	})
	c.proc = nil
	_ = c.group.Stop() // it only says that the process has ended
	var status *exec.ExitError
	if !asked || errors.Is(err, errRuns) || errors.As(err, &status) {
		return fmt.Errorf("stopping weir-controller: %w", err)
	}
	return nil
}

var errRuns = errors.New("it still runs")

// kill ends the controller at once, and fails if it has ended before.
func (c *controller) kill() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.proc == nil {
		return nil
	}
	c.proc = nil
	return c.group.Stop()
}

// restore makes the controller run as the Deployment says. It fails when the
// controller has ended by itself.
func (c *controller) restore(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.proc != nil && c.disk == "" && len(c.flags) == 0 && c.ready(ctx) == nil {
		return nil
	}
	return c.startLocked(ctx, "", nil)
}

// close stops the controller for good and tells of races that it has found.
func (c *controller) close() error {
	err := c.stop(context.Background())
	log, readErr := c.log()
	if strings.Contains(log, "WARNING: DATA RACE") {
		err = errors.Join(err, errors.New("the controller has data races:\n"+log))
	}
	return errors.Join(err, readErr)
}

// startMark begins the log of a start.
const startMark = "--- start "

// log returns what the controller has printed since its first start.
func (c *controller) log() (string, error) {
	var all strings.Builder
	for i := range c.starts {
		data, err := os.ReadFile(filepath.Join(c.dir, strconv.Itoa(i), filepath.Base(c.command[0])+".log"))
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&all, startMark+"%d\n%s", i+1, data)
	}
	return all.String(), nil
}

// get returns what is at a URL.
func get(ctx context.Context, url string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("getting %q: %s", url, res.Status)
	}
	return io.ReadAll(res.Body)
}
