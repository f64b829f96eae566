package testcluster

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

const auditLog = "audit.log"

// auditPolicy logs every request twice: when it is received and when its
// response is complete (a watch: has started). Deletions are logged with their
// bodies because a dry run may be asked for in there, and reviews because they
// are about somebody else.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitManagedFields: true
rules:
- level: Request
  verbs: [delete, deletecollection]
- level: Request
  resources: [{group: authorization.k8s.io, resources: [subjectaccessreviews]}]
- level: Metadata
`

// killedRecord is where the log says that the API server was killed.
const (
	killedStage  = "Killed"
	killedRecord = `{"stage":"` + killedStage + `"}` + "\n"
)

// Audit is what the API server was asked since a moment in time. Its methods
// may be called concurrently.
type Audit struct {
	path  string
	start int64 // offset into the log
}

// Audit returns the audit of the requests that arrive from now on.
func (c *Cluster) Audit(t testing.TB) *Audit {
	t.Helper()
	a := &Audit{path: c.dir.path(auditLog)}
	info, err := os.Stat(a.path)
	if err != nil {
		t.Fatalf("reading the audit log: %v", err)
	}
	a.start = info.Size()
	return a
}

// Event is one request to the API server.
type Event struct {
	Verb  string // of RBAC: get, list, watch, create, update, patch, delete, deletecollection
	User  string // who authenticated
	As    string // whom User impersonates; empty: nobody
	Agent string // the client's user agent
	// What it is about; a request for something else than a resource has only
	// the URI, which includes the query.
	Group, Resource, Subresource, Namespace, Name, URI string
	// Review is what a SubjectAccessReview asked, nil for other requests.
	Review *Review
	// DryRun is true when nothing was to be stored.
	DryRun bool
	// Code is the status of the response.
	Code int
}

// Review is a question whether somebody may do something.
type Review struct {
	User                                                string
	Groups                                              []string
	Verb, Group, Resource, Subresource, Namespace, Name string
}

// Write reports whether the request could have changed something that lasts,
// whatever became of it. Dry runs are no writes; nor are reviews and requests
// for tokens, which nobody keeps, nor events and leases, which are no
// configuration.
func (e Event) Write() bool {
	if !slices.Contains([]string{"create", "update", "patch", "delete", "deletecollection"}, e.Verb) {
		return false
	}
	if e.DryRun || e.Subresource == "token" {
		return false
	}
	switch e.Group {
	case "authentication.k8s.io", "authorization.k8s.io", "coordination.k8s.io", "events.k8s.io":
		return false
	}
	return e.Resource != "events"
}

// Query says which events are wanted; the zero value wants all.
type Query struct {
	// User authenticated or is impersonated.
	User string
	// Agent is what the client's user agent starts with.
	Agent string
	Verb  string
	// Namespace of the object, which for a namespace is its own name.
	Namespace string
	// Writes wants only events for which [Event.Write] is true.
	Writes bool
}

func (q Query) match(e Event) bool {
	return (q.User == "" || q.User == e.User || q.User == e.As) &&
		strings.HasPrefix(e.Agent, q.Agent) &&
		(q.Verb == "" || q.Verb == e.Verb) &&
		(q.Namespace == "" || q.Namespace == e.Namespace) &&
		(!q.Writes || e.Write())
}

// Events returns the requests in the order of their arrival. Every request
// whose response was seen before the call is among them: a request that has
// arrived and is not answered yet is waited for, unless it is a watch.
func (a *Audit) Events(t testing.TB, q Query) []Event {
	t.Helper()
	first, err := a.read()
	if err != nil {
		t.Fatalf("reading the audit log: %v", err)
	}
	now := first
	for deadline := time.Now().Add(10 * time.Second); !now.answered(first.order); {
		if time.Now().After(deadline) {
			t.Fatal("reading the audit log: a request has not been answered for ten seconds")
		}
		time.Sleep(5 * time.Millisecond) // only the file can tell
		if now, err = a.read(); err != nil {
			t.Fatalf("reading the audit log: %v", err)
		}
	}
	var events []Event
	for _, id := range first.order {
		if e := now.requests[id].event(); q.match(e) {
			events = append(events, e)
		}
	}
	return events
}

// transcript is a part of the log.
type transcript struct {
	order    []string          // audit ids of requests as received
	requests map[string]record // last record by audit id
}

// answered reports whether the requests have been answered.
func (s transcript) answered(ids []string) bool {
	return !slices.ContainsFunc(ids, func(id string) bool {
		r := s.requests[id]
		return r.Stage == "RequestReceived" && r.Verb != "watch"
	})
}

// abandon takes the requests for answered that are not.
func (s transcript) abandon() {
	for id, r := range s.requests {
		if r.Stage == "RequestReceived" {
			r.Stage = killedStage
			s.requests[id] = r
		}
	}
}

// read reads the log from the start of the audit up to its last whole line.
func (a *Audit) read() (transcript, error) {
	s := transcript{requests: map[string]record{}}
	file, err := os.Open(a.path)
	if err != nil {
		return s, err
	}
	defer file.Close()
	lines := bufio.NewReader(io.NewSectionReader(file, max(0, a.start-1), 1<<62))
	for skip := a.start > 0; ; skip = false { // the audit may start in the middle of a line
		line, err := lines.ReadBytes('\n')
		if err == io.EOF {
			return s, nil
		}
		if err != nil {
			return s, err
		}
		if skip {
			continue
		}
		var r record
		if err := json.Unmarshal(bytes.TrimSpace(line), &r); err != nil {
			return s, fmt.Errorf("line %q: %w", line, err)
		}
		if r.Stage == killedStage {
			s.abandon()
			continue
		}
		_, known := s.requests[r.AuditID]
		if r.Stage == "RequestReceived" {
			s.order = append(s.order, r.AuditID)
		} else if !known {
			continue // it arrived before the audit
		}
		s.requests[r.AuditID] = r
	}
}

// record is the part of an audit.k8s.io/v1 Event that is used here.
type record struct {
	AuditID, Stage, RequestURI, Verb, UserAgent string

	User             struct{ Username string }
	ImpersonatedUser struct{ Username string }
	ObjectRef        struct{ APIGroup, Resource, Subresource, Namespace, Name string }
	ResponseStatus   struct{ Code int }
	RequestObject    struct {
		DryRun []string // of a deletion
		Spec   struct { // of a review
			User               string
			Groups             []string
			ResourceAttributes struct{ Verb, Group, Resource, Subresource, Namespace, Name string }
		}
	}
}

func (r record) event() Event {
	e := Event{
		Verb: r.Verb, User: r.User.Username, As: r.ImpersonatedUser.Username, Agent: r.UserAgent,
		Group: r.ObjectRef.APIGroup, Resource: r.ObjectRef.Resource, Subresource: r.ObjectRef.Subresource,
		Namespace: r.ObjectRef.Namespace, Name: r.ObjectRef.Name, URI: r.RequestURI,
		DryRun: len(r.RequestObject.DryRun) > 0 || strings.Contains(r.RequestURI, "dryRun=All"),
		Code:   r.ResponseStatus.Code,
	}
	if s := r.RequestObject.Spec; s.User != "" {
		a := s.ResourceAttributes
		e.Review = &Review{s.User, s.Groups, a.Verb, a.Group, a.Resource, a.Subresource, a.Namespace, a.Name}
	}
	return e
}
