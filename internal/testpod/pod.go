// Package testpod runs a controller on this machine as its pod would run in a
// cluster: as its ServiceAccount, with its arguments and environment, and on an
// address of its own, where it listens on the ports that it always has. It is
// for tests, and for controllers that have the flags of Flux's.
package testpod

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
	"time"

	"github.com/weir-dev/weir/internal/child"
	"github.com/weir-dev/weir/internal/testcluster"
)

// A kubelet waits for 30 seconds until it kills; a busy machine is slow to start.
const (
	startTimeout = 60 * time.Second
	stopTimeout  = 30 * time.Second
)

// Spec says what to run.
type Spec struct {
	// Program is the path of the controller's program.
	Program string
	// Namespace and Account are who it is for the API server. The namespace
	// exists; the account is made when it is missing.
	Namespace, Account string
	// Args are the controller's but for addresses and directories, and Env its
	// environment.
	Args []string
	Env  map[string]string
	// Storage says that it keeps and serves artifacts.
	Storage bool
}

// Pod is a controller that runs or is stopped. Its methods may be called
// concurrently.
type Pod struct {
	name    string
	user    string
	host    string
	dir     string   // holds the disk, and a directory for each start
	command []string // env NAME=VALUE… PROGRAM ARG…
	storage bool

	mu     sync.Mutex
	starts int
	disk   string         // of the last start; empty: the machine's
	flags  []string       // of the last start
	proc   *child.Process // nil: stopped
	group  *child.Group   // of proc alone
}

// New returns a controller that is not started yet. What it writes is below
// dir, which exists and is the caller's to remove.
func New(ctx context.Context, cluster *testcluster.Cluster, dir string, spec Spec) (*Pod, error) {
	env, err := exec.LookPath("env") // children start without an environment
	if err != nil {
		return nil, err
	}
	account, err := cluster.Account(ctx, spec.Namespace, spec.Account)
	if err != nil {
		return nil, err
	}
	p := &Pod{
		name: filepath.Base(spec.Program),
		user: "system:serviceaccount:" + spec.Namespace + ":" + spec.Account,
		host: Address(),
		dir:  dir, storage: spec.Storage,
	}
	kubeconfig := filepath.Join(dir, "kubeconfig")
	if err := testcluster.WriteKubeconfig(kubeconfig, account); err != nil {
		return nil, err
	}
	for _, name := range []string{"tmp", "data"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			return nil, err
		}
	}
	p.command = []string{env, "KUBECONFIG=" + kubeconfig, "RUNTIME_NAMESPACE=" + spec.Namespace, "TMPDIR=" + p.Temp()}
	for name, value := range spec.Env {
		p.command = append(p.command, name+"="+value)
	}
	p.command = append(append(p.command, spec.Program), spec.Args...)
	p.command = append(p.command, "--metrics-addr="+p.host+":8080", "--health-addr="+p.host+":9440")
	if spec.Storage {
		p.command = append(p.command, "--storage-path="+p.Disk(), "--storage-addr="+p.host+":9090", "--storage-adv-addr="+p.host+":9090")
	}
	return p, nil
}

// Address returns an address of loopback that nobody else uses, so that fixed
// ports are free on it, also after a restart. There are millions of them.
func Address() string {
	return fmt.Sprintf("127.%d.%d.%d", 1+rand.IntN(254), rand.IntN(256), 1+rand.IntN(254))
}

// User is the controller's ServiceAccount as the API server knows it.
func (p *Pod) User() string { return p.user }

// Host is the address that the controller listens on.
func (p *Pod) Host() string { return p.host }

// Disk is the directory of the artifacts. It outlasts restarts.
func (p *Pod) Disk() string { return filepath.Join(p.dir, "data") }

// Temp is the directory of its temporary files.
func (p *Pod) Temp() string { return filepath.Join(p.dir, "tmp") }

// Start returns when the controller is ready. If it runs, it is stopped first.
// The flags are added to its arguments.
func (p *Pod) Start(ctx context.Context, flags ...string) error { return p.StartOn(ctx, "", flags...) }

// StartOn is Start with an empty disk for artifacts of that size, as mount(8)
// takes it, which ends with the controller. Empty means the directory Disk.
func (p *Pod) StartOn(ctx context.Context, disk string, flags ...string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.start(ctx, disk, flags)
}

// Restore makes the controller run without added flags and on the directory
// Disk, if it does not already.
func (p *Pod) Restore(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.proc != nil && p.disk == "" && len(p.flags) == 0 && p.ready(ctx) == nil {
		return nil
	}
	return p.start(ctx, "", nil)
}

func (p *Pod) start(ctx context.Context, disk string, flags []string) error {
	if err := p.stop(ctx); err != nil {
		return err
	}
	command, err := p.on(disk)
	if err != nil {
		return err
	}
	dir := filepath.Join(p.dir, strconv.Itoa(p.starts))
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	p.starts++
	p.disk, p.flags = disk, slices.Clone(flags)
	group := child.NewGroup()
	proc, err := group.Start(command[0], dir, append(command[1:], flags...)...)
	if err != nil {
		return errors.Join(err, group.Stop())
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if err := proc.Await(ctx, p.ready); err != nil {
		_ = group.Stop() // it may say again that the process has ended
		return fmt.Errorf("starting %s: %w", p.name, err)
	}
	p.proc, p.group = proc, group
	return nil
}

func (p *Pod) ready(ctx context.Context) error {
	_, err := Get(ctx, "http://"+p.host+":9440/readyz")
	return err
}

// Stop asks the controller to end, and fails if it does not or has ended
// before. One that is stopped already stays so.
func (p *Pod) Stop(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stop(ctx)
}

func (p *Pod) stop(ctx context.Context) error {
	if p.proc == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, stopTimeout)
	defer cancel()
	err := p.proc.Terminate(ctx)
	p.proc = nil
	_ = p.group.Stop() // err says it
	if err != nil {
		return fmt.Errorf("stopping %s: %w", p.name, err)
	}
	return nil
}

// Kill ends the controller at once, and fails if it has ended before.
func (p *Pod) Kill() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.proc == nil {
		return nil
	}
	p.proc = nil
	return p.group.Stop()
}

// StartMark begins a line of the log of a controller for each of its starts.
const StartMark = "--- start "

// Log returns what the controller has printed since its first start.
func (p *Pod) Log() (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all strings.Builder
	for i := range p.starts {
		data, err := os.ReadFile(filepath.Join(p.dir, strconv.Itoa(i), filepath.Base(p.command[0])+".log"))
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&all, StartMark+"%d\n%s", i+1, data)
	}
	return all.String(), nil
}

// Memory returns how many bytes of memory the running controller has, and has
// had at most.
func (p *Pod) Memory() (now, most int64, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.proc == nil {
		return 0, 0, fmt.Errorf("%s does not run", p.name)
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.group.Pids()[0]))
	if err != nil {
		return 0, 0, err
	}
	return kibibytes(string(status), "VmRSS:"), kibibytes(string(status), "VmHWM:"), nil
}

// kibibytes returns the bytes of a field of /proc/PID/status.
func kibibytes(status, field string) int64 {
	_, rest, _ := strings.Cut(status, field)
	var n int64
	if _, err := fmt.Sscan(rest, &n); err != nil {
		return 0
	}
	return n << 10
}

// Get returns what is at a URL, or an error when that takes ten seconds.
func Get(ctx context.Context, url string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
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
