//go:build linux

package bench

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// script is the pipeline that Weir replaces: unpack the archive, then pack
// each directory below tenants. $1 is the archive, $2 an empty directory.
const script = `set -e
mkdir "$2/in" "$2/out"
tar -xzf "$1" -C "$2/in"
for d in "$2"/in/tenants/*/; do
  tar -czf "$2/out/$(basename "$d").tar.gz" -C "$d" .
done
`

// binary builds a command of this repository and returns its name.
func binary(b *testing.B, dir string) string {
	b.Helper()
	name := filepath.Join(b.TempDir(), filepath.Base(dir))
	if out, err := exec.Command("go", "build", "-o", name, dir).CombinedOutput(); err != nil {
		b.Fatalf("building %s: %v\n%s", dir, err, out)
	}
	return name
}

// process measures the command weir from exec to exit, and with the command
// peak the most memory that it had.
func process(b *testing.B, peak, weir, data string) sample {
	var s sample
	for b.Loop() {
		inFresh(b, func(dir string) {
			c := exec.CommandContext(b.Context(), peak, weir, "build", "--filename", "-", "--source", "repo="+data, "--output-dir", dir, "--quiet")
			c.Stdin = strings.NewReader(generator)
			kibibytes, err := strconv.ParseFloat(strings.TrimSpace(s.run(b, c)), 64)
			if err != nil {
				b.Fatal(err)
			}
			s.rss = max(s.rss, kibibytes/1024)
			count(b, filepath.Join(dir, "flux-system"))
		})
	}
	return s.report(b)
}

// plain measures the pipeline of tar.
func plain(b *testing.B, data string) sample {
	if _, err := exec.LookPath("tar"); err != nil {
		b.Skip("no tar to compare with")
	}
	var s sample
	for b.Loop() {
		inFresh(b, func(dir string) {
			s.run(b, exec.CommandContext(b.Context(), "sh", "-c", script, "sh", data, dir))
			count(b, filepath.Join(dir, "out"))
		})
	}
	return s.report(b)
}

// count fails the benchmark unless dir holds a tarball of every tenant.
func count(b *testing.B, dir string) {
	b.Helper()
	b.StopTimer()
	defer b.StartTimer()
	found, err := os.ReadDir(dir)
	if err != nil || len(found) != tenants {
		b.Fatalf("%d tarballs and %v, want %d", len(found), err, tenants)
	}
}

// run measures a command and returns what it prints.
func (s *sample) run(b *testing.B, c *exec.Cmd) string {
	b.Helper()
	var out, errs strings.Builder
	c.Stdout, c.Stderr = &out, &errs
	s.time(func() {
		if err := c.Run(); err != nil {
			b.Fatalf("%v\n%s", err, &errs)
		}
	})
	return out.String()
}

// processors returns how much processor time this process and its children
// have used so far.
func processors() time.Duration {
	var sum time.Duration
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var u syscall.Rusage
		if syscall.Getrusage(who, &u) == nil { // it fails for no valid argument
			sum += time.Duration(u.Utime.Nano() + u.Stime.Nano())
		}
	}
	return sum
}
