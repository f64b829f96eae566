package testcluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// keeper starts processes that end with this one, even when it is killed.
//
// The kernel can do that (Pdeathsig), but what it watches is the thread that
// started the process, and Go ends threads as it likes. So one goroutine
// starts them all, on a thread that it keeps until the keeper stops.
type keeper struct {
	calls chan func()
	// processes belongs to the goroutine that calls start and stop.
	processes []*process
}

func newKeeper() *keeper {
	k := &keeper{calls: make(chan func())}
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		for call := range k.calls {
			call()
		}
	}()
	return k
}

// process is a running program.
type process struct {
	name string
	log  string        // path of the file with everything that it printed
	done chan struct{} // closed when the program has ended
	cmd  *exec.Cmd
	// err is how the program ended, once done is closed.
	err error
}

// start runs the program in a process group of its own, so that an interrupt
// typed at a terminal reaches only the tests, and without an environment, so
// that nothing of the caller's reaches it.
func (k *keeper) start(program, dir string, args ...string) (*process, error) {
	name := filepath.Base(program)
	p := &process{name: name, log: filepath.Join(dir, name+".log"), done: make(chan struct{})}
	log, err := os.Create(p.log)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	p.cmd = exec.Command(program, args...)
	p.cmd.Dir = dir
	p.cmd.Env = []string{}
	p.cmd.Stdout, p.cmd.Stderr = log, log
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}

	started := make(chan error)
	k.calls <- func() { started <- p.cmd.Start() }
	if err := <-started; err != nil {
		return nil, fmt.Errorf("starting %s: %w", name, err)
	}
	k.processes = append(k.processes, p)
	go func() {
		p.err = p.cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

// stop kills the processes: nothing that they would save is of use to anyone.
// The error names those that had ended before.
func (k *keeper) stop() error {
	var errs []error
	for _, p := range k.processes {
		if p.ended() {
			errs = append(errs, p.failure())
			continue
		}
		// An error means that it has just ended by itself.
		_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
		<-p.done
	}
	close(k.calls)
	return errors.Join(errs...)
}

// await returns when ready does without an error. It gives up when the program
// ends or the context does.
func (p *process) await(ctx context.Context, ready func(context.Context) error) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		err := ready(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-p.done:
			return p.failure()
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready: %w\n%s", p.name, err, p.tail())
		case <-tick.C:
		}
	}
}

func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// failure says that and why the program has ended too early.
func (p *process) failure() error {
	err := p.err
	if err == nil {
		err = errors.New("exit status 0")
	}
	return fmt.Errorf("%s ended too early: %w\n%s", p.name, err, p.tail())
}

// tail returns the last lines of the log, for people.
func (p *process) tail() string {
	const lines = 20
	data, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	all := strings.Split(strings.TrimSpace(string(data)), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
