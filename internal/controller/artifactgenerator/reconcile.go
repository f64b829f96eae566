// Package artifactgenerator reconciles ArtifactGenerators: sources in, stored
// artifacts and the ExternalArtifacts that stand for them out. It is the list of
// steps and what wakes it; what is decided and done in a step is decided and
// done by rooms beside it.
package artifactgenerator

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/weir-dev/weir/api/source/v1beta1"
	"github.com/weir-dev/weir/internal/build"
	"github.com/weir-dev/weir/internal/controller/draft"
	"github.com/weir-dev/weir/internal/controller/ledger"
	"github.com/weir-dev/weir/internal/controller/publish"
	"github.com/weir-dev/weir/internal/controller/source"
	"github.com/weir-dev/weir/internal/fail"
	"github.com/weir-dev/weir/internal/fetch"
	"github.com/weir-dev/weir/internal/loop"
	"github.com/weir-dev/weir/internal/recipe"
	"github.com/weir-dev/weir/internal/step"
	"github.com/weir-dev/weir/internal/store"
	"github.com/weir-dev/weir/pkg/reconciler/object"
)

// Options are what a [Reconciler] works with. All up to Swept but Sources must be
// set.
type Options struct {
	// Client reads generators, sources, ExternalArtifacts and the metadata of
	// namespaces from a cache that sees its own writes.
	Client client.Client
	// Direct reads from the API server; its writes are those to namespaces and to
	// specs of ExternalArtifacts, and reviews of what ServiceAccounts may do.
	Direct client.Client
	// Sources reads source objects; nil means Client. Reading them from the API
	// server costs a request a source and a pass, and never sees an old one.
	Sources client.Reader
	Events  loop.Events
	Fetch   *fetch.Cache
	Store   store.Store
	// URL returns where consumers find a path of the store.
	URL func(path string) string
	// Swept is told that files may have become superfluous. It must not block.
	Swept func()

	// Wait is how long a missing source is waited for; zero means
	// [fetch.DefaultWait].
	Wait   time.Duration
	Recipe recipe.Options
	Build  build.Options
	// Overrides are field managers whose fields in managed namespaces are drift,
	// beside those of kubectl.
	Overrides []string
	// NoNamespaces says that namespaces may not be watched, because the
	// controller is confined to one. Those that it manages are then read in
	// every pass.
	NoNamespaces bool
	// Jitter spreads intervals, and Observe sees each step; see [loop.Loop].
	Jitter  func(time.Duration) time.Duration
	Observe func(name string, took time.Duration, err error)
	// Metrics counts; nil means nobody does.
	Metrics Metrics
}

// Metrics is told what a [Reconciler] does. Its methods must not block.
type Metrics interface {
	// Pass is told how long a pass over a generator took.
	Pass(generator types.NamespacedName, took time.Duration)
	// Built is told how many artifacts of a generator got a new revision in a
	// pass, kept theirs, and failed. A pass in which nothing is new builds none.
	Built(generator types.NamespacedName, published, unchanged, failing int)
}

// unmeasured is nobody who counts.
type unmeasured struct{}

func (unmeasured) Pass(types.NamespacedName, time.Duration)  {}
func (unmeasured) Built(types.NamespacedName, int, int, int) {}

// Reconciler makes passes over generators, see [New].
type Reconciler struct {
	Options

	publisher *publish.Publisher
	ledger    *ledger.Ledger
	loop      loop.Loop[*v1beta1.ArtifactGenerator]
}

var _ reconcile.Reconciler = (*Reconciler)(nil)

