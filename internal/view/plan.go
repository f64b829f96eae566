package view

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"sigs.k8s.io/yaml"
)

// Action is what a pass would do with an object.
type Action string

// The actions, in the order in which they are counted.
const (
	Create    Action = "create"    // make it
	Update    Action = "update"    // write it again
	Adopt     Action = "adopt"     // manage it from now on
	Conflict  Action = "conflict"  // it belongs to others, and is left alone
	Fail      Action = "fail"      // it cannot be done, or it cannot be told
	Wait      Action = "wait"      // it cannot be done yet
	Skip      Action = "skip"      // its condition is false
	Remove    Action = "remove"    // delete it
	Release   Action = "release"   // let go of it, and leave it
	Keep      Action = "keep"      // it stays because it is not known whether it is wanted
	Forget    Action = "forget"    // it is gone, or no longer ours
	Unchanged Action = "unchanged" // it is as wanted
)

var actions = []Action{Create, Update, Adopt, Conflict, Fail, Wait, Skip, Remove, Release, Keep, Forget, Unchanged}

// Plans are those of several replications. Their JSON is stable.
type Plans struct {
	Plans []*Plan `json:"plans"`
}

// Plan is what a pass over one replication would do.
type Plan struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	// New says that the replication is not in the cluster.
	New bool `json:"new,omitempty"`
	// Notes are what one should know beside.
	Notes []string `json:"notes,omitempty"`
	// Counts say how many objects each action is for; actions for none are left
	// out.
	Counts map[Action]int `json:"counts"`
	Steps  []Step         `json:"steps"`
	// Prune is about what is removed and released; nil when nothing is.
	Prune *Prune `json:"prune,omitempty"`
	// Errors are what kept parts of the plan from being made. The objects that it
	// is not about are planned all the same.
	Errors []string `json:"errors,omitempty"`
}

// Prune is what a plan takes away.
type Prune struct {
	// Digest is that of the set of objects, which an approval names.
	Digest string `json:"digest"`
	// Objects is how many they are, and Wanted how many objects are wanted.
	Objects int `json:"objects"`
	Wanted  int `json:"wanted"`
	// Blocked says why none of them is taken away; empty when they are.
	Blocked string `json:"blocked,omitempty"`
}

// Step is what would happen to one object.
type Step struct {
	Action    Action `json:"action"`
	Group     string `json:"group,omitempty"`
	Version   string `json:"version"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	Tenant    string `json:"tenant,omitempty"`
	// Origin is what renders the object, as in status.
	Origin string `json:"origin,omitempty"`
	// Reasons are codes for programs, and Why says it to people.
	Reasons []string `json:"reasons,omitempty"`
	Why     string   `json:"why,omitempty"`
}

// Add adds a step.
func (p *Plan) Add(s Step) {
	if p.Counts == nil {
		p.Counts = map[Action]int{}
	}
	p.Counts[s.Action]++
	p.Steps = append(p.Steps, s)
}

// Broken reports whether a part of the plan could not be made, or could not be
// carried out.
func (p *Plan) Broken() bool { return len(p.Errors) > 0 || p.Counts[Fail] > 0 }

// Changes reports whether anything is not as wanted.
func (p *Plan) Changes() bool {
	for _, a := range []Action{Create, Update, Adopt, Conflict, Wait, Remove, Release} {
		if p.Counts[a] > 0 {
			return true
		}
	}
	return false
}

// Print writes the plans. What stays as it is, is only counted unless all is
// set. Errors are part of JSON and YAML; beside a table they are for the caller
// to tell on another stream.
func (p *Plans) Print(w io.Writer, f Format, all bool) error {
	shown := &Plans{Plans: make([]*Plan, len(p.Plans))}
	for i, plan := range p.Plans {
		shown.Plans[i] = plan.shown(all)
	}
	var data []byte
	var err error
	switch f {
	case JSON, YAML:
		if data, err = shown.json(); err == nil && f == YAML {
			data, err = yaml.JSONToYAML(data)
		}
	default:
		data = shown.table()
	}
	if err != nil {
		return err
	}
	_, err = w.Write(data)
	return err
}

// shown returns the plan with what is to be shown of it.
func (p *Plan) shown(all bool) *Plan {
	out := *p
	out.Steps = []Step{}
	if out.Counts == nil {
		out.Counts = map[Action]int{}
	}
	for _, s := range p.Steps {
		if all || s.Action != Unchanged {
			out.Steps = append(out.Steps, s)
		}
	}
	return &out
}

func (p *Plans) json() ([]byte, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	err := enc.Encode(p)
	return out.Bytes(), err
}

func (p *Plans) table() []byte {
	var out bytes.Buffer
	for i, plan := range p.Plans {
		if i > 0 {
			fmt.Fprintln(&out)
		}
		plan.table(&out)
	}
	return out.Bytes()
}

// table writes the plan for people. Nothing fails: it is made in memory.
func (p *Plan) table(out *bytes.Buffer) {
	title := p.Kind + " " + path(p.Namespace, p.Name)
	if p.New {
		title += " (new)"
	}
	fmt.Fprintln(out, title)
	for _, n := range p.Notes {
		fmt.Fprintln(out, "note:", Line(n))
	}
	if len(p.Steps) > 0 {
		w := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
		fmt.Fprintln(w, "ACTION\tOBJECT\tREASON")
		for _, s := range p.Steps {
			fmt.Fprintf(w, "%s\t%s %s\t%s\n", s.Action, s.Kind, path(s.Namespace, s.Name), Line(s.Why))
		}
		_ = w.Flush()
	}
	fmt.Fprintln(out, p.sum())
	switch {
	case p.Prune == nil:
	case p.Prune.Blocked != "":
		fmt.Fprintln(out, "prune blocked:", Line(p.Prune.Blocked))
	default:
		fmt.Fprintf(out, "prune digest: %s (%d objects, %d are wanted)\n", p.Prune.Digest, p.Prune.Objects, p.Prune.Wanted)
	}
}

// sum counts the objects, such as "create 3 · unchanged 40".
func (p *Plan) sum() string {
	var words []string
	for _, a := range actions {
		if n := p.Counts[a]; n > 0 {
			words = append(words, fmt.Sprintf("%s %d", a, n))
		}
	}
	if len(words) == 0 {
		return "nothing to do"
	}
	return strings.Join(words, " · ")
}

// path is the name of an object, with its namespace if it has one.
func path(namespace, name string) string {
	if namespace == "" {
		return name
	}
	return namespace + "/" + name
}
