package health

// view reads a JSON value without ever failing: what is missing or of another
// type reads as its zero value.
type view struct{ v any }

func (o view) fields() map[string]any {
	m, _ := o.v.(map[string]any)
	return m
}

func (o view) at(path ...string) view {
	for _, p := range path {
		o = view{o.fields()[p]}
	}
	return o
}

func (o view) text(path ...string) string {
	s, _ := o.at(path...).v.(string)
	return s
}

func (o view) list(path ...string) []any {
	l, _ := o.at(path...).v.([]any)
	return l
}

func (o view) flag(path ...string) bool {
	b, _ := o.at(path...).v.(bool)
	return b
}

// maybe returns a number and whether there is one.
func (o view) maybe(path ...string) (int64, bool) {
	switch n := o.at(path...).v.(type) {
	case int64:
		return n, true
	case float64:
		return int64(n), true
	}
	return 0, false
}

func (o view) number(path ...string) int64 {
	n, _ := o.maybe(path...)
	return n
}

// or returns a number, or def when there is none.
func (o view) or(def int64, path ...string) int64 {
	if n, ok := o.maybe(path...); ok {
		return n
	}
	return def
}

// condition is one of an object's conditions; its status is empty when the
// object has none of that type.
type condition struct {
	status, reason, message string
	raw                     view
}

func (o view) condition(name string) condition {
	for _, c := range o.list("status", "conditions") {
		v := view{c}
		if v.text("type") == name {
			return condition{v.text("status"), v.text("reason"), v.text("message"), v}
		}
	}
	return condition{}
}

// text returns the message, or the reason, or else what is given.
func (c condition) text(otherwise string) string {
	switch {
	case c.message != "":
		return c.message
	case c.reason != "":
		return c.reason
	}
	return otherwise
}

func (c condition) says() string {
	if t := c.text(""); t != "" {
		return ": " + t
	}
	return ""
}
