package replication

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/weir-dev/weir/api/capsule/v1beta2"
	"github.com/weir-dev/weir/internal/controller/origin"
	"github.com/weir-dev/weir/internal/fail"
	"github.com/weir-dev/weir/internal/replicate"
	"github.com/weir-dev/weir/internal/target"
)

// render renders every block for every destination. What fails in one of them
// concerns no other, but for a TenantResource that reaches out of its tenant: of
// it nothing is applied.
func (r *run) render(ctx context.Context) error {
	pieces, err := r.pieces(ctx)
	if err != nil {
		return err
	}
	targets, more := replicate.Assemble(pieces, &r.realm)
	r.targets, r.failures = targets, append(r.failures, more...)
	for _, f := range r.failures {
		if errors.Is(f, replicate.ErrConfined) {
			return &fail.Error{Reason: v1beta2.ReasonFailed, Class: fail.Wait, Err: f}
		}
	}
	return nil
}

// job is one block for one destination.
type job struct {
	block       *replicate.Block
	destination target.Destination
	pieces      []replicate.Piece
	err         error
}

// pieces returns what the blocks render, in the order of the blocks.
func (r *run) pieces(ctx context.Context) ([]replicate.Piece, error) {
	self, err := runtime.DefaultUnstructuredConverter.ToUnstructured(r.object)
	if err != nil {
		return nil, fmt.Errorf("converting the replication: %w", err)
	}
	about, _ := self["metadata"].(map[string]any)
	delete(about, "managedFields")
	var jobs []*job
	for _, b := range r.blocks {
		if b == nil {
			continue
		}
		for _, d := range target.Of(r.scope, r.where, b.Namespaces) {
			jobs = append(jobs, &job{block: b, destination: d})
		}
	}
	src := &origin.Reader{Client: r.client}
	r.sources = src
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(r.Parallel)
	for _, j := range jobs {
		g.Go(func() error {
			j.pieces, j.err = r.piece(ctx, j, src, about)
			return ctx.Err()
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	var out []replicate.Piece
	for _, j := range jobs {
		out = append(out, j.pieces...)
		if j.err != nil {
			r.failures = append(r.failures, &replicate.Failure{Block: j.block.Index, Destination: j.destination, Err: j.err})
		}
	}
	return out, nil
}

// piece renders one block for one destination.
func (r *run) piece(ctx context.Context, j *job, src *origin.Reader, about map[string]any) ([]replicate.Piece, error) {
	in := replicate.Input{Destination: j.destination, Replication: about, Now: r.Now(), Context: map[string][]*unstructured.Unstructured{}}
	queries, err := j.block.Sources(j.destination, &r.realm)
	if err != nil {
		return nil, err
	}
	in.Sources = make([][]*unstructured.Unstructured, len(queries))
	for i, q := range queries {
		if in.Sources[i], err = src.Find(ctx, q); err != nil {
			return nil, err
		}
	}
	if in.Asked, err = j.block.Context(j.destination, &r.realm); err != nil {
		return nil, err
	}
	for index, q := range in.Asked {
		if in.Context[index], err = src.Find(ctx, q); err != nil {
			return nil, err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, r.RenderTime)
	defer cancel()
	return j.block.Render(ctx, in)
}
