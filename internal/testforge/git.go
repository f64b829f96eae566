package testforge

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// Branch is where commits go.
const Branch = "main"

// GitURL returns the address of a repository, which its first commit makes.
func (f *Forge) GitURL(repo string) string { return f.url("3000") + "/" + repo + ".git" }

// Commit pushes what is in the directory, and nothing else, as the next commit
// of a repository, even when nothing has changed. It returns the commit's hash.
func (f *Forge) Commit(ctx context.Context, repo, dir, message string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	checkout := f.path("checkouts", repo)
	if _, err := os.Stat(checkout); err != nil {
		if err := os.MkdirAll(filepath.Dir(checkout), 0o700); err != nil {
			return "", err
		}
		if _, err = f.git(ctx, f.dir, "init", "--quiet", "--initial-branch="+Branch, checkout); err != nil {
			return "", err
		}
	}
	for _, args := range [][]string{
		{"--work-tree=" + dir, "add", "--all", "--force", "."},
		{"commit", "--quiet", "--allow-empty", "--message=" + message},
		{"push", "--quiet", f.GitURL(repo), "HEAD:" + Branch},
	} {
		in := dir // what is added is below the working directory
		if args[0] != "push" {
			args = append([]string{"--git-dir=" + filepath.Join(checkout, ".git")}, args...)
		} else {
			in = checkout
		}
		if _, err := f.git(ctx, in, args...); err != nil {
			return "", err
		}
	}
	return f.git(ctx, checkout, "rev-parse", "HEAD")
}

func (f *Forge) git(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = dir
	cmd.Env = f.environment()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // it is the context that ends it, no key
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("git %s: %w\n%s", strings.Join(args, " "), err, &stderr)
	}
	return strings.TrimSpace(stdout.String()), nil
}