// New returns a reconciler that watches nothing yet.
func New(o Options) *Reconciler {
	if o.Wait == 0 {
		o.Wait = fetch.DefaultWait
	}
	if o.Sources == nil {
		o.Sources = o.Client
	}
	if o.Metrics == nil {
		o.Metrics = unmeasured{}
	}
	r := &Reconciler{Options: o, ledger: &ledger.Ledger{}}
	r.publisher = publish.New(publish.Options{
		Client: o.Client, Direct: o.Direct, Store: o.Store, URL: o.URL, Ledger: r.ledger,
		Overrides: o.Overrides, NoNamespaces: o.NoNamespaces,
	})
	r.loop = loop.Loop[*v1beta1.ArtifactGenerator]{
		Kind: loop.Kind[*v1beta1.ArtifactGenerator]{
			New:       func() *v1beta1.ArtifactGenerator { return &v1beta1.ArtifactGenerator{} },
			Finalizer: v1beta1.Finalizer,
			Handled:   func(g *v1beta1.ArtifactGenerator) *string { return &g.Status.LastHandledReconcileAt },
			Interval:  (*v1beta1.ArtifactGenerator).Interval,
			Suspended: (*v1beta1.ArtifactGenerator).IsDisabled,
			Steps:     r.steps,
			Finalize:  r.finalize,
			Actions:   actions,
		},
		Client: o.Client, Live: o.Direct, Events: o.Events, Jitter: o.Jitter, Observe: o.Observe,
	}
	return r
}

// Reconcile makes one pass over a generator. It implements
// [reconcile.Reconciler].
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	// The sources that a pass has in use are given back when it ends.
	ctx, end := context.WithCancel(ctx)
	defer end()
	start := time.Now()
	defer func() { r.Metrics.Pass(req.NamespacedName, time.Since(start)) }()
	return r.loop.Reconcile(ctx, req)
}

// actions are what events call the steps, and what failed of artifacts while
// the step went on with others.
var actions = map[string]string{
	"observe": "ResolveSource", "fetch": "FetchSource", "build": "Build", "publish": "Publish", "withdraw": "Prune",
	v1beta1.ReasonBuildFailed: "Build", v1beta1.ReasonAccessDenied: "Authorise", v1beta1.ReasonPruneFailed: "Prune",
	v1beta1.ReasonPruneBlocked:         "Prune",
	v1beta1.ReasonReconciliationFailed: "Publish", v1beta1.ReasonOwnershipConflict: "Publish",
}

func (r *Reconciler) steps(g *v1beta1.ArtifactGenerator, p *loop.Pass) []step.Step {
	run := &run{Reconciler: r, generator: g, pass: p}
	return step.OnFailure(run.disclaim,
		step.Of("observe", run.observe),     // the spec and the sources; nothing is new: done
		step.Of("fetch", run.fetch),         // sources into trees
		step.Of("build", run.build),         // trees into artifacts, and a draft of what becomes of them
		step.Of("authorise", run.authorise), // withhold what may not be published
		step.Of("publish", run.publish),     // artifacts into the store and into ExternalArtifacts
		step.Of("sweep", run.sweep))         // let superfluous files go, and sum up
}

func (r *Reconciler) finalize(g *v1beta1.ArtifactGenerator, p *loop.Pass) []step.Step {
	run := &run{Reconciler: r, generator: g, pass: p}
	return []step.Step{
		step.Of("release", run.release),   // leave what nobody can authorise to remove
		step.Of("withdraw", run.withdraw), // delete what is still ours
		step.Of("forget", run.forget),
	}
}

// run is one pass over one generator.
type run struct {
	*Reconciler

	generator *v1beta1.ArtifactGenerator
	pass      *loop.Pass

	recipe  *recipe.Recipe          // by observe
	states  map[string]source.State // by observe, by alias
	digest  string                  // by observe, of the states
	sources map[string]build.Source // by fetch, by alias
	draft   *draft.Draft            // by build; authorise and publish withhold from it
	alone   []object.Key            // by authorise and release: not to be touched
	denied  []build.Failure         // by release
	blocked *fail.Error             // by authorise: why nothing is pruned
	outcome *publish.Outcome        // by publish
}

// uid is the generator's; it is the owner of what the generator makes.
func (r *run) uid() types.UID { return r.generator.UID }
