package artifactgenerator

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/weir-dev/weir/api/source/v1beta1"
	"github.com/weir-dev/weir/internal/build"
	"github.com/weir-dev/weir/internal/controller/source"
	"github.com/weir-dev/weir/internal/fail"
	"github.com/weir-dev/weir/internal/fetch"
)

// downloads is how many sources of one generator are fetched at a time.
const downloads = 4

// fetch takes the sources into use until the pass ends.
func (r *run) fetch(ctx context.Context) error {
	aliases := r.recipe.Aliases()
	made := make([]build.Source, len(aliases))
	errs := make([]error, len(aliases))
	var group errgroup.Group
	group.SetLimit(downloads)
	for i, alias := range aliases {
		group.Go(func() error {
			made[i], errs[i] = r.fetchOne(ctx, r.states[alias])
			if errs[i] != nil {
				errs[i] = named(alias, errs[i])
			}
			return nil
		})
	}
	_ = group.Wait()
	if err := fail.Join(errs...); err != nil {
		return err
	}
	r.sources = make(map[string]build.Source, len(aliases))
	for i, alias := range aliases {
		r.sources[alias] = made[i]
	}
	return nil
}

func (r *run) fetchOne(ctx context.Context, s source.State) (build.Source, error) {
	got, err := r.Fetch.Get(ctx, fetch.Artifact{URL: s.URL, Digest: s.Digest, Size: s.Size})
	if err != nil {
		return build.Source{}, err
	}
	context.AfterFunc(ctx, got.Close)
	return build.Source{Tree: got.Tree, Revision: s.Revision, OriginRevision: s.OriginRevision}, nil
}

// named puts the alias of a source before an error of it.
func named(alias string, err error) error {
	e := &fail.Error{Reason: v1beta1.ReasonSourceFetchFailed}
	if f, ok := errors.AsType[*fail.Error](err); ok {
		*e = *f
	}
	e.Err = fmt.Errorf("source %q: %w", alias, err)
	return e
}
