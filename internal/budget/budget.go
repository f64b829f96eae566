// Package budget bounds how much one pass may remove. An owner that is annotated
// with a budget removes nothing in a pass that would remove more, until somebody
// approves the very set of objects. It is pure: what would be removed comes in as
// a value.
package budget

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/weir-dev/weir/api/source/v1beta1"
	"github.com/weir-dev/weir/internal/tally"
	"github.com/weir-dev/weir/pkg/reconciler/object"
)

// The annotations of an owner, of whatever kind.
const (
	// Annotation is its budget: how many objects one pass may remove, as a number
	// such as 10, or as a percentage such as 20%, rounded down: of those that are
	// wanted, or of those to be removed where these are more. It is not of those
	// that are there, for they grow by what a blocked pass makes. Without it there
	// is no bound.
	Annotation = v1beta1.AnnotationPruneBudget
	// Approval is the digest of a set of objects that may be removed although it
	// is over the budget.
	Approval = v1beta1.AnnotationApprovePrune
)

// Removal is one incarnation of an object that would be removed: deleted, or let
// go of.
type Removal struct {
	object.Key
	UID types.UID
}

// Digest returns the digest of a set of objects, whatever its order. It is empty
// for none.
func Digest(removals []Removal) string {
	if len(removals) == 0 {
		return ""
	}
	h := sha256.New()
	for _, r := range sorted(removals) {
		fmt.Fprintf(h, "%q %q %q %q %q\n", r.Group, r.Kind, r.Namespace, r.Name, r.UID)
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

func sorted(removals []Removal) []Removal {
	out := slices.Clone(removals)
	slices.SortFunc(out, func(a, b Removal) int { return a.Compare(b.Key) })
	return out
}

// IsSet reports whether an owner with these annotations has a budget, be it one
// that cannot be read.
func IsSet(annotations map[string]string) bool {
	_, ok := annotations[Annotation]
	return ok
}

// Judge returns why an owner with these annotations may not remove the objects,
// nil when it may. Wanted is how many objects it wants. The text is the same for
// the same sets.
func Judge(annotations map[string]string, removals []Removal, wanted int) error {
	if !IsSet(annotations) || len(removals) == 0 {
		return nil
	}
	text, digest := annotations[Annotation], Digest(removals)
	if annotations[Approval] == digest {
		return nil
	}
	all := sorted(removals)
	would := fmt.Sprintf("%s would be removed, and %d are wanted: nothing is removed; annotate with %s: %s if that is meant",
		tally.Of(len(all), "object", func(i int) string { return all[i].String() }), wanted, Approval, digest)
	most, err := parse(text, max(wanted, len(all)))
	switch {
	case err != nil:
		return fmt.Errorf("annotation %s: %w: %s", Annotation, err, would)
	case len(all) > most:
		return fmt.Errorf("the prune budget is %s, %s", shown(text, most), would)
	}
	return nil
}

// shown is the budget for people.
func shown(text string, most int) string {
	if strings.HasSuffix(strings.TrimSpace(text), "%") {
		return fmt.Sprintf("%s (%d)", strings.TrimSpace(text), most)
	}
	return strconv.Itoa(most)
}

// parse returns how many objects a budget allows to remove; a percentage is of
// all.
func parse(text string, all int) (int, error) {
	number, percent := strings.CutSuffix(strings.TrimSpace(text), "%")
	n, err := strconv.ParseUint(number, 10, 31)
	if err != nil || percent && n > 100 {
		return 0, fmt.Errorf("%q is neither a number such as 10 nor a percentage such as 20%%", text)
	}
	if percent {
		return all * int(n) / 100, nil
	}
	return int(n), nil
}
