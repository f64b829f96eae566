package demo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-dev/weir/api/source/v1beta1"
)

// eye looks at a cluster.
type eye struct{ client client.Client }

func newEye(config *rest.Config) (*eye, error) {
	scheme := runtime.NewScheme()
	if err := errors.Join(v1beta1.AddToScheme(scheme), sourcev1.AddToScheme(scheme)); err != nil {
		return nil, err
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	return &eye{c}, err
}

// look returns what is there. What is not there yet has no revision.
func (e *eye) look(ctx context.Context) (picture, error) {
	var generators v1beta1.ArtifactGeneratorList
	var artifacts sourcev1.ExternalArtifactList
	kustomizations := &unstructured.UnstructuredList{}
	kustomizations.SetAPIVersion("kustomize.toolkit.fluxcd.io/v1")
	kustomizations.SetKind("KustomizationList")
	for _, list := range []client.ObjectList{&generators, &artifacts, kustomizations} {
		if err := e.client.List(ctx, list); err != nil {
			return picture{}, err
		}
	}
	var p picture
	for _, g := range generators.Items {
		seen := generator{Name: g.Namespace + "/" + g.Name, state: stateOf(g.Status.Conditions)}
		for _, s := range g.Spec.Sources {
			source, err := e.source(ctx, string(s.Kind), cmp.Or(s.Namespace, g.Namespace), s.Name)
			if err != nil {
				return picture{}, err
			}
			seen.Sources = append(seen.Sources, source)
		}
		for _, a := range artifacts.Items {
			if a.Spec.SourceRef == nil || a.Spec.SourceRef.Name != g.Name || cmp.Or(a.Spec.SourceRef.Namespace, a.Namespace) != g.Namespace {
				continue
			}
			made := artifactOf(a)
			if a.Namespace != g.Namespace {
				made.Name = a.Namespace + "/" + a.Name
			}
			for _, k := range kustomizations.Items {
				if !applies(k, a) {
					continue
				}
				applied, err := e.kustomization(ctx, k)
				if err != nil {
					return picture{}, err
				}
				made.Applied = append(made.Applied, applied)
			}
			seen.Artifacts = append(seen.Artifacts, made)
		}
		p.Generators = append(p.Generators, seen)
	}
	return p, nil
}

// source looks at a source of any kind.
func (e *eye) source(ctx context.Context, kind, namespace, name string) (source, error) {
	o := &unstructured.Unstructured{}
	o.SetAPIVersion(sourcev1.GroupVersion.String())
	o.SetKind(kind)
	if err := e.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, o); client.IgnoreNotFound(err) != nil {
		return source{}, err
	}
	revision, _, _ := unstructured.NestedString(o.Object, "status", "artifact", "revision")
	return source{Kind: kind, Name: name, Revision: revision, state: stateOf(conditions(o))}, nil
}

func artifactOf(a sourcev1.ExternalArtifact) artifact {
	seen := artifact{Name: a.Name, state: stateOf(a.Status.Conditions)}
	if made := a.Status.Artifact; made != nil {
		seen.Revision = made.Revision
		seen.Origin = made.Metadata[v1beta1.OriginRevisionKey]
		if made.Size != nil {
			seen.Size = *made.Size
		}
	}
	return seen
}

// applies reports whether the Kustomization is of the artifact.
func applies(k unstructured.Unstructured, a sourcev1.ExternalArtifact) bool {
	field := func(name string) string {
		value, _, _ := unstructured.NestedString(k.Object, "spec", "sourceRef", name)
		return value
	}
	return field("kind") == sourcev1.ExternalArtifactKind && field("name") == a.Name && cmp.Or(field("namespace"), k.GetNamespace()) == a.Namespace
}

func (e *eye) kustomization(ctx context.Context, k unstructured.Unstructured) (kustomization, error) {
	seen := kustomization{Name: k.GetName(), state: stateOf(conditions(&k))}
	seen.Revision, _, _ = unstructured.NestedString(k.Object, "status", "lastAppliedRevision")
	entries, _, _ := unstructured.NestedSlice(k.Object, "status", "inventory", "entries")
	for _, entry := range entries {
		fields, _ := entry.(map[string]any)
		id, _ := fields["id"].(string)
		version, _ := fields["v"].(string)
		part := strings.Split(id, "_") // namespace, name, group, kind
		if len(part) != 4 {
			continue
		}
		o, err := e.object(ctx, schema.GroupVersionKind{Group: part[2], Version: version, Kind: part[3]}, client.ObjectKey{Namespace: part[0], Name: part[1]})
		if err != nil {
			return kustomization{}, err
		}
		seen.Objects = append(seen.Objects, o)
	}
	slices.SortFunc(seen.Objects, func(a, b object) int { return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name)) })
	return seen, nil
}

// object looks at something that was applied.
func (e *eye) object(ctx context.Context, kind schema.GroupVersionKind, key client.ObjectKey) (object, error) {
	seen := object{Kind: kind.Kind, Name: strings.TrimPrefix(key.Namespace+"/"+key.Name, "/")}
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(kind)
	err := e.client.Get(ctx, key, o)
	if apierrors.IsNotFound(err) {
		seen.About = "not there"
		return seen, nil
	}
	if replicas, ok, _ := unstructured.NestedInt64(o.Object, "spec", "replicas"); ok {
		seen.About = fmt.Sprintf("replicas %d", replicas)
	}
	return seen, err
}

func conditions(o *unstructured.Unstructured) []metav1.Condition {
	var status struct {
		Status struct {
			Conditions []metav1.Condition `json:"conditions"`
		} `json:"status"`
	}
	// What is no list of conditions is as good as none.
	_ = runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &status)
	return status.Status.Conditions
}

func stateOf(conditions []metav1.Condition) state {
	ready := apimeta.FindStatusCondition(conditions, meta.ReadyCondition)
	if ready == nil {
		return state{Message: "not seen yet"}
	}
	message, _, _ := strings.Cut(ready.Message, "\n")
	return state{Ready: ready.Status == metav1.ConditionTrue, Message: message}
}
