package pass

import (
	"context"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/weir-dev/weir/pkg/reconciler/internal/leave"
	"github.com/weir-dev/weir/pkg/reconciler/internal/live"
	"github.com/weir-dev/weir/pkg/reconciler/inventory"
	"github.com/weir-dev/weir/pkg/reconciler/plan"
)

// content counts what is inside a container.
func (p *pass) content(ctx context.Context, l *leave.Item) (plan.Content, error) {
	if !l.IsNamespace() && !l.DefinesTypes() {
		return plan.Content{}, nil
	}
	c := plan.Content{Kept: p.kept[l.Key]}
	for it := range p.book.All() {
		switch {
		case !l.Holds(it.Key) || it.State == inventory.Purged:
		case p.wanted[it.Key]:
			c.Count++
			c.Name = it.String()
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
func (p *pass) foreign(ctx context.Context, l *leave.Item) (live.Count, error) {
	if l.IsNamespace() {
		if p.Full {
			return live.Count{}, nil
		}
		return live.Inside(ctx, p.Client, l.Name)
	}
	var all live.Count
	for _, t := range l.Types {
		n, err := live.Typed(ctx, p.Client, t, labels.Everything())
		if err != nil {
			return all, err
		}
		all.Add(n)
	}
	return all, nil
}
