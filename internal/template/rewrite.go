package template

import (
	"fmt"
	"maps"
	"slices"
	"text/template/parse"
)

// The functions that are put into every template: one at the end of each
// pipeline that prints, one at the beginning of each round of a loop.
const (
	printer = "weir_print"
	ticker  = "weir_tick"
)

// rewriter puts bounds into parsed templates: text/template has no way to stop
// a loop that prints nothing, and makes the text of a value as a whole before
// anybody can say that it is too long.
type rewriter struct {
	calls    map[string]bool     // functions that are called
	includes map[string][]string // names of templates, by the one that includes them
	at       *parse.Tree
}

func (r *rewriter) tree(t *parse.Tree) {
	r.at = t
	r.list(t.Root)
}

func (r *rewriter) list(l *parse.ListNode) {
	if l == nil {
		return
	}
	for _, n := range l.Nodes {
		r.node(n)
	}
}

func (r *rewriter) node(n parse.Node) {
	switch n := n.(type) {
	case *parse.ActionNode:
		r.pipe(n.Pipe)
		if len(n.Pipe.Decl) == 0 {
			n.Pipe.Cmds = append(n.Pipe.Cmds, r.call(printer, n.Pos))
		}
	case *parse.IfNode:
		r.branch(&n.BranchNode)
	case *parse.WithNode:
		r.branch(&n.BranchNode)
	case *parse.RangeNode:
		r.branch(&n.BranchNode)
		tick := &parse.PipeNode{NodeType: parse.NodePipe, Pos: n.Pos, Line: n.Line, Cmds: []*parse.CommandNode{r.call(ticker, n.Pos)}}
		action := &parse.ActionNode{NodeType: parse.NodeAction, Pos: n.Pos, Line: n.Line, Pipe: tick}
		n.List.Nodes = slices.Insert(n.List.Nodes, 0, parse.Node(action))
	case *parse.TemplateNode:
		r.pipe(n.Pipe)
		r.includes[r.at.Name] = append(r.includes[r.at.Name], n.Name)
	case *parse.ListNode:
		r.list(n)
	}
}

func (r *rewriter) branch(b *parse.BranchNode) {
	r.pipe(b.Pipe)
	r.list(b.List)
	r.list(b.ElseList)
}

// pipe notes which functions a pipeline calls.
func (r *rewriter) pipe(p *parse.PipeNode) {
	if p == nil {
		return
	}
	for _, cmd := range p.Cmds {
		for _, arg := range cmd.Args {
			r.argument(arg)
		}
	}
}

func (r *rewriter) argument(n parse.Node) {
	switch n := n.(type) {
	case *parse.IdentifierNode:
		r.calls[n.Ident] = true
	case *parse.PipeNode:
		r.pipe(n)
	case *parse.ChainNode:
		r.argument(n.Node)
	}
}

func (r *rewriter) call(name string, at parse.Pos) *parse.CommandNode {
	ident := parse.NewIdentifier(name).SetTree(r.at).SetPos(at)
	return &parse.CommandNode{NodeType: parse.NodeCommand, Pos: at, Args: []parse.Node{ident}}
}

// acyclic returns an error if a template includes itself.
func (r *rewriter) acyclic() error {
	const under, done = 1, 2
	state := map[string]int{}
	var visit func(name string) error
	visit = func(name string) error {
		switch state[name] {
		case under:
			return fmt.Errorf("template %q includes itself", name)
		case done:
			return nil
		}
		state[name] = under
		for _, next := range r.includes[name] {
			if err := visit(next); err != nil {
				return err
			}
		}
		state[name] = done
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(r.includes)) {
		if err := visit(name); err != nil {
			return err
		}
	}
	return nil
}
