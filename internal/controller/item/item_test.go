package item_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/weir-dev/weir/api/capsule/v1beta2"
	"github.com/weir-dev/weir/internal/controller/item"
	"github.com/weir-dev/weir/internal/replicate"
	"github.com/weir-dev/weir/internal/target"
	"github.com/weir-dev/weir/internal/tenant"
	"github.com/weir-dev/weir/pkg/reconciler/fault"
	"github.com/weir-dev/weir/pkg/reconciler/inventory"
	"github.com/weir-dev/weir/pkg/reconciler/object"
	"github.com/weir-dev/weir/pkg/reconciler/plan"
)

var (
	key    = object.Key{Kind: "ConfigMap", Namespace: "solar-a", Name: "c"}
	at     = metav1.NewTime(time.Date(2026, 8, 31, 10, 2, 13, 0, time.UTC))
	now    = v1beta2.Reconciled{Creation: v1beta2.CreationOwner, Protect: true, Deletion: v1beta2.DeletionRemove}
	before = v1beta2.Reconciled{Creation: v1beta2.CreationMerge, Deletion: v1beta2.DeletionOrphan}
	where  = target.Destination{Tenant: &tenant.Tenant{Name: "solar"}, Namespace: &tenant.Namespace{Name: "solar-a"}}
)

func wanted() replicate.Target {
	u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap"}}
	return replicate.Target{Key: key, Manifest: u, Policy: now, Tenant: "solar", Origin: "0/raw-0", Blocks: []int{0}, Destination: where}
}

func written() inventory.Item {
	t := wanted()
	return inventory.Item{Key: key, Version: "v1", UID: "1", State: inventory.Ready, Created: true, At: at, Payload: t.Payload()}
}

func intended() inventory.Item {
	it := written()
	it.UID, it.State, it.Created, it.At = "", inventory.Intended, false, metav1.Time{}
	return it
}

func outcome(v plan.Verb, err error, reasons ...plan.Reason) []plan.Outcome {
	return []plan.Outcome{{Action: plan.Action{Key: key, Verb: v, Reasons: reasons, Pre: plan.Precondition{UID: "1"}}, Err: err}}
}

// brief is an item in one line.
func brief(it v1beta2.ProcessedItem) string {
	s := it.Status
	applied, policy := "never", "none"
	if s.LastApply != nil {
		applied = s.LastApply.UTC().Format(time.TimeOnly)
	}
	if s.Policy != nil {
		policy = string(s.Policy.Deletion)
	}
	return fmt.Sprintf("%s %s %s/%s/%s created=%t %s %s %s: %s", it.Tenant, it.Origin, it.Kind, it.Namespace, it.Name, s.Created, applied, policy, s.Status, s.Message)
}

