package replication

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-dev/weir/api/capsule/v1beta2"
	"github.com/weir-dev/weir/internal/fail"
)

// maxDepth is how long a chain of dependencies is followed to find a cycle.
const maxDepth = 100

// depend fails until all replications are ready that this one depends on.
func (r *run) depend(ctx context.Context) error {
	r.status.ObservedGeneration = r.object.GetGeneration()
	if _, err := r.spec.Period(); err != nil {
		return fail.Stalled(v1beta2.ReasonValidationFailed, "%w", err)
	}
	for _, d := range r.spec.DependsOn {
		other, err := r.other(ctx, d.Name)
		switch {
		case apierrors.IsNotFound(err):
			return r.waits("dependency %s not found", d.Name)
		case err != nil:
			return fmt.Errorf("reading dependency %s: %w", d.Name, err)
		}
		if cycle, err := r.cycle(ctx, d.Name, []string{r.object.GetName()}); err != nil {
			return err
		} else if cycle != nil {
			return r.waits("dependencies form a cycle: %s", strings.Join(cycle, " → "))
		}
		ready := meta.FindStatusCondition(other.status.Conditions, v1beta2.ConditionReady)
		if ready == nil || ready.Status != "True" || ready.ObservedGeneration != other.object.GetGeneration() {
			return r.waits("dependency %s not ready", d.Name)
		}
	}
	return nil
}

func (r *run) waits(format string, args ...any) error {
	return &fail.Error{Reason: v1beta2.ReasonDependencyNotReady, Class: fail.Wait, Err: fmt.Errorf(format, args...)}
}

// other reads another replication of the same kind and namespace.
func (r *run) other(ctx context.Context, name string) (subject, error) {
	s := r.kind()
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: r.object.GetNamespace(), Name: name}, s.object)
	return s, err
}

// cycle returns the names along which a dependency leads back to this
// replication, nil if none does. The path is how it came to name.
func (r *run) cycle(ctx context.Context, name string, path []string) ([]string, error) {
	path = append(path, name)
	if name == r.object.GetName() {
		return path, nil
	}
	if len(path) > maxDepth {
		return nil, nil
	}
	for _, seen := range path[:len(path)-1] {
		if seen == name {
			return nil, nil // a cycle of others, who will say so
		}
	}
	next, err := r.other(ctx, name)
	if err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	for _, d := range next.spec.DependsOn {
		if found, err := r.cycle(ctx, d.Name, path); found != nil || err != nil {
			return found, err
		}
	}
	return nil, nil
}
