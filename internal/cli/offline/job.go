package offline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/weir-dev/weir/api/source/v1beta1"
	"github.com/weir-dev/weir/internal/blob"
	"github.com/weir-dev/weir/internal/build"
	"github.com/weir-dev/weir/internal/cli/manifest"
	"github.com/weir-dev/weir/internal/cli/process"
	"github.com/weir-dev/weir/internal/cli/terminal"
	"github.com/weir-dev/weir/internal/compose"
	"github.com/weir-dev/weir/internal/fail"
	"github.com/weir-dev/weir/internal/local"
	"github.com/weir-dev/weir/internal/pack"
	"github.com/weir-dev/weir/internal/recipe"
	"github.com/weir-dev/weir/internal/view"
)

// job is one call of weir build. Each field says which step writes it.
type job struct {
	ctx      context.Context
	env      process.Env
	flags    *buildFlags
	progress *terminal.Progress

	several bool                    // compile, that messages must name the generator
	recipes []*recipe.Recipe        // compile
	paths   []map[string]string     // bind, by recipe and alias
	opened  map[string]local.Source // run, by path
	spool   *blob.Pack              // run, for what is unpacked
	output  *local.Output           // run, nil when nothing is written
	makers  map[string]string       // run, the generator of each artifact and namespace
	errs    []error                 // compile and run, one a generator
	told    []error                 // the same one by one and as printed, for people
	report  view.Report             // run
}

func newJob(ctx context.Context, env process.Env, f *buildFlags) *job {
	j := &job{ctx: ctx, env: env, flags: f, opened: map[string]local.Source{}, makers: map[string]string{}}
	if !f.quiet && terminal.Is(env.Err) {
		j.progress = terminal.NewProgress(env.Err)
	}
	return j
}

func (j *job) close() {
	for _, s := range j.opened {
		_ = s.Close()
	}
	if j.spool != nil {
		_ = j.spool.Close()
	}
	if j.output != nil {
		_ = j.output.Close()
	}
}

// compile keeps the recipes of the generators that are sound.
func (j *job) compile(generators []manifest.Generator) {
	j.several = len(generators) > 1
	for _, g := range generators {
		r, err := (*recipe.Recipe)(nil), g.Invalid
		if err == nil {
			r, err = recipe.Compile(&g.Object, j.flags.recipe)
		}
		if err != nil {
			j.failed(g.String(), err)
			continue
		}
		j.recipes = append(j.recipes, r)
	}
}

// bind finds the path of every source. Bindings left over are refused, but
// only when every generator could be read, for else they may belong to one.
func (j *job) bind(b *bindings) (err error) {
	if err = b.checkAmbiguous(j.recipes); err != nil {
		return err
	}
	if j.paths, err = b.resolve(j.recipes); err != nil || len(j.errs) > 0 {
		return err
	}
	return b.checkUnused(j.recipes)
}

// run builds and packs the artifacts of every recipe. What fails is recorded;
// an error ends the job.
func (j *job) run() (err error) {
	defer j.progress.Done()
	if j.spool, err = blob.NewPack(""); err != nil {
		return err
	}
	if dir := j.flags.outputDir; dir != "" {
		if j.output, err = local.NewOutput(dir); err != nil {
			return fmt.Errorf("--output-dir: %w", err)
		}
	}
	for i, r := range j.recipes {
		if err := j.build(r, j.paths[i]); err != nil {
			return err
		}
	}
	return nil
}

func (j *job) build(r *recipe.Recipe, paths map[string]string) error {
	sources, errs := j.open(r, paths)
	if err := j.ctx.Err(); err != nil {
		return err
	}
	if len(errs) > 0 {
		j.failed(nameOf(r), fail.Retried(v1beta1.ReasonSourceFetchFailed, "%w", fail.Join(errs...)), errs...)
		return nil
	}
	result, err := build.Build(j.ctx, r, sources, build.Options{
		Concurrency: j.flags.concurrency,
		Compose:     compose.Options{Sink: j.spool, RootGlobs: j.flags.gates.sourceRootGlobs},
	})
	if err != nil {
		return err
	}
	j.separate(nameOf(r), result)
	if err := j.pack(result); err != nil {
		return err
	}
	j.conclude(nameOf(r), result)
	return nil
}

// open reads the sources of one recipe, each path once for all recipes.
func (j *job) open(r *recipe.Recipe, paths map[string]string) (map[string]build.Source, []error) {
	out := make(map[string]build.Source, len(paths))
	var errs []error
	for _, alias := range r.Aliases() {
		path := paths[alias]
		s, ok := j.opened[path]
		if !ok {
			var err error
			j.progress.Show("reading the source %q", alias)
			if s, err = local.Open(j.ctx, path, local.Options{NoSourceIgnore: j.flags.noSourceIgnore}); err != nil {
				errs = append(errs, fail.Retried(v1beta1.ReasonSourceFetchFailed, "alias %q: %w", alias, err))
				continue
			}
			j.opened[path] = s
		}
		out[alias] = build.Source{Tree: s.Tree, Revision: s.Revision}
	}
	return out, errs
}

// pack packs the artifacts, several at once, and writes them where that was
// asked for. One that cannot be written becomes a failure of the result; an
// error means that the context has ended.
func (j *job) pack(result *build.Result) error {
	made := result.Artifacts
	rows := make([]view.Artifact, len(made))
	errs := make([]error, len(made))
	var count atomic.Int64
	var group errgroup.Group
	group.SetLimit(j.flags.concurrency)
	for i, a := range made {
		group.Go(func() error {
			if err := j.ctx.Err(); err != nil {
				return err
			}
			rows[i], errs[i] = j.row(a)
			j.progress.Show("packing %d of %d", count.Add(1), len(made))
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	result.Artifacts = make([]build.Artifact, 0, len(made))
	for i, a := range made {
		if errs[i] != nil {
			result.Failures = append(result.Failures, build.Failure{
				Subject: a.Namespace + "/" + a.Name,
				Err:     fail.Retried(v1beta1.ReasonReconciliationFailed, "%w", errs[i])})
			continue
		}
		result.Artifacts = append(result.Artifacts, a)
		j.report.Artifacts = append(j.report.Artifacts, rows[i])
	}
	return nil
}

// row packs an artifact and describes what came out.
func (j *job) row(a build.Artifact) (view.Artifact, error) {
	p, err := j.write(a)
	return view.Artifact{
		Name: a.Name, Namespace: a.Namespace, Revision: a.Revision,
		Digest: "sha256:" + p.Digest.String(), Size: p.Size, Files: p.Files,
		Labels: a.Metadata.Labels, Annotations: a.Metadata.Annotations,
		OriginRevision: a.OriginRevision, ExportedInputs: a.Inputs,
	}, err
}

// write packs an artifact, to nowhere unless there is an output directory.
func (j *job) write(a build.Artifact) (pack.Result, error) {
	name := a.Namespace + "/" + a.Name
	switch {
	case j.output == nil:
		return pack.Write(io.Discard, a.Tree)
	case !j.flags.unpacked:
		return j.output.Tarball(name+".tar.gz", a.Tree)
	}
	err := j.output.Tree(j.ctx, name, a.Tree, j.flags.overwrite)
	if errors.Is(err, fs.ErrExist) {
		err = fmt.Errorf("%w; remove it, or replace it with --overwrite", err)
	}
	if err != nil {
		return pack.Result{}, err
	}
	return pack.Write(io.Discard, a.Tree)
}