func TestItems(t *testing.T) {
	const id = "solar 0/raw-0 ConfigMap/solar-a/c "
	replaced := outcome(plan.Skip, nil, plan.ConditionFalse)
	replaced[0].Pre.UID = "2"
	absent := outcome(plan.Skip, nil, plan.ConditionFalse)
	absent[0].Pre = plan.Precondition{Absent: true}
	failed := &replicate.Failure{Block: 0, Destination: where, Err: errors.New("error running generator: no")}
	for name, c := range map[string]struct {
		targets  []replicate.Target
		item     *inventory.Item
		outcomes []plan.Outcome
		failures []*replicate.Failure
		before   *v1beta2.Reconciled
		want     string // empty: there is no item
		applying int
		pruning  int
	}{
		"R55 applied":                    {targets: []replicate.Target{wanted()}, item: new(written()), outcomes: outcome(plan.Create, nil), want: id + "created=true 10:02:13 Remove True: "},
		"a new policy":                   {targets: []replicate.Target{wanted()}, item: new(written()), outcomes: outcome(plan.Update, nil), before: &before, want: id + "created=true 10:02:13 Remove True: "},
		"R56 foreign":                    {targets: []replicate.Target{wanted()}, item: new(intended()), outcomes: outcome(plan.Refuse, &fault.OwnerConflict{Key: key}, plan.OwnerConflict), want: id + "created=false never none False: apply failed for item 0/raw-0: object v1/ConfigMap solar-a/c exists and cannot be adopted", applying: 1},
		"R60 conflict":                   {targets: []replicate.Target{wanted()}, item: new(written()), outcomes: outcome(plan.Update, &fault.FieldConflict{Key: key, Fields: []fault.Field{{Path: ".data.x", Managers: []string{"m"}}}}, plan.FieldConflict), before: &before, want: id + "created=true 10:02:13 Orphan False: apply failed for item 0/raw-0: applying object failed: conflict: ConfigMap solar-a/c: fields belong to other managers: .data.x of m", applying: 1},
		"R70 keeps what worked":          {targets: []replicate.Target{wanted()}, item: new(written()), outcomes: outcome(plan.Update, errors.New("denied")), before: &before, want: id + "created=true 10:02:13 Orphan False: apply failed for item 0/raw-0: applying object failed: denied", applying: 1},
		"R70a content landed":            {targets: []replicate.Target{wanted()}, item: new(written()), outcomes: outcome(plan.Update, errors.New("denied")), want: id + "created=true 10:02:13 Remove False: apply failed for item 0/raw-0: applying object failed: denied", applying: 1},
		"R102 skipped":                   {targets: []replicate.Target{wanted()}, item: new(written()), outcomes: outcome(plan.Skip, nil, plan.ConditionFalse), before: &before, want: id + "created=true 10:02:13 Remove True: ConditionNotMet: apply skipped"},
		"R105 restamped":                 {targets: []replicate.Target{wanted()}, item: new(written()), outcomes: outcome(plan.Restamp, nil, plan.ConditionFalse, plan.MarkChanged), want: id + "created=true 10:02:13 Remove True: ConditionNotMet: apply skipped"},
		"R99 skipped, never ours":        {targets: []replicate.Target{wanted()}, item: new(intended()), outcomes: outcome(plan.Skip, nil, plan.ConditionFalse), want: id + "created=false never none True: ConditionNotMet: apply skipped"},
		"Q30 skipped, replaced":          {targets: []replicate.Target{wanted()}, item: new(written()), outcomes: replaced, before: &before, want: id + "created=false never none True: ConditionNotMet: apply skipped"},
		"skipped, gone":                  {targets: []replicate.Target{wanted()}, item: new(written()), outcomes: absent, before: &before, want: id + "created=false never none True: ConditionNotMet: apply skipped"},
		"R103 cannot be judged":          {targets: []replicate.Target{wanted()}, item: new(written()), outcomes: outcome(plan.Refuse, errors.New("ConditionEvaluationFailed"), plan.GateFailed), before: &before, want: id + "created=true 10:02:13 Orphan False: apply failed for item 0/raw-0: ConditionEvaluationFailed", applying: 1},
		"being deleted":                  {targets: []replicate.Target{wanted()}, item: new(written()), outcomes: outcome(plan.Wait, nil, plan.Terminating), want: id + "created=true 10:02:13 none False: apply failed for item 0/raw-0: waiting: Terminating", applying: 1},
		"R95 pruning fails":              {item: new(written()), outcomes: outcome(plan.Delete, errors.New("forbidden")), before: &before, want: id + "created=true 10:02:13 Orphan False: pruning failed for item: forbidden", pruning: 1},
		"orphaning fails":                {item: new(written()), outcomes: outcome(plan.Release, errors.New("forbidden")), want: id + "created=true 10:02:13 none False: orphaning failed for item: forbidden", pruning: 1},
		"disowning fails":                {item: new(written()), outcomes: outcome(plan.Leave, errors.New("forbidden")), want: id + "created=true 10:02:13 none False: disowning failed for item: forbidden", pruning: 1},
		"leaving":                        {item: new(written()), outcomes: outcome(plan.Wait, nil, plan.SetDeleted, plan.Terminating), want: id + "created=true 10:02:13 none Unknown: waiting until the object is gone: SetDeleted, Terminating"},
		"gone":                           {outcomes: outcome(plan.Delete, nil)},
		"R50 held":                       {item: new(written()), failures: []*replicate.Failure{failed}, before: &before, want: id + "created=true 10:02:13 Orphan False: apply failed for item 0/raw-0: namespace solar-a: error running generator: no"},
		"a target that cannot be placed": {failures: []*replicate.Failure{new(wanted()).Fail(errors.New("no such kind"))}, want: id + "created=false never none False: apply failed for item 0/raw-0: no such kind", applying: 1},
		"one that could be before":       {item: new(written()), failures: []*replicate.Failure{new(wanted()).Fail(errors.New("no such kind"))}, before: &before, want: id + "created=true 10:02:13 Orphan False: apply failed for item 0/raw-0: no such kind", applying: 1},
	} {
		t.Run(name, func(t *testing.T) {
			p := item.Pass{Targets: c.targets, Outcomes: c.outcomes, Failures: c.failures}
			if c.item != nil {
				p.Inventory = inventory.New("", []inventory.Item{*c.item})
			}
			if c.before != nil {
				p.Before = []v1beta2.ProcessedItem{{Kind: key.Kind, Namespace: key.Namespace, Name: key.Name, Status: v1beta2.ItemStatus{Policy: c.before}}}
			}
			r := item.Of(p)
			var got []string
			for _, it := range r.Items {
				got = append(got, brief(it))
			}
			if strings.Join(got, "\n") != c.want || len(r.Applying) != c.applying || len(r.Pruning) != c.pruning {
				t.Errorf("got  %q\nwant %q\napplying %v, pruning %v", got, c.want, r.Applying, r.Pruning)
			}
		})
	}
}

// Q20: items are in an order of their own, and long messages are cut.
func TestOrder(t *testing.T) {
	var p item.Pass
	for _, name := range []string{"b", "a"} {
		for _, te := range []string{"wind", "solar"} {
			f := new(wanted()).Fail(errors.New(strings.Repeat("ä", 10_000)))
			f.Key.Name, f.Destination.Tenant = name, &tenant.Tenant{Name: te}
			f.Key.Namespace = te
			p.Failures = append(p.Failures, f)
		}
	}
	r := item.Of(p)
	var got []string
	for _, it := range r.Items {
		got = append(got, it.Tenant+"/"+it.Name)
		if len(it.Status.Message) > 4<<10 {
			t.Errorf("a message of %d bytes", len(it.Status.Message))
		}
	}
	if fmt.Sprint(got) != "[solar/a solar/b wind/a wind/b]" {
		t.Errorf("items %v", got)
	}
}
