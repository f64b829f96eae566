package reconciler_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/weir-dev/weir/pkg/reconciler"
	"github.com/weir-dev/weir/pkg/reconciler/fault"
	"github.com/weir-dev/weir/pkg/reconciler/object"
	"github.com/weir-dev/weir/pkg/reconciler/plan"
	"github.com/weir-dev/weir/pkg/reconciler/policy"
	"github.com/weir-dev/weir/pkg/reconciler/stamp"
)

// signer is a member of the family that signs as somebody.
type signer struct {
	*bench
	as   string
	gate *gate
	uid  types.UID
}

// signer returns a member that exists, since the garbage collector looks.
func (b *bench) signer(owner string) *signer {
	b.Helper()
	self := objects(b, configMap(owner))[0].Manifest
	self.SetNamespace(b.namespace)
	if err := b.admin.Create(b.Context(), self); err != nil {
		b.Fatal(err)
	}
	return &signer{bench: b.member(owner), as: "first", gate: &gate{open: true}, uid: self.GetUID()}
}

func (s *signer) request() reconciler.Request {
	q := s.bench.request()
	q.Signature = stamp.Signature{
		Key:    "by.weir.dev/" + s.owner,
		Value:  func(k object.Key) string { return s.as + " " + k.Name },
		Parent: &metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: s.owner, UID: s.uid},
	}
	return q
}

func (s *signer) sign(p policy.Policy, marks map[string]string) (*reconciler.Result, error) {
	s.Helper()
	q := s.request()
	q.Objects = []reconciler.Object{s.part(configMap("a", "of-"+s.owner, "1"), p, marks)}
	q.Objects[0].Gate = s.gate
	if s.gate.open {
		q.Objects[0].Gate = nil
	}
	return s.rec.Apply(s.Context(), q)
}

func (s *signer) leave() (*reconciler.Result, error) { return s.rec.Delete(s.Context(), s.request()) }

// signed checks the annotations and the owner references of the object.
func (b *bench) signed(notes string, parents ...string) {
	b.Helper()
	u := b.get("a")
	var got []string
	for _, k := range slices.Sorted(maps.Keys(u.GetAnnotations())) {
		got = append(got, k[len("by.weir.dev/"):]+":"+u.GetAnnotations()[k])
	}
	if is := fmt.Sprint(got); is != notes {
		b.Errorf("the annotations are %s, want %s", is, notes)
	}
	var have []string
	for _, r := range u.GetOwnerReferences() {
		have = append(have, r.Name)
	}
	if fmt.Sprint(have) != fmt.Sprint(parents) {
		b.Errorf("the owner references are %v, want %v", have, parents)
	}
}

// Each owner's signature stands by itself; the owner reference is there as long
// as the garbage collector would do what the owner would.
func TestSignatures(t *testing.T) {
	b := newBench(t, reconciler.ReconcilerOptions{Sharing: family(), FieldOwner: "lifecycle", Conflict: policy.Fail})
	one, two := b.signer("one"), b.signer("two")
	res, err := one.sign(policy.Policy{}, nil)
	one.want(res, err, plan.Create)
	b.signed("[one:first a]", "one")
	res, err = one.sign(policy.Policy{Delete: policy.Orphan}, nil)
	one.want(res, err, plan.Update)
	b.signed("[one:first a]")
	res, err = one.sign(policy.Policy{}, nil)
	one.want(res, err, plan.Update)
	b.signed("[one:first a]", "one")

	res, err = two.sign(policy.Policy{}, nil)
	two.want(res, err, plan.Adopt)
	res, err = one.sign(policy.Policy{}, nil)
	one.want(res, err, plan.Update)
	b.signed("[one:first a two:first a]")
	res, err = two.leave()
	two.want(res, err, plan.Leave)
	b.signed("[one:first a]")
	res, err = one.sign(policy.Policy{}, nil)
	one.want(res, err, plan.Update)
	b.signed("[one:first a]", "one")
	res, err = one.sign(policy.Policy{}, nil)
	one.want(res, err, plan.None)
	res, err = one.sign(policy.Policy{Delete: policy.Orphan}, nil)
	one.want(res, err, plan.Update)
	res, err = one.leave()
	one.want(res, err, plan.Release)
	b.signed("[]")
}

