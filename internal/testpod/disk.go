package testpod

import (
	"errors"
	"fmt"
	"os/exec"
	"slices"
)

// on returns the command that runs the controller with its artifacts on a disk
// of that size. Only the controller sees the disk: it is mounted in a namespace
// of its own, for which nobody has to be root.
func (p *Pod) on(size string) ([]string, error) {
	if size == "" {
		return slices.Clone(p.command), nil
	}
	if !p.storage {
		return nil, errors.New("a disk of its own: the controller keeps no artifacts")
	}
	var paths []string
	for _, name := range []string{"unshare", "sh", "mount"} {
		path, err := exec.LookPath(name) // children start without an environment
		if err != nil {
			return nil, fmt.Errorf("a disk of its own: %w", err)
		}
		paths = append(paths, path)
	}
	const mount = `"$1" -t tmpfs -o "size=$2" weir "$3" && shift 3 && exec "$@"`
	wrapped := []string{p.command[0], paths[0], "--user", "--map-root-user", "--mount", paths[1], "-c", mount, "sh", paths[2], size, p.Disk()}
	return append(wrapped, p.command...), nil
}
