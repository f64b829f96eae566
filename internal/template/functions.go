package template

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"text/template"
	"time"

	"github.com/Masterminds/sprig/v3"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/weir-dev/weir/api/capsule/v1beta2"
	"github.com/weir-dev/weir/internal/template/library"
)

// forbidden are the functions of sprig that reach beyond the template.
var forbidden = []string{"env", "expandenv", "getHostByName"}

// mutating are the functions that change what they are given.
var mutating = map[string]bool{
	"set": true, "unset": true, "merge": true, "mustMerge": true, "mergeOverwrite": true, "mustMergeOverwrite": true,
}

// deep are the functions that look at all that is inside of their arguments.
var deep = setOf(
	"print", "println", "printf", "html", "js", "urlquery", printer,
	"quote", "squote", "cat", "join", "toString", "toStrings", "sortAlpha", "deepCopy", "mustDeepCopy", "deepEqual",
	"toJson", "toPrettyJson", "toRawJson", "mustToJson", "mustToPrettyJson", "mustToRawJson", "toYaml", "mustToYaml", "toToml", "mustToToml",
	"toJSON", "toPrettyJSON", "toRawJSON", "mustToJSON", "mustToPrettyJSON", "mustToRawJSON", "toYAML", "mustToYAML", "toTOML", "mustToTOML",
	"merge", "mustMerge", "mergeOverwrite", "mustMergeOverwrite", "has", "mustHas", "without", "mustWithout", "uniq", "mustUniq",
	"typeIs", "typeIsLike", "urlJoin", "deterministicUUID",
)

func setOf(names ...string) map[string]bool {
	out := make(map[string]bool, len(names))
	for _, n := range names {
		out[n] = true
	}
	return out
}

// base are all functions that do not depend on the render: those of sprig, our
// own, and those of text/template whose results have to be bounded.
var base = sync.OnceValue(func() template.FuncMap {
	fns := sprig.TxtFuncMap()
	for _, name := range forbidden {
		delete(fns, name)
	}
	fns["print"], fns["println"], fns["printf"] = fmt.Sprint, fmt.Sprintln, fmt.Sprintf
	fns["html"], fns["js"], fns["urlquery"] = template.HTMLEscaper, template.JSEscaper, template.URLQueryEscaper
	fns["toDate"] = func(layout, s string) time.Time { t, _ := time.Parse(layout, s); return t }
	fns["mustToDate"] = time.Parse
	for name, fn := range library.Functions() {
		fns[name] = fn
	}
	for name, fn := range fns { // toYaml is also toYAML
		for _, f := range []string{"Json", "Yaml", "Toml"} {
			if strings.Contains(name, f) {
				fns[strings.ReplaceAll(name, f, strings.ToUpper(f))] = fn
			}
		}
	}
	return fns
})

// clocked returns the functions that know the time of the render.
func (m *machine) clocked() template.FuncMap {
	when := func(date any) any {
		switch date.(type) {
		case time.Time, *time.Time, int64, int, int32:
			return date
		}
		return m.now
	}
	zoned := func(layout string, date any, zone string) string {
		return sprigDate(layout, when(date), zone)
	}
	utc := func(layout string, date any) string { return zoned(layout, date, "UTC") }
	return template.FuncMap{
		"now":            func() time.Time { return m.now },
		"date":           utc,
		"dateInZone":     zoned,
		"date_in_zone":   zoned,
		"htmlDate":       func(date any) string { return utc(time.DateOnly, date) },
		"htmlDateInZone": func(date any, zone string) string { return zoned(time.DateOnly, date, zone) },
		"ago": func(date any) string {
			switch d := when(date).(type) {
			case time.Time:
				return m.now.Sub(d).Round(time.Second).String()
			case int64:
				return m.now.Sub(time.Unix(d, 0)).Round(time.Second).String()
			case int:
				return m.now.Sub(time.Unix(int64(d), 0)).Round(time.Second).String()
			}
			return "0s"
		},
		"durationRound": func(d any) string {
			if t, ok := d.(time.Time); ok {
				d = int64(m.now.Sub(t))
			}
			return rounded(d)
		},
		printer: m.printed,
		ticker:  func() (string, error) { return "", m.step() },
	}
}

// rounded is sprig's own function for durations.
func rounded(d any) string {
	f, ok := base()["durationRound"].(func(any) string)
	if !ok {
		return ""
	}
	return f(d)
}

// sprigDate is sprig's own function for dates; Local is UTC.
func sprigDate(layout string, date any, zone string) string {
	if zone == "" || zone == "Local" {
		zone = "UTC"
	}
	format, ok := base()["dateInZone"].(func(string, any, string) string)
	if !ok {
		return ""
	}
	return format(layout, date, zone)
}

// printed is what is printed of a value.
func (m *machine) printed(v any) any {
	switch {
	case v != nil:
		return v
	case m.missing == v1beta2.MissingKeyInvalid:
		return "<no value>"
	}
	return ""
}

// functions returns those that the template calls, bounded.
func (m *machine) functions() template.FuncMap {
	clocked, all := m.clocked(), base()
	out := template.FuncMap{}
	for _, name := range m.names {
		fn, ok := clocked[name]
		if !ok {
			fn, ok = all[name]
		}
		switch {
		case name == ticker: // counts itself
			out[name] = fn
		case ok: // the others are text/template's own
			out[name] = m.bounded(name, fn)
		}
	}
	return out
}

// placeholders returns functions of all names, for a parser to know them.
var placeholders = sync.OnceValue(func() template.FuncMap {
	out := template.FuncMap{}
	for name := range base() {
		out[name] = func() string { return "" }
	}
	return out
})

// Functions returns the sorted names of the functions that templates have
// beside those of text/template.
func Functions() []string { return slices.Sorted(maps.Keys(placeholders())) }

// clone copies data, so that a template may change it.
func clone(data Data) Data {
	out := make(Data, len(data))
	for k, v := range data {
		out[k] = runtime.DeepCopyJSONValue(v)
	}
	return out
}
