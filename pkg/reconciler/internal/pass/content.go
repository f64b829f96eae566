package pass

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/weir-dev/weir/pkg/reconciler/internal/live"
	"github.com/weir-dev/weir/pkg/reconciler/inventory"
	"github.com/weir-dev/weir/pkg/reconciler/object"
	"github.com/weir-dev/weir/pkg/reconciler/plan"
	"github.com/weir-dev/weir/pkg/reconciler/policy"
)

// inside reports whether an object of that key would go with the container.
func inside(container *inventory.Item, k object.Key) bool {
	switch {
	case container.Key == k:
		return false
	case container.IsNamespace():
		return k.Namespace == container.Name
	}
	return slices.ContainsFunc(container.Types, func(t policy.Type) bool { return t.Matches(k.GroupKind()) })
}

// content counts what is inside a container.
func (p *pass) content(ctx context.Context, l leaver) (plan.Content, error) {
	if !l.IsNamespace() && !l.DefinesTypes() {
		return plan.Content{}, nil
	}
	c := plan.Content{Kept: p.kept[l.Key]}
	for k, it := range p.items {
		switch {
		case !inside(&l.Item, k) || it.State == inventory.Purged:
		case p.wanted[k]:
			c.Count++
			c.Name = k.String()
		default:
			c.Pending = true
		}
	}
	if c.Count > 0 || c.Pending || c.Kept {
		c.Pending = c.Pending && c.Count == 0
		return c, nil
	}
	n, err := p.foreign(ctx, l)
	return plan.Content{Count: n.N, Name: n.Name}, err
}

// foreign counts the objects of others inside a container.
func (p *pass) foreign(ctx context.Context, l leaver) (live.Count, error) {
	switch {
	case l.GroupKind() == object.CRD && len(l.Types) > 0:
		gk := schema.GroupKind{Group: l.Types[0].Group, Kind: l.Types[0].Kind}
		return live.Instances(ctx, p.Client, gk, labels.Everything())
	case l.IsNamespace() && !p.Full:
		kinds, err := live.Kinds(ctx, p.Client)
		if err != nil {
			return live.Count{}, err
		}
		return live.Inside(ctx, p.Client, l.Name, kinds)
	}
	return live.Count{}, nil
}
