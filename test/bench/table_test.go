//go:build linux

package bench

import (
	"fmt"
	"io"
	"runtime"
	"slices"
	"testing"
	"text/tabwriter"
	"time"
)

// sample is what one part of the benchmark took, run after run.
type sample struct {
	wall []time.Duration
	cpu  []time.Duration // which a busy machine lengthens less
	rss  float64         // the most of all runs, in MiB; zero if not known
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
	if s.rss > 0 {
		b.ReportMetric(s.rss, "peak-MiB")
	}
	return *s
}

func median(all []time.Duration) time.Duration {
	if len(all) == 0 {
		return 0
	}
	return slices.Sorted(slices.Values(all))[len(all)/2]
}

// table holds the parts of the benchmark that ran.
type table struct{ process, discard, directory, commit, unchanged, tar sample }

// print prints the medians beside the numbers to reach, and how many times as
// long tar takes. Parts that did not run have no line.
func (t *table) print(w io.Writer) {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(tw, "\n%d processors, %s/%s\n\n", runtime.GOMAXPROCS(0), runtime.GOOS, runtime.GOARCH)
	fmt.Fprintln(tw, "WHAT\tWALL\tCPU\tPEAK\tTAR/WALL\tTAR/CPU\tTO REACH")
	for _, l := range []struct {
		what, reach string
		sample      sample
	}{
		{"weir build into a directory, exec to exit", "1.5s, 150 MiB, 15x", t.process},
		{"cold, packed to nowhere", "1.5s", t.discard},
		{"cold, into a directory", "1.5s, 15x", t.directory},
		{"after a commit to one file, 1 packed", "0.5s", t.commit},
		{"nothing changed, digests only", "", t.unchanged},
		{"tar -xzf, tar -czf a directory", "", t.tar},
	} {
		if len(l.sample.wall) == 0 {
			continue
		}
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", l.what, seconds(l.sample.wall), seconds(l.sample.cpu),
			peak(l.sample.rss), ratio(t.tar.wall, l.sample.wall), ratio(t.tar.cpu, l.sample.cpu), l.reach)
	}
	if err := tw.Flush(); err != nil {
		panic(err) // standard output is gone
	}
}

func seconds(all []time.Duration) string {
	if len(all) == 0 {
		return "-"
	}
	return fmt.Sprintf("%.3fs", median(all).Seconds())
}

func peak(mebibytes float64) string {
	if mebibytes == 0 {
		return "-"
	}
	return fmt.Sprintf("%.0f MiB", mebibytes)
}

func ratio(slow, fast []time.Duration) string {
	if len(slow) == 0 || len(fast) == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1fx", median(slow).Seconds()/median(fast).Seconds())
}
