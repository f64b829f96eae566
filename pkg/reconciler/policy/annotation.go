package policy

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// The annotations that override a reconciler's defaults for one object. Each
// is prefixed with the reconciler's name and a slash.
const (
	AdoptionAnnotation    = "adoption-policy"
	ReconcileAnnotation   = "reconcile-policy"
	UpdateAnnotation      = "update-policy"
	DeleteAnnotation      = "delete-policy"
	ApplyOrderAnnotation  = "apply-order"
	DeleteOrderAnnotation = "delete-order"
	PurgeOrderAnnotation  = "purge-order"
	ReapplyAnnotation     = "reapply-interval"
	HintAnnotation        = "status-hint"
)

// fields says how each annotation is read into a policy.
var fields = map[string]func(*Policy, string) error{
	AdoptionAnnotation:    func(p *Policy, s string) error { return parse(&p.Adoption, s, adoptions) },
	ReconcileAnnotation:   func(p *Policy, s string) error { return parse(&p.Reconcile, s, reconciles) },
	UpdateAnnotation:      func(p *Policy, s string) error { return parse(&p.Update, undefault(s), updates) },
	DeleteAnnotation:      func(p *Policy, s string) error { return parse(&p.Delete, undefault(s), deletes) },
	ApplyOrderAnnotation:  func(p *Policy, s string) (err error) { p.ApplyOrder, err = order(s); return },
	DeleteOrderAnnotation: func(p *Policy, s string) (err error) { p.DeleteOrder, err = order(s); return },
	PurgeOrderAnnotation:  purge,
	ReapplyAnnotation:     reapply,
	HintAnnotation:        hints,
}

var (
	adoptions  = []Adoption{AdoptNever, AdoptIfUnowned, AdoptAlways}
	reconciles = []Reconcile{OnObjectChange, OnObjectOrComponentChange, Once}
	updates    = []Update{Replace, Recreate, SsaMerge, SsaOverride}
	deletes    = []Delete{DeleteAlways, Orphan, OrphanOnApply, OrphanOnDelete}
	namespaces = []MissingNamespaces{DoNotCreate, Create}
	conflicts  = []Conflict{Force, Fail}
	immutables = []Immutable{Refuse, RecreateObject}
)

// Read returns the policy that the annotations of a manifest ask for, where
// prefix is the reconciler's name. Values are accepted in kebab case and in
// camel case; an empty value inherits. Annotations with the prefix that are
// no policy are left to others.
func Read(prefix string, annotations map[string]string) (Policy, error) {
	var p Policy
	for key, value := range annotations {
		name, ok := strings.CutPrefix(key, prefix)
		if !ok || len(name) < 2 || name[0] != '/' {
			continue
		}
		set, ok := fields[name[1:]]
		if !ok {
			continue
		}
		if err := set(&p, value); err != nil {
			return Policy{}, fmt.Errorf("annotation %q: %w", key, err)
		}
	}
	return p, nil
}

// Check returns an error for a value that is neither empty nor known.
func (p Policy) Check() error {
	for _, err := range []error{
		known("adoption policy", p.Adoption, adoptions),
		known("reconcile policy", p.Reconcile, reconciles),
		known("update policy", p.Update, updates),
		known("delete policy", p.Delete, deletes),
		known("conflict policy", p.Conflict, conflicts),
		known("immutable policy", p.Immutable, immutables),
	} {
		if err != nil {
			return err
		}
	}
	for _, o := range []int{p.ApplyOrder, p.DeleteOrder} {
		if o < -1<<15 || o >= 1<<15 {
			return fmt.Errorf("order %d is out of range", o)
		}
	}
	if p.Reapply < 0 {
		return fmt.Errorf("reapply interval %s is negative", p.Reapply)
	}
	return hints(new(Policy), strings.Join(p.Hints, ","))
}

// Check returns an error for a value that is neither empty nor known.
func (m MissingNamespaces) Check() error {
	return known("missing-namespaces policy", m, namespaces)
}

func known[T ~string](what string, v T, all []T) error {
	if v == "" || slices.Contains(all, v) {
		return nil
	}
	return fmt.Errorf("%s %q is unknown", what, v)
}

func parse[T ~string](to *T, s string, all []T) error {
	if s == "" {
		return nil
	}
	k := kebab(s)
	for _, v := range all {
		if k == kebab(string(v)) {
			*to = v
			return nil
		}
	}
	return fmt.Errorf("value %q is unknown", s)
}

// undefault accepts a word of older manifests for the empty value.
func undefault(s string) string {
	if kebab(s) == "default" {
		return ""
	}
	return s
}

func order(s string) (int, error) {
	n, err := strconv.ParseInt(s, 10, 16)
	if err != nil {
		return 0, fmt.Errorf("value %q is not an integer from -32768 to 32767", s)
	}
	return int(n), nil
}

func purge(p *Policy, s string) error {
	n, err := order(s)
	if err != nil {
		return err
	}
	p.PurgeOrder = &n
	return nil
}

func reapply(p *Policy, s string) error {
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 {
		return fmt.Errorf("value %q is not a duration such as 30m, or is negative", s)
	}
	p.Reapply = d
	return nil
}

// Known hints; see package health for what they do.
const (
	HintObservedGeneration = "has-observed-generation"
	HintReadyCondition     = "has-ready-condition"
	HintConditions         = "conditions="
)

func hints(p *Policy, s string) error {
	for h := range strings.SplitSeq(s, ",") {
		h = strings.TrimSpace(h)
		rest, ok := strings.CutPrefix(h, HintConditions)
		switch {
		case h == "":
			continue
		case h == HintObservedGeneration, h == HintReadyCondition, ok && rest != "":
			p.Hints = append(p.Hints, h)
		default:
			return fmt.Errorf("hint %q is unknown", h)
		}
	}
	return nil
}

// kebab returns the words of s in lower case, joined by dashes. A word begins
// at an upper-case letter that follows a lower-case one or precedes one, and
// after any of space, dot, dash and underscore.
func kebab(s string) string {
	var b strings.Builder
	rs := []rune(strings.TrimSpace(s))
	for i, r := range rs {
		if strings.ContainsRune(" .-_", r) {
			dash(&b)
			continue
		}
		if unicode.IsUpper(r) && i > 0 {
			next := i+1 < len(rs) && unicode.IsLower(rs[i+1])
			if unicode.IsLower(rs[i-1]) || unicode.IsUpper(rs[i-1]) && next {
				dash(&b)
			}
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

func dash(b *strings.Builder) {
	if s := b.String(); s != "" && !strings.HasSuffix(s, "-") {
		b.WriteByte('-')
	}
}
