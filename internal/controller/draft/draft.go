// Package draft decides what is to become of a generator's artifacts: which are
// published, which stay as they are and which go, and what its inventory says
// before, while and after that is done. It is pure.
package draft

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/weir-dev/weir/api/source/v1beta1"
	"github.com/weir-dev/weir/internal/build"
	"github.com/weir-dev/weir/internal/controller/external"
	"github.com/weir-dev/weir/internal/fail"
	"github.com/weir-dev/weir/internal/tally"
	"github.com/weir-dev/weir/pkg/reconciler/object"
)

// Draft is what is to become of the artifacts of a generator.
type Draft struct {
	// Publish are built and to be published.
	Publish []build.Artifact
	// Keep are those of the inventory that could not be built or may not be
	// published: they stay as they are.
	Keep []v1beta1.InventoryEntry
	// Prune are those of the inventory that nothing names any more.
	Prune []v1beta1.InventoryEntry
	// Failures are why what is kept is kept, and what else went wrong.
	Failures []build.Failure

	before []v1beta1.InventoryEntry
	had    map[object.Key]v1beta1.InventoryEntry // before, by key
}

// Of compares the inventory with what was built.
func Of(inventory []v1beta1.InventoryEntry, result *build.Result) *Draft {
	d := &Draft{
		Publish: result.Artifacts, Failures: slices.Clip(result.Failures),
		before: inventory, had: make(map[object.Key]v1beta1.InventoryEntry, len(inventory)),
	}
	built := make(map[object.Key]bool, len(result.Artifacts))
	for _, a := range result.Artifacts {
		built[Key(a)] = true
	}
	failed := make(map[string]bool, len(result.Failures))
	for _, f := range result.Failures {
		failed[f.Subject] = true
	}
	for _, e := range inventory {
		k := KeyOf(e)
		d.had[k] = e
		switch {
		case !e.IsArtifact(), failed[nameOf(k)]:
			d.Keep = append(d.Keep, e)
		case !built[k]:
			d.Prune = append(d.Prune, e)
		}
	}
	return d
}

// Withhold takes those artifacts out of what is published for which why returns
// an error. They stay as they were, and the error is their failure.
func (d *Draft) Withhold(why func(build.Artifact) *fail.Error) {
	var rest []build.Artifact
	for _, a := range d.Publish {
		err := why(a)
		if err == nil {
			rest = append(rest, a)
			continue
		}
		k := Key(a)
		d.Failures = append(d.Failures, build.Failure{Subject: nameOf(k), Err: err})
		if e, ok := d.had[k]; ok {
			d.Keep = append(d.Keep, e)
		}
	}
	d.Publish = rest
}

// Fail notes what could not be done, by object: published artifacts stay as they
// were, and others, such as those that could not be removed, are there still.
func (d *Draft) Fail(failed map[object.Key]*fail.Error) {
	rest := maps.Clone(failed)
	d.Withhold(func(a build.Artifact) *fail.Error {
		delete(rest, Key(a))
		return failed[Key(a)]
	})
	for _, k := range slices.SortedFunc(maps.Keys(rest), object.Key.Compare) {
		d.Failures = append(d.Failures, build.Failure{Subject: nameOf(k), Err: rest[k]})
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
		pattern, tally.Of(len(d.Prune), "artifact", func(i int) string { return nameOf(KeyOf(d.Prune[i])) }),
		v1beta1.AnnotationPrune, v1beta1.ValueForce)
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
// [Draft.Ahead] has to be recorded before it is done.
func (d *Draft) Changes() bool {
	return len(d.Prune) > 0 || slices.ContainsFunc(d.Publish, func(a build.Artifact) bool {
		return d.had[Key(a)].Digest != digestOf(a)
	})
}

// Ahead returns the inventory with the artifacts that are new.
func (d *Draft) Ahead() []v1beta1.InventoryEntry {
	out := slices.Clone(d.before)
	for _, a := range d.Publish {
		if _, ok := d.had[Key(a)]; !ok {
			out = append(out, Entry(a))
		}
	}
	return out
}

// After returns the inventory at the end, sorted: what was published, by key;
// what stays; and what is still there, be it that it could not be brought to
// what is wanted or that it could not be removed.
func (d *Draft) After(published map[object.Key]string, left map[object.Key]bool) []v1beta1.InventoryEntry {
	out := slices.Clone(d.Keep)
	wanted := make(map[object.Key]bool, len(d.Publish))
	for _, a := range d.Publish {
		k := Key(a)
		wanted[k] = true
		e, had := d.had[k]
		_, done := published[k]
		switch {
		case done, !had && left[k]:
			out = append(out, Entry(a))
		case had:
			out = append(out, e)
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

// Key returns the key of the object that stands for an artifact.
func Key(a build.Artifact) object.Key { return external.KeyOf(a.Namespace, a.Name) }