// An adopted object has no owner reference, and keeps nothing of a signature.
func TestSignatureOfAdopted(t *testing.T) {
	for _, d := range []policy.Delete{policy.DeleteAlways, policy.Orphan} {
		t.Run(string(d), func(t *testing.T) {
			b := newBench(t, reconciler.ReconcilerOptions{Sharing: family(), FieldOwner: "lifecycle", Conflict: policy.Fail})
			foreign := objects(t, configMap("a", "z", "0"))[0].Manifest
			foreign.SetNamespace(b.namespace)
			if err := b.admin.Create(t.Context(), foreign); err != nil {
				t.Fatal(err)
			}
			one := b.signer("one")
			res, err := one.sign(policy.Policy{Delete: d}, nil)
			one.want(res, err, plan.Adopt)
			b.signed("[one:first a]")
			if res, err = one.leave(); err != nil || !res.Done {
				t.Fatal(err)
			}
			b.signed("[]")
		})
	}
}

// While the gate is closed the signature is kept right without content, and
// that nobody conflicts with later.
func TestSignatureBehindGate(t *testing.T) {
	b := newBench(t, reconciler.ReconcilerOptions{Sharing: family(), FieldOwner: "lifecycle", Conflict: policy.Fail})
	one := b.signer("one")
	res, err := one.sign(policy.Policy{}, nil)
	one.want(res, err, plan.Create)
	one.gate.open = false
	for _, as := range []string{"second", "third"} {
		one.as = as
		res, err = one.sign(policy.Policy{}, nil)
		one.want(res, err, plan.Restamp)
		b.signed("[one:"+as+" a]", "one")
		res, err = one.sign(policy.Policy{}, nil)
		one.want(res, err, plan.Skip)
	}
	res, err = one.sign(policy.Policy{Delete: policy.Orphan}, nil)
	one.want(res, err, plan.Restamp)
	b.signed("[one:third a]")
	one.gate.open, one.as = true, "fourth"
	res, err = one.sign(policy.Policy{}, nil)
	one.want(res, err, plan.Update)
	b.signed("[one:fourth a]", "one")
	one.as = "fifth"
	res, err = one.sign(policy.Policy{Delete: policy.Orphan}, nil)
	one.want(res, err, plan.Update)
	res, err = one.leave()
	one.want(res, err, plan.Release)
	b.signed("[]")
}

// What is written beside the manifest counts where objects are not read because
// their version is the recorded one.
func TestSignatureOfUnchanged(t *testing.T) {
	b := newBench(t, reconciler.ReconcilerOptions{})
	b.rec = reconciler.NewReconciler(name, b.client, reconciler.ReconcilerOptions{
		Sharing: family(), FieldOwner: "lifecycle", Conflict: policy.Fail, Metadata: b.admin,
	})
	one := b.signer("one")
	on := map[string]string{protect: "true"}
	res, err := one.sign(policy.Policy{}, on)
	one.want(res, err, plan.Create)
	b.counter.take()
	res, err = one.sign(policy.Policy{}, on)
	one.want(res, err, plan.None)
	if n := b.counter.take(); len(n) > 0 {
		t.Errorf("requests of a pass without changes: %v", n)
	}
	res, err = one.sign(policy.Policy{}, nil)
	one.want(res, err, plan.Update)
	if l := b.get("a").GetLabels(); l[protect] != "" {
		t.Errorf("the mark is still there: %v", l)
	}
	one.as = "second"
	res, err = one.sign(policy.Policy{}, nil)
	one.want(res, err, plan.Update)
	b.signed("[one:second a]", "one")
	res, err = one.sign(policy.Policy{Delete: policy.Orphan}, nil)
	one.want(res, err, plan.Update)
	b.signed("[one:second a]")
}

// What strangers wrote goes before the family joins, and not afterwards.
func TestStrayAnnotations(t *testing.T) {
	f := family()
	f.Stray = func(live metav1.Object) []string {
		if live.GetLabels()["smoke.weir.dev/managed-by"] != "" {
			return nil
		}
		return []string{"by.weir.dev/mallory"}
	}
	b := newBench(t, reconciler.ReconcilerOptions{Sharing: f, FieldOwner: "lifecycle", Conflict: policy.Fail})
	foreign := objects(t, configMap("a", "z", "0"))[0].Manifest
	foreign.SetNamespace(b.namespace)
	foreign.SetAnnotations(map[string]string{"by.weir.dev/mallory": "me"})
	if err := b.admin.Create(t.Context(), foreign); err != nil {
		t.Fatal(err)
	}
	one := b.signer("one")
	res, err := one.sign(policy.Policy{}, nil)
	one.want(res, err, plan.Adopt)
	b.signed("[one:first a]")
}

// A signature is for those who share.
func TestSignatureOfOne(t *testing.T) {
	b := newBench(t, reconciler.ReconcilerOptions{})
	_, err := b.signer("one").sign(policy.Policy{}, nil)
	if _, ok := errors.AsType[*fault.Invalid](err); !ok {
		t.Errorf("error %v", err)
	}
}
