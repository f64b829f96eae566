package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-dev/weir/api/capsule/v1beta2"
	"github.com/weir-dev/weir/internal/cli/kind"
)

const (
	// page is how many objects one request lists, as kubectl's do.
	page = 500
	// fieldOwner is who changes objects, for their managedFields.
	fieldOwner = "weir-cli"
	// completionTimeout is how long a shell is made to wait.
	completionTimeout = 2 * time.Second
)

// Resource is what objects of a kind are called in the API.
type Resource = schema.GroupVersionResource

// Resources that every cluster has.
var (
	Namespaces = Resource{Version: "v1", Resource: "namespaces"}
	ConfigMaps = Resource{Version: "v1", Resource: "configmaps"}
)

// Cluster is a cluster as one user sees it.
type Cluster struct {
	// Namespace is that of the flags, else of the context, else default.
	Namespace string

	client dynamic.Interface
	config *rest.Config
}

// Objects are the objects of one resource in one namespace, or in all.
// Errors say what to do where the API server's would not.
type Objects struct {
	// Namespace is theirs, empty for all.
	Namespace string

	cluster  *Cluster
	resource Resource
	client   dynamic.ResourceInterface
}

// Objects returns the objects of a resource in a namespace, "" for all.
func (c *Cluster) Objects(r Resource, namespace string) Objects {
	return Objects{namespace, c, r, c.client.Resource(r).Namespace(namespace)}
}

// In returns the objects of the same resource in one namespace.
func (o Objects) In(namespace string) Objects { return o.cluster.Objects(o.resource, namespace) }

// Others returns the objects of another resource of the same cluster.
func (o Objects) Others(r Resource, namespace string) Objects { return o.cluster.Objects(r, namespace) }

// Selection is which objects are meant; its zero value means all.
type Selection struct {
	Labels string // a label selector
	Name   string
}

func (s Selection) options() metav1.ListOptions {
	o := metav1.ListOptions{LabelSelector: s.Labels}
	if s.Name != "" {
		o.FieldSelector = "metadata.name=" + s.Name
	}
	return o
}

// Get returns an object.
func (o Objects) Get(ctx context.Context, name string) (*unstructured.Unstructured, error) {
	got, err := o.client.Get(ctx, name, metav1.GetOptions{})
	return got, o.explain(err)
}

// List returns the selected objects, in the API server's order.
func (o Objects) List(ctx context.Context, s Selection) ([]unstructured.Unstructured, error) {
	out, _, err := o.list(ctx, s)
	return out, o.explain(err)
}

// list returns the version of the list too, and errors as they are.
func (o Objects) list(ctx context.Context, s Selection) ([]unstructured.Unstructured, string, error) {
	var out []unstructured.Unstructured
	options := s.options()
	options.Limit = page
	for {
		list, err := o.client.List(ctx, options)
		if apierrors.IsResourceExpired(err) && options.Continue != "" {
			// The pages are too old to go on with: all in one, then.
			out, options.Limit, options.Continue = nil, 0, ""
			continue
		}
		if err != nil {
			return nil, "", err
		}
		out = append(out, list.Items...)
		if options.Continue = list.GetContinue(); options.Continue == "" {
			return out, list.GetResourceVersion(), nil
		}
	}
}

// Change makes a change to an object and returns the object as it is then.
// Nothing else of it is touched.
func (o Objects) Change(ctx context.Context, name string, c kind.Change) (*unstructured.Unstructured, error) {
	object := map[string]any{}
	if len(c.Annotations) > 0 {
		object["metadata"] = map[string]any{"annotations": c.Annotations}
	}
	if len(c.Spec) > 0 {
		object["spec"] = c.Spec
	}
	patch, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	var got *unstructured.Unstructured
	err = retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		got, err = o.client.Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: fieldOwner})
		return err
	})
	return got, o.explain(err)
}

// explain puts into words what an error of the API server means here.
func (o Objects) explain(err error) error {
	if apierrors.IsNotFound(err) && apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse) {
		// It is not the object that was not found.
		return o.cluster.uninstalled(o.resource.GroupResource().String() + "/" + o.resource.Version)
	}
	return o.cluster.Explain(err)
}

// Explain puts into words what an error of the API server means here.
func (c *Cluster) Explain(err error) error {
	var kind *meta.NoKindMatchError
	switch u, ok := errors.AsType[*url.Error](err); {
	case ok:
		return fmt.Errorf("the API server %s cannot be reached: %w", c.config.Host, u.Err)
	case apierrors.IsUnauthorized(err):
		return fmt.Errorf("the API server %s does not accept the credentials: %w", c.config.Host, err)
	case errors.As(err, &kind) && slices.Contains(kind.SearchedVersions, v1beta2.GroupVersion.Version) && kind.GroupKind.Group == v1beta2.GroupVersion.Group:
		return c.uninstalled(kind.GroupKind.String())
	}
	return err
}

func (c *Cluster) uninstalled(what string) error {
	return fmt.Errorf("the API server %s has no %s: its CRD is not installed; install Weir there (kubectl apply --server-side -k config/default), or choose another cluster with --context",
		c.config.Host, what)
}

// Client returns a client that reads any object from the API server, as the same
// user. It asks for discovery.
func (c *Cluster) Client(scheme *runtime.Scheme) (client.Client, error) {
	made, err := client.New(c.config, client.Options{Scheme: scheme})
	return made, c.Explain(err)
}
