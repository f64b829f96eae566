//go:build linux

// Command peak runs a command and prints the most memory that it had, in KiB.
// It exists because Linux counts what a parent had before the exec as the
// child's: only a parent that is small itself learns what its child took.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

func main() {
	c := exec.Command(os.Args[1], os.Args[2:]...)
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stderr, os.Stderr
	if err := c.Run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(c.ProcessState.SysUsage().(*syscall.Rusage).Maxrss)
}
