package testcluster

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// Kubectl runs kubectl as cluster-admin and returns what it printed. A nil
// stdin is empty.
func (c *Cluster) Kubectl(ctx context.Context, stdin io.Reader, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, filepath.Join(c.bin, "kubectl"), args...)
	cmd.Env = []string{"KUBECONFIG=" + c.dir.path(adminFile), "KUBECACHEDIR=" + c.dir.path("kubectl")}
	cmd.Stdin = stdin
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // it is the context that ends it, no key
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("kubectl %s: %w\n%s", strings.Join(args, " "), err, &stderr)
	}
	return stdout.String(), nil
}

// Directory makes a directory that goes with the cluster, also when the process
// was killed: the next cluster removes it then.
func (c *Cluster) Directory(name string) (string, error) {
	dir := c.dir.path(name)
	return dir, os.Mkdir(dir, 0o700)
}

// adminFile is the kubeconfig of cluster-admin.
const adminFile = "admin.kubeconfig"
