// Package draft decides what is to become of a generator's artifacts and
// namespaces: which are brought to the cluster, which stay as they are and which
// go, and what its inventory says before, while and after that is done. It is
// pure.
package draft

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/weir-dev/weir/api/source/v1beta1"
	"github.com/weir-dev/weir/internal/build"
	"github.com/weir-dev/weir/internal/controller/external"
	"github.com/weir-dev/weir/internal/controller/space"
	"github.com/weir-dev/weir/internal/fail"
	"github.com/weir-dev/weir/internal/tally"
	"github.com/weir-dev/weir/pkg/reconciler/object"
)

// Draft is what is to become of the artifacts and namespaces of a generator.
type Draft struct {
	// Publish are built and to be published.
	Publish []build.Artifact
	// Manage are the namespaces to bring to their metadata, which has the labels
	// of the generator.
	Manage []build.Namespace
	// Keep are those of the inventory that could not be built or may not be
	// touched: they stay as they are.
	Keep []v1beta1.InventoryEntry
	// Prune are those of the inventory that nothing names any more.
	Prune []v1beta1.InventoryEntry
	// Failures are why what is kept is kept, and what else went wrong.
	Failures []build.Failure

	before []v1beta1.InventoryEntry
	had    map[object.Key]v1beta1.InventoryEntry // before, by key
}

// Of compares the inventory with what was built. A namespace goes only when all
// that may belong into it is known: not while something of it is kept, nor
// while anything failed of which the namespace is not known.
func Of(inventory []v1beta1.InventoryEntry, result *build.Result) *Draft {
	d := &Draft{
		Publish: result.Artifacts, Manage: result.Namespaces, Failures: slices.Clip(result.Failures),
		before: inventory, had: make(map[object.Key]v1beta1.InventoryEntry, len(inventory)),
	}
	wanted := d.wanted()
	failed := make(map[object.Key]bool, len(result.Failures))
	concerned := map[string]bool{} // namespaces
	all := false
	for _, f := range result.Failures {
		failed[failedKey(f)] = true
		concerned[f.Namespace] = true
		all = all || f.Namespace == ""
	}
	for _, e := range inventory {
		k := KeyOf(e)
		d.had[k] = e
		switch {
		case wanted[k]:
		case !e.IsArtifact():
			if all || concerned[e.Name] {
				d.Keep = append(d.Keep, e)
			} else {
				d.Prune = append(d.Prune, e)
			}
		case failed[k], failed[space.KeyOf(e.Namespace)]:
			d.Keep = append(d.Keep, e)
		default:
			d.Prune = append(d.Prune, e)
		}
	}
	return d
}

// wanted returns the keys of what is published and managed.
func (d *Draft) wanted() map[object.Key]bool {
	out := make(map[object.Key]bool, len(d.Publish)+len(d.Manage))
	for _, a := range d.Publish {
		out[Key(a)] = true
	}
	for _, n := range d.Manage {
		out[space.KeyOf(n.Name)] = true
	}
	return out
}

// failedKey returns the key of what a failure is about.
func failedKey(f build.Failure) object.Key {
	if f.Name == "" {
		return space.KeyOf(f.Namespace)
	}
	return external.KeyOf(f.Namespace, f.Name)
}

// Withhold takes those objects out of the draft for which why returns an error.
// They stay as they were, and the error is their failure.
func (d *Draft) Withhold(why func(object.Key) *fail.Error) {
	withheld := func(k object.Key) bool {
		err := why(k)
		if err == nil {
			return false
		}
		d.Failures = append(d.Failures, Failure(k, err))
		if e, ok := d.had[k]; ok {
			d.Keep = append(d.Keep, e)
		}
		return true
	}
	d.Manage = without(d.Manage, func(n build.Namespace) bool { return withheld(space.KeyOf(n.Name)) })
	d.Publish = without(d.Publish, func(a build.Artifact) bool { return withheld(Key(a)) })
	d.Prune = without(d.Prune, func(e v1beta1.InventoryEntry) bool { return withheld(KeyOf(e)) })
}

// Hold keeps what would be pruned.
func (d *Draft) Hold() {
	d.Keep = append(d.Keep, d.Prune...)
	d.Prune = nil
}

// without returns a list without some of it, and leaves the list alone.
func without[T any](list []T, drop func(T) bool) []T {
	var rest []T
	for _, v := range list {
		if !drop(v) {
			rest = append(rest, v)
		}
	}
	return rest
}

// Failure returns the failure of an object.
func Failure(k object.Key, err *fail.Error) build.Failure {
	if k.IsNamespace() {
		return build.OfNamespace(k.Name, err)
	}
	return build.Failure{Subject: nameOf(k), Namespace: k.Namespace, Name: k.Name, Err: err}
}

// Fail notes what could not be done, by object: those of the draft stay as they
// were, and others, which only their marks make the generator's, are there
// still.
func (d *Draft) Fail(failed map[object.Key]*fail.Error) {
	rest := maps.Clone(failed)
	d.Withhold(func(k object.Key) *fail.Error {
		delete(rest, k)
		return failed[k]
	})
	for _, k := range slices.SortedFunc(maps.Keys(rest), object.Key.Compare) {
		d.Failures = append(d.Failures, Failure(k, rest[k]))
	}
}

