package wanted

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/weir-dev/weir/api/capsule/v1beta2"
	"github.com/weir-dev/weir/internal/fail"
	"github.com/weir-dev/weir/internal/replicate"
	"github.com/weir-dev/weir/internal/target"
)

// Render renders every block for every destination. What fails in one of them
// concerns no other, but for a TenantResource that reaches out of its tenant: of
// it nothing is wanted, and the error says so.
func (s *Search) Render(ctx context.Context) ([]replicate.Target, []*replicate.Failure, error) {
	pieces, err := s.pieces(ctx)
	if err != nil {
		return nil, nil, err
	}
	targets, more := replicate.Assemble(pieces, &s.realm)
	failures := slices.Concat(s.failures, more)
	for _, f := range failures {
		if errors.Is(f, replicate.ErrConfined) {
			return nil, nil, &fail.Error{Reason: v1beta2.ReasonFailed, Class: fail.Wait, Err: f}
		}
	}
	return targets, failures, nil
}

// job is one block for one destination.
type job struct {
	block       *replicate.Block
	destination target.Destination
	pieces      []replicate.Piece
	err         error
}

// pieces returns what the blocks render, in the order of the blocks.
func (s *Search) pieces(ctx context.Context) ([]replicate.Piece, error) {
	self, err := runtime.DefaultUnstructuredConverter.ToUnstructured(s.replication.Object)
	if err != nil {
		return nil, fmt.Errorf("converting the replication: %w", err)
	}
	about, _ := self["metadata"].(map[string]any)
	delete(about, "managedFields")
	var jobs []*job
	for _, b := range s.blocks {
		if b == nil {
			continue
		}
		for _, d := range target.Of(s.replication.Scope, s.where, b.Namespaces) {
			jobs = append(jobs, &job{block: b, destination: d})
		}
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(s.options.Parallel)
	for _, j := range jobs {
		g.Go(func() error {
			j.pieces, j.err = s.piece(ctx, j, about)
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
			s.failures = append(s.failures, &replicate.Failure{Block: j.block.Index, Destination: j.destination, Err: j.err})
		}
	}
	return out, nil
}

// piece renders one block for one destination.
func (s *Search) piece(ctx context.Context, j *job, about map[string]any) ([]replicate.Piece, error) {
	in := replicate.Input{Destination: j.destination, Replication: about, Now: s.options.Now(), Context: map[string][]*unstructured.Unstructured{}}
	queries, err := j.block.Sources(j.destination, &s.realm)
	if err != nil {
		return nil, err
	}
	in.Sources = make([][]*unstructured.Unstructured, len(queries))
	for i, q := range queries {
		if in.Sources[i], err = s.sources.Find(ctx, q); err != nil {
			return nil, err
		}
	}
	if in.Asked, err = j.block.Context(j.destination, &s.realm); err != nil {
		return nil, err
	}
	for index, q := range in.Asked {
		if in.Context[index], err = s.sources.Find(ctx, q); err != nil {
			return nil, err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, s.options.RenderTime)
	defer cancel()
	return j.block.Render(ctx, in)
}
