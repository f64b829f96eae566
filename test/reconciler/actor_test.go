package reconciler_test

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-dev/weir/pkg/reconciler/reconcilertest"
)

// as MANAGER VERB FILE...: others write the manifests of the files.
// as MANAGER delete KIND NAME: others delete an object.
// The verbs are create, apply (by force), merge, replace and status.
func (w *world) as(c *call) error {
	manager, verb, rest := c.args[0], c.args[1], c.args[2:]
	ctx := context.Background()
	if verb == "delete" {
		k, version, err := w.key(rest[0], rest[1])
		if err != nil {
			return err
		}
		return w.admin.Delete(ctx, k.Stub(version), client.PropagationPolicy("Background"))
	}
	manifests, err := w.manifests(c, rest)
	if err != nil {
		return err
	}
	for _, u := range manifests {
		if u.GetNamespace() == "" {
			var namespaced bool
			err := retry(func() (err error) {
				namespaced, err = w.admin.IsObjectNamespaced(u)
				return err
			})
			if err != nil {
				return err
			}
			if namespaced {
				u.SetNamespace(w.namespace)
			}
		}
		if err := w.act(ctx, client.FieldOwner(manager), verb, u); err != nil {
			return err
		}
	}
	return nil
}

func (w *world) act(ctx context.Context, manager client.FieldOwner, verb string, u *unstructured.Unstructured) error {
	body, err := json.Marshal(u.Object)
	if err != nil {
		return err
	}
	merge := client.RawPatch(types.MergePatchType, body)
	switch verb {
	case "create":
		return retry(func() error { return w.admin.Create(ctx, u, manager) })
	case "apply":
		return w.admin.Apply(ctx, client.ApplyConfigurationFromUnstructured(u), manager, client.ForceOwnership)
	case "merge":
		return w.admin.Patch(ctx, u, merge, manager)
	case "status":
		return w.admin.Status().Patch(ctx, u, merge, manager)
	case "replace":
		live := u.DeepCopy()
		if err := w.admin.Get(ctx, client.ObjectKeyFromObject(u), live); err != nil {
			return err
		}
		u.SetResourceVersion(live.GetResourceVersion())
		return w.admin.Update(ctx, u, manager)
	}
	return fmt.Errorf("verb %q is unknown", verb)
}

// retry waits for a kind that was created just now.
func retry(do func() error) error {
	for deadline := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		err := do()
		if err == nil || !meta.IsNoMatchError(err) && !apierrors.IsNotFound(err) || time.Now().After(deadline) {
			return err
		}
	}
}

// before CALL as ...: once, just before the reconciler makes a call whose line
// begins like that, others act.
func (w *world) before(c *call) error {
	later := *c
	later.args = c.args[2:]
	w.mu.Lock()
	defer w.mu.Unlock()
	w.meddlers = append(w.meddlers, meddler{c.args[0], func() error { return w.as(&later) }})
	return nil
}

// calls [PREFIX]: prints the calls of the last passes.
func (w *world) printCalls(c *call) error {
	for _, line := range w.lines(c.args) {
		fmt.Fprintln(c.out, line)
	}
	return nil
}

func (w *world) lines(prefix []string, filters ...reconcilertest.Filter) (lines []string) {
	for _, call := range w.recorder.Calls(filters...) {
		if line := w.neutral(call.String()); len(prefix) == 0 || strings.HasPrefix(line, prefix[0]) {
			lines = append(lines, line)
		}
	}
	return lines
}

// reads N: the last passes read that often.
func (w *world) countReads(c *call) error { return w.count(c, reconcilertest.Reads) }

// writes N [PREFIX]: the last passes wrote that often.
func (w *world) countWrites(c *call) error { return w.count(c, reconcilertest.Writes) }

func (w *world) count(c *call, f reconcilertest.Filter) error {
	want, err := strconv.Atoi(c.args[0])
	if err != nil {
		return err
	}
	if got := w.lines(c.args[1:], f); len(got) != want {
		return fmt.Errorf("%d calls, not %d:\n%s", len(got), want, strings.Join(got, "\n"))
	}
	return nil
}

// live FILE...: the objects say at least what the manifests say.
func (w *world) live(c *call) error {
	manifests, err := w.manifests(c, c.args)
	if err != nil {
		return err
	}
	for _, want := range manifests {
		kind := want.GroupVersionKind().GroupKind().String()
		name := want.GetName()
		if want.GetNamespace() != "" {
			name = want.GetNamespace() + "/" + name
		}
		got, err := w.get(kind, name)
		if err != nil {
			return err
		}
		delete(want.Object, "apiVersion")
		if path, ok := within(want.Object, got.Object); !ok {
			text, _ := json.MarshalIndent(got.Object, "", "  ")
			return fmt.Errorf("%s %s differs at %s:\n%s", kind, name, path, text)
		}
	}
	return nil
}

// within reports whether b says all that a says, and else where it does not. A
// null in a wants that there is nothing.
func within(a, b any) (string, bool) {
	m, ok := a.(map[string]any)
	if !ok {
		return "", reflect.DeepEqual(a, b)
	}
	n, _ := b.(map[string]any)
	for k, v := range m {
		if v == nil && n[k] == nil {
			continue
		}
		if path, ok := within(v, n[k]); !ok {
			return "." + k + path, false
		}
	}
	return "", true
}

// there KIND NAME: the object exists. With ! it does not, or goes within time.
func (w *world) there(c *call) error {
	c.told = true
	for deadline := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		_, err := w.get(c.args[0], c.args[1])
		switch {
		case !c.neg:
			return err
		case apierrors.IsNotFound(err):
			return nil
		case err != nil:
			return err
		case time.Now().After(deadline):
			return fmt.Errorf("%s %s is there", c.args[0], c.args[1])
		}
	}
}

// save KIND NAME: remembers the object for same.
func (w *world) save(c *call) error {
	u, err := w.get(c.args[0], c.args[1])
	if err != nil {
		return err
	}
	k, _, err := w.key(c.args[0], c.args[1])
	w.saved[k] = u
	return err
}

// same KIND NAME [FIELD...]: the object, or only a field of it, is as it was.
func (w *world) same(c *call) error {
	u, err := w.get(c.args[0], c.args[1])
	if err != nil {
		return err
	}
	k, _, err := w.key(c.args[0], c.args[1])
	if err != nil {
		return err
	}
	was, is := any(w.saved[k].Object), any(u.Object)
	for _, field := range c.args[2:] {
		was, is = was.(map[string]any)[field], is.(map[string]any)[field]
	}
	if !reflect.DeepEqual(was, is) {
		return fmt.Errorf("%s %s was\n%v\nand is\n%v", c.args[0], c.args[1], was, is)
	}
	return nil
}
