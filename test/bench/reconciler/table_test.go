//go:build linux

package reconciler

import (
	"fmt"
	"io"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"text/tabwriter"
	"time"
)

// sample is what one part of the benchmark took, run after run.
type sample struct {
	wall []time.Duration
	cpu  []time.Duration // of this process and not of the server, which a busy machine lengthens less
	// calls are those of the last run.
	reads, writes, commits int
	heap                   float64 // MiB that stay allocated; zero if not known
}

// time calls f and keeps how long it took.
func (s *sample) time(f func()) {
	start, before := time.Now(), processors()
	f()
	s.wall = append(s.wall, time.Since(start))
	s.cpu = append(s.cpu, processors()-before)
}

// report adds the metrics that the testing package does not know.
func (s *sample) report(b *testing.B) sample {
	b.ReportMetric(median(s.wall).Seconds(), "median-s")
	b.ReportMetric(median(s.cpu).Seconds(), "cpu-s")
	b.ReportMetric(float64(s.reads), "reads")
	b.ReportMetric(float64(s.writes), "writes")
	b.ReportMetric(float64(s.commits), "commits")
	if s.heap > 0 {
		b.ReportMetric(s.heap, "heap-MiB")
	}
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

// table holds the parts of the benchmark that ran.
type table struct{ bare, applied, posted, direct, list, cache, many sample }

// print prints the medians beside the numbers to reach, and how many times as
// long as the bare loop a first apply takes. Parts that did not run have no
// line.
func (t *table) print(w io.Writer) {
	if len(t.bare.wall)+len(t.direct.wall)+len(t.many.wall) == 0 {
		return
	}
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(tw, "\n%d processors, %s/%s; the API server and etcd share them\n\n", runtime.GOMAXPROCS(0), runtime.GOOS, runtime.GOARCH)
	fmt.Fprintln(tw, "WHAT\tWALL\tCPU\tREADS\tWRITES\tCOMMITS\tHEAP\tWALL/BARE\tTO REACH")
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
		fmt.Fprintf(tw, "%s\t%s\t%s\t%d\t%d\t%d\t%s\t%s\t%s\n", l.what, brief(s.wall), brief(s.cpu),
			s.reads, s.writes, s.commits, heap(s.heap), ratio(s.wall, t.bare.wall, s == &t.applied || s == &t.posted), l.reach)
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
	return fmt.Sprintf("%.2fx", median(slow).Seconds()/median(fast).Seconds())
}
