// Package health tells from an object's content whether it is ready. It knows
// the conventions of kstatus and the built-in kinds, takes hints for kinds
// that follow none, and reads nothing from a cluster.
package health

import "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

// Status is whether an object is ready.
type Status string

const (
	// Current is an object that is as it should be.
	Current Status = "Current"
	// InProgress is an object that is not there yet.
	InProgress Status = "InProgress"
	// Failed is an object that will not get there on its own.
	Failed Status = "Failed"
	// Terminating is an object that is going away.
	Terminating Status = "Terminating"
)

// Analyzer tells the health of an object. Concurrent use is safe.
type Analyzer interface {
	// Analyze returns the status and what the object says about it. Hints are
	// those of [policy.Policy].
	Analyze(obj *unstructured.Unstructured, hints []string) (Status, string)
}
