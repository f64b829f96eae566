//go:build linux

package reconciler

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"text/tabwriter"
	"time"
)

// sample is what one part of the benchmark took, run after run.
type sample struct {
	wall []time.Duration
	cpu  []time.Duration // of this process; a busy machine lengthens it less
	all  []time.Duration // processor time of the server, etcd and this process
	// calls are those of the last run.
	reads, writes, commits int
	heap                   float64 // MiB that passes add; zero if not known
}

// time calls f and keeps how long it took.
func (s *sample) time(f func()) {
	start, before, others := time.Now(), processors(), children()
	f()
	s.wall = append(s.wall, time.Since(start))
	s.cpu = append(s.cpu, processors()-before)
	s.all = append(s.all, processors()-before+children()-others)
}

// report adds the metrics that the testing package does not know.
func (s *sample) report(b *testing.B) sample {
	b.ReportMetric(median(s.wall).Seconds(), "median-s")
	b.ReportMetric(median(s.cpu).Seconds(), "cpu-s")
	b.ReportMetric(float64(s.reads), "reads")
	b.ReportMetric(float64(s.writes), "writes")
	b.ReportMetric(float64(s.commits), "commits")
	return *s
}

func median(all []time.Duration) time.Duration {
	if len(all) == 0 {
		return 0
	}
	return slices.Sorted(slices.Values(all))[len(all)/2]
}

// processors returns the processor time that this process has taken.
func processors() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err) // it has no other error than a wrong argument
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// children returns the processor time that the programs of the cluster, which
// are children of this process, have taken.
func children() time.Duration {
	const tick = 10 * time.Millisecond
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		panic(err) // the pattern is wrong
	}
	var ticks int
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended
		}
		// The name before the last bracket can hold anything; state, parent and, at 11 and 12, the times follow it.
		fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
		if len(fields) < 13 || fields[1] != strconv.Itoa(os.Getpid()) {
			continue
		}
		for _, field := range fields[11:13] {
			n, err := strconv.Atoi(field)
			if err != nil {
				panic(err) // the kernel says so
			}
			ticks += n
		}
	}
	return time.Duration(ticks) * tick
}

// table holds the parts of the benchmark that ran.
type table struct{ bare, applied, posted, direct, list, cache, many sample }

// print prints the medians beside the numbers to reach, and how many times as
// long as the bare loop a first apply takes. Where other programs keep the
// processors busy, the ratio of processor times says more than that of walls.
// Parts that did not run have no line.
func (t *table) print(w io.Writer) {
	if len(t.bare.wall)+len(t.direct.wall)+len(t.many.wall) == 0 {
		return
	}
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(tw, "\n%d processors, %s/%s; the API server and etcd share them\n\n", runtime.GOMAXPROCS(0), runtime.GOOS, runtime.GOARCH)
	fmt.Fprintln(tw, "WHAT\tWALL\tCPU\tCPU+SERVER\tREADS\tWRITES\tCOMMITS\tHEAP\tWALL/BARE\tCPU/BARE\tTO REACH")
	for _, l := range []struct {
		what, reach string
		sample      *sample
	}{
		{"1,000 ConfigMaps, bare loop of applies", "", &t.bare},
		{"1,000 ConfigMaps, first pass, SsaMerge", "1.5x, 1 read and 1 write each, 2 commits", &t.applied},
		{"1,000 ConfigMaps, first pass, Replace", "", &t.posted},
		{"unchanged, read one by one", "0 writes", &t.direct},
		{"unchanged, metadata listed", "0 writes", &t.list},
		{"unchanged, metadata from a cache", "0 requests", &t.cache},
		{"10,000 unchanged, metadata from a cache", "0 requests, 150 ms CPU, 64 MiB", &t.many},
	} {
		s := l.sample
		if len(s.wall) == 0 {
			continue
		}
		first := s == &t.applied || s == &t.posted
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%d\t%d\t%d\t%s\t%s\t%s\t%s\n", l.what, brief(s.wall), brief(s.cpu), brief(s.all),
			s.reads, s.writes, s.commits, heap(s.heap), ratio(s.wall, t.bare.wall, first), ratio(s.all, t.bare.all, first), l.reach)
	}
	if err := tw.Flush(); err != nil {
		panic(err) // standard output is gone
	}
}

func brief(all []time.Duration) string { return median(all).Round(100 * time.Microsecond).String() }

func heap(mebibytes float64) string {
	if mebibytes == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f MiB", mebibytes)
}

func ratio(slow, fast []time.Duration, known bool) string {
	if !known || len(fast) == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2fx", times(slow, fast))
}

// times returns how many times as long the slow one takes.
func times(slow, fast []time.Duration) float64 {
	return median(slow).Seconds() / median(fast).Seconds()
}
