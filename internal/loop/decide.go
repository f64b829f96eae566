package loop

import (
	"cmp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/weir-dev/weir/internal/fail"
)

// The words of kstatus and Flux. The API packages export the same, each for
// its kinds.
const (
	ready       = "Ready"
	reconciling = "Reconciling"
	stalled     = "Stalled"

	succeeded            = "Succeeded"
	progressing          = "Progressing"
	progressingWithRetry = "ProgressingWithRetry"
	failed               = "ReconciliationFailed"
	disabled             = "ReconciliationDisabled"
)

const (
	// maxMessage is the longest message that an API server takes, in bytes.
	maxMessage = 32 << 10
	// maxConflicts is how many passes in a row may end in a conflict before
	// it is told: it is no longer somebody who happened to write just then.
	maxConflicts = 5
	// pause is how long after a conflict the next pass begins.
	pause = 500 * time.Millisecond
)

// facts are what the end of a pass depends on, beside the error of its steps.
type facts struct {
	message     string        // for success
	interval    time.Duration // until the next pass
	deleting    bool
	interrupted bool // from outside, as by the end of the program
	conflicts   int  // that ended the passes before
}

// ending is what the end of a pass means, for the object and for the queue.
type ending struct {
	// unfinished leaves conditions and requests as they are, for the pass
	// will be made again as if it had not been.
	unfinished bool
	// conflict says that it is so because somebody else wrote.
	conflict bool

	ready   metav1.ConditionStatus
	reason  string
	message string
	retried bool
	stalled bool

	after time.Duration // zero: not by the clock
	err   error         // for the queue to back off
}

// decide is style rule 6: the class of the error decides, and nothing else.
func decide(err error, f facts) ending {
	if err == nil {
		return ending{ready: metav1.ConditionTrue, reason: succeeded, message: f.message, after: f.interval}
	}
	e := ending{ready: metav1.ConditionFalse, reason: failed, message: err.Error()}
	class, after := fail.Retry, time.Duration(0)
	if fe, ok := fail.As(err); ok {
		e.reason = cmp.Or(fe.Reason, failed)
		class, after = fe.Class, fe.After
	}
	switch {
	case f.interrupted:
		return ending{unfinished: true, err: err}
	case class == fail.Later:
		return ending{unfinished: true, after: max(after, pause)}
	case class == fail.Wait:
		e.after = cmp.Or(after, f.interval)
	case class == fail.Stall:
		e.stalled, e.after = true, after
		if f.deleting {
			// There will be no other spec.
			e.after = cmp.Or(after, f.interval)
		}
	case isConflict(err) && f.conflicts < maxConflicts:
		return ending{unfinished: true, conflict: true, after: pause}
	default:
		e.retried, e.err = true, err
	}
	return e
}

// isConflict reports whether somebody else wrote at the same time. That
// another field manager owns a field is also called a conflict, but does not
// pass by itself.
func isConflict(err error) bool {
	return apierrors.IsConflict(err) && !apierrors.HasStatusCause(err, metav1.CauseTypeFieldManagerConflict)
}

// conditions returns those of an object after the pass, from those before.
func (e ending) conditions(was []metav1.Condition, generation int64) []metav1.Condition {
	s := newSetter(was, generation, e.message)
	s.set(ready, e.ready, e.reason)
	s.when(e.retried, reconciling, progressingWithRetry)
	s.when(e.stalled, stalled, e.reason)
	return s.sorted()
}

// announce returns the conditions of an object that is being worked on. One
// that failed and is tried again stays so, unless somebody asked for it: it
// would be written twice at every try, to say the same in the end.
func announce(was []metav1.Condition, generation int64, message, working string, requested bool) []metav1.Condition {
	r := meta.FindStatusCondition(was, ready)
	again := r != nil && r.Status == metav1.ConditionFalse && r.ObservedGeneration == generation &&
		!meta.IsStatusConditionTrue(was, stalled)
	if again && !requested {
		return was
	}
	s := newSetter(was, generation, message)
	s.set(ready, metav1.ConditionUnknown, working)
	s.when(true, reconciling, progressing)
	s.when(false, stalled, "")
	return s.sorted()
}

// suspend returns the conditions of an object that is left alone. What is known
// of it from before still holds; of one that was never worked on nothing does,
// and who waits for it is told why.
func suspend(was []metav1.Condition, generation int64) []metav1.Condition {
	if meta.FindStatusCondition(was, ready) != nil {
		return was
	}
	s := newSetter(was, generation, "reconciliation is disabled")
	s.set(ready, metav1.ConditionUnknown, disabled)
	return s.sorted()
}

// isSettled reports whether the last pass over this generation came to its end
// with success.
func isSettled(is []metav1.Condition, generation int64) bool {
	r := meta.FindStatusCondition(is, ready)
	return r != nil && r.Status == metav1.ConditionTrue && r.Reason == succeeded && r.ObservedGeneration == generation &&
		!meta.IsStatusConditionTrue(is, reconciling) && !meta.IsStatusConditionTrue(is, stalled)
}

// setter changes conditions that all have the same message.
type setter struct {
	conditions []metav1.Condition
	generation int64
	message    string
}

func newSetter(was []metav1.Condition, generation int64, message string) *setter {
	return &setter{slices.Clone(was), generation, bounded(message)}
}

func (s *setter) set(kind string, status metav1.ConditionStatus, reason string) {
	meta.SetStatusCondition(&s.conditions, metav1.Condition{
		Type: kind, Status: status, Reason: reason, Message: s.message, ObservedGeneration: s.generation,
	})
}

// when sets a condition to True, or removes it.
func (s *setter) when(is bool, kind, reason string) {
	if is {
		s.set(kind, metav1.ConditionTrue, reason)
	} else {
		meta.RemoveStatusCondition(&s.conditions, kind)
	}
}

// sorted returns the conditions as Flux has them: Ready first.
func (s *setter) sorted() []metav1.Condition {
	slices.SortStableFunc(s.conditions, func(a, b metav1.Condition) int {
		switch {
		case a.Type == b.Type:
			return 0
		case a.Type == ready:
			return -1
		case b.Type == ready:
			return 1
		}
		return cmp.Compare(a.Type, b.Type)
	})
	return s.conditions
}

// bounded returns the message as an API server takes it and gives it back.
func bounded(message string) string {
	const end = "…"
	message = strings.ToValidUTF8(message, string(utf8.RuneError))
	if len(message) <= maxMessage {
		return message
	}
	cut := maxMessage - len(end)
	for !utf8.RuneStart(message[cut]) {
		cut--
	}
	return message[:cut] + end
}
