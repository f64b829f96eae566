// Package demo shows Weir at work on one machine: a control plane, Flux's
// controllers and weir-controller as processes on loopback, the repository's
// examples pushed to a git server, a registry and a bucket, and what becomes of
// them. Nothing is installed, and at the end nothing is left.
package demo

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"
)

// Options says what to show, and where.
type Options struct {
	// Root is the directory of the repository, with its programs in bin.
	Root string
	// Controller is the path of weir-controller.
	Controller string
	// Once ends the demo as soon as everything is ready.
	Once bool
	// Within is how long that may take; afterwards it is a failure.
	Within time.Duration
	// Out is where to show it.
	Out *Screen
}

const (
	lookEvery = 500 * time.Millisecond
	stopLimit = time.Minute
)

// Run plays the demo until the context ends, which is no error.
func Run(ctx context.Context, o Options) (err error) {
	w := &world{Options: o}
	defer func() {
		o.Out.Close()
		stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopLimit)
		defer cancel()
		if stopErr := w.stop(stopping); stopErr != nil {
			err = errors.Join(err, stopErr)
		}
		o.Out.Say("Everything is stopped and removed.")
	}()
	starting, cancel := context.WithTimeout(ctx, o.Within)
	defer cancel()
	for _, step := range []struct {
		what string
		do   func(context.Context) error
	}{
		{"etcd, kube-apiserver, kube-controller-manager", w.startCluster},
		{"custom resources, and Weir's manifests", w.install},
		{"git server, OCI registry, S3 store", w.startForge},
		{"source-controller, kustomize-controller", w.startFlux},
		{"weir-controller", w.startController},
		{"the examples pushed and applied", w.setScenes},
	} {
		start := time.Now()
		if err := step.do(starting); err != nil {
			return ended(ctx, fmt.Errorf("%s: %w", step.what, err))
		}
		o.Out.Say(o.Out.pen.step(step.what, time.Since(start)))
	}
	return ended(ctx, w.watch(ctx))
}

// ended leaves out the error that the end of the demo is.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// watch shows what changes.
func (w *world) watch(ctx context.Context) error {
	eye, err := newEye(w.cluster.Admin())
	if err != nil {
		return err
	}
	deadline := time.Now().Add(w.Within)
	var seen memory
	for {
		p, err := eye.look(ctx)
		if err != nil {
			return err
		}
		p = seen.refresh(p, time.Now())
		if w.Once && p.done() {
			w.Out.Show(p, "")
			return nil
		}
		if w.Once && time.Now().After(deadline) {
			w.Out.Show(p, "")
			return fmt.Errorf("not everything is ready after %v", w.Within)
		}
		if !w.Once {
			w.Out.Show(p, w.hints())
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(lookEvery):
		}
	}
}

// hints is what to try, for people with another terminal.
func (w *world) hints() string {
	return fmt.Sprintf(`
In another terminal, in this directory:
  export KUBECONFIG=%s PATH=%s:$PATH
  kubectl get artifactgenerators,externalartifacts,kustomizations -A
  git clone -b main %s /tmp/shop && cd /tmp/shop
  sed -i 's/replicas: .*/replicas: 7/' deploy/frontend/deployment.yaml
  git -c user.name=me -c user.email=me@example.com commit -am "Scale the frontend" && git push
Only the frontend moves. Ctrl-C ends the demo and removes everything.
`, w.kubeconfig, w.cluster.Bin(), w.forge.GitURL("apps/my-monorepo"))
}

// path returns that of a file of the repository.
func (o Options) path(name ...string) string {
	return filepath.Join(append([]string{o.Root}, name...)...)
}

// memory knows when revisions have changed.
type memory struct {
	revisions map[string]string
	changed   map[string]time.Time
}

// freshFor is how long a change is news.
const freshFor = 15 * time.Second

// refresh returns the picture with what is new in it.
func (m *memory) refresh(p picture, now time.Time) picture {
	first := m.revisions == nil
	if first {
		m.revisions, m.changed = map[string]string{}, map[string]time.Time{}
	}
	for _, g := range p.Generators {
		for i := range g.Artifacts {
			a := &g.Artifacts[i]
			key := g.Name + " " + a.Name
			before, known := m.revisions[key]
			if known && before != a.Revision {
				m.changed[key] = now
			}
			m.revisions[key] = a.Revision
			changed, ever := m.changed[key]
			a.Fresh = ever && now.Sub(changed) < freshFor
		}
	}
	return p
}