// Guard refuses to prune everything after a change of the spec: a slip in a
// path pattern must not delete what runs.
func (d *Draft) Guard(pattern string) error {
	if len(d.Publish)+len(d.Keep)+len(d.Failures) > 0 || len(d.Prune) == 0 {
		return nil
	}
	return fail.Stalled(v1beta1.ReasonBuildFailed,
		"pathPattern %q matches no directory since the spec changed, and %s would be deleted; annotate the generator with %s: %s if that is meant",
		pattern, Told(keysOf(d.Prune)), v1beta1.AnnotationPrune, v1beta1.ValueForce)
}

// Told counts and names objects for people.
func Told(keys []object.Key) string {
	var artifacts, namespaces []object.Key
	for _, k := range keys {
		if k.IsNamespace() {
			namespaces = append(namespaces, k)
		} else {
			artifacts = append(artifacts, k)
		}
	}
	var texts []string
	count := func(kind string, list []object.Key) {
		if len(list) > 0 {
			texts = append(texts, tally.Of(len(list), kind, func(i int) string { return nameOf(list[i]) }))
		}
	}
	count("artifact", artifacts)
	count("namespace", namespaces)
	return strings.Join(texts, " and ")
}

// maxRecord is how many bytes of inventory a generator may have. Beyond a
// mebibyte and a half an API server takes no object, and the rest of the object
// needs room too.
const maxRecord = 1280 << 10

// Fits refuses a draft that cannot be put on record: what is not on record is
// not published, or nobody would remove it in the end.
func (d *Draft) Fits() error {
	size := 0
	all := d.Ahead()
	for _, e := range all {
		size += len(`{"kind":"","namespace":"","name":"","digest":"","filename":""},`) +
			len(e.Kind) + len(e.Namespace) + len(e.Name) + len(e.Digest) + len(e.Filename)
	}
	if size <= maxRecord {
		return nil
	}
	return fail.Stalled(v1beta1.ReasonBuildFailed,
		"%d artifacts need %d bytes of inventory, and a generator can have %d: divide them among several generators", len(all), size, maxRecord)
}

// Changes reports whether the draft changes what the inventory says, so that
// [Draft.Ahead] has to be recorded before it is done. What is leaving already
// was recorded.
func (d *Draft) Changes(leaving map[object.Key]bool) bool {
	goes := func(e v1beta1.InventoryEntry) bool { return !leaving[KeyOf(e)] }
	return slices.ContainsFunc(d.Prune, goes) || slices.ContainsFunc(d.news(), func(e v1beta1.InventoryEntry) bool {
		return d.had[KeyOf(e)].Digest != e.Digest
	})
}

// news returns the entries of what is published and managed.
func (d *Draft) news() []v1beta1.InventoryEntry {
	out := make([]v1beta1.InventoryEntry, 0, len(d.Publish)+len(d.Manage))
	for _, a := range d.Publish {
		out = append(out, Entry(a))
	}
	for _, n := range d.Manage {
		out = append(out, spaceEntry(n))
	}
	return out
}

// Ahead returns the inventory with what is new.
func (d *Draft) Ahead() []v1beta1.InventoryEntry {
	out := slices.Clone(d.before)
	for _, e := range d.news() {
		if _, ok := d.had[KeyOf(e)]; !ok {
			out = append(out, e)
		}
	}
	return out
}

// After returns the inventory at the end, sorted: what was brought to what is
// wanted, by key; what stays; and what is still there, be it that it could not
// be brought there or that it could not be removed.
func (d *Draft) After(done map[object.Key]string, left map[object.Key]bool) []v1beta1.InventoryEntry {
	out := slices.Clone(d.Keep)
	wanted := d.wanted()
	for _, now := range d.news() {
		k := KeyOf(now)
		was, had := d.had[k]
		_, ok := done[k]
		switch {
		case ok, !had && left[k]:
			out = append(out, now)
		case had:
			out = append(out, was)
		}
	}
	for _, e := range d.Prune {
		if k := KeyOf(e); !wanted[k] && left[k] {
			out = append(out, e)
		}
	}
	slices.SortFunc(out, func(a, b v1beta1.InventoryEntry) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return out
}

// Err returns all failures as one error, nil when there are none.
func (d *Draft) Err() error {
	r := build.Result{Failures: d.Failures, Artifacts: d.Publish}
	return r.Err()
}

func nameOf(k object.Key) string {
	if k.Namespace == "" {
		return k.Name
	}
	return strings.Join([]string{k.Namespace, k.Name}, "/")
}

func keysOf(entries []v1beta1.InventoryEntry) []object.Key {
	out := make([]object.Key, len(entries))
	for i, e := range entries {
		out[i] = KeyOf(e)
	}
	return out
}

// Key returns the key of the object that stands for an artifact.
func Key(a build.Artifact) object.Key { return external.KeyOf(a.Namespace, a.Name) }
