package docs_test

import (
	"flag"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/weir-dev/weir/internal/app"
)

const (
	generators = "artifactgenerators.md"
	definition = "../config/crd/source.extensions.fluxcd.io_artifactgenerators.yaml"
)

// generatorTables are the tables of the page.
var generatorTables = map[string]func(*testing.T) table{
	"spec":       fieldsOf(definition, "spec", 1),
	"sources":    fieldsOf(definition, "spec.sources[]", 1),
	"artifacts":  fieldsOf(definition, "spec.artifacts[]", 1),
	"copy":       fieldsOf(definition, "spec.artifacts[].copy[]", 1),
	"metadata":   fieldsOf(definition, "spec.commonMetadata", 1),
	"namespaces": fieldsOf(definition, "spec.managedNamespaces", 9),
	"status":     fieldsOf(definition, "status", 1),
	"inventory":  fieldsOf(definition, "status.inventory[]", 1),
	"flags":      flagTable,
	"operations": operationTable,
	"strategies": strategyTable,
	"patterns":   patternTable,
	"mistakes":   mistakeTable,
}

// TestFields: every field of a definition is in a table of its page.
func TestFields(t *testing.T) {
	for definition, page := range map[string]string{definition: generators, global: replications, "../config/crd/capsule.clastix.io_tenantresources.yaml": replications} {
		text := read(t, page)
		documented := map[string]bool{}
		for _, table := range pages[page] {
			for _, row := range table(t)[1:] {
				documented[strings.Trim(row[0], "`")] = strings.Contains(text, "| "+row[0]+" |")
			}
		}
		for _, field := range properties(schema(t, definition), "", 99) {
			switch name := field.path; {
			case strings.HasPrefix(name, "status.conditions[]."), !strings.Contains(name, "."):
				// Kubernetes' own.
			case strings.HasPrefix(name, "spec.resources[].namespacedItems[]."):
				// The page has them once, as those of context.
			case !documented[name]:
				t.Errorf("%s of %s is in no table of %s", name, definition, page)
			}
		}
	}
}

// schema is that of the objects of a definition.
func schema(t *testing.T, definition string) apiextensionsv1.JSONSchemaProps {
	t.Helper()
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict([]byte(read(t, definition)), &crd); err != nil {
		t.Fatal(err)
	}
	return *crd.Spec.Versions[0].Schema.OpenAPIV3Schema
}

// property is a field of a schema.
type property struct {
	path     string
	required bool
	schema   apiextensionsv1.JSONSchemaProps
}

// properties returns the fields below a schema, so many levels deep. Those
// that are required come first.
func properties(s apiextensionsv1.JSONSchemaProps, path string, depth int) []property {
	var out []property
	names := slices.SortedFunc(maps.Keys(s.Properties), func(a, b string) int {
		if need := slices.Contains(s.Required, a); need != slices.Contains(s.Required, b) {
			if need {
				return -1
			}
			return 1
		}
		return strings.Compare(a, b)
	})
	for _, name := range names {
		p := property{strings.TrimPrefix(path+"."+name, "."), slices.Contains(s.Required, name), s.Properties[name]}
		out = append(out, p)
		if depth == 1 || strings.HasSuffix(name, "elector") {
			continue // what a selector is, Kubernetes says
		}
		out = append(out, properties(p.schema, p.path, depth-1)...)
		if p.schema.Items != nil {
			out = append(out, properties(*p.schema.Items.Schema, p.path+"[]", depth-1)...)
		}
	}
	return out
}

// fieldsOf makes the table of the fields of a definition below path, without
// those that begin with what other tables have.
func fieldsOf(definition, path string, depth int, elsewhere ...string) func(*testing.T) table {
	return func(t *testing.T) table {
		s := schema(t, definition)
		for name := range strings.SplitSeq(path, ".") {
			s = s.Properties[strings.TrimSuffix(name, "[]")]
			if s.Items != nil {
				s = *s.Items.Schema
			}
		}
		rows := table{{"field", "type", "required", "meaning"}}
		for _, p := range properties(s, path, depth) {
			if slices.ContainsFunc(elsewhere, func(prefix string) bool { return strings.HasPrefix(p.path, path+"."+prefix) }) {
				continue
			}
			required := "no"
			if p.required {
				required = "yes"
			}
			rows = append(rows, []string{"`" + p.path + "`", typeOf(p.schema), required, prose(p.schema.Description)})
		}
		return rows
	}
}

func typeOf(s apiextensionsv1.JSONSchemaProps) string {
	switch {
	case s.Items != nil && s.Items.Schema.Type == "object":
		return "list" + count(s.MinItems, s.MaxItems)
	case s.Items != nil:
		return "list of " + s.Items.Schema.Type + "s" + count(s.MinItems, s.MaxItems)
	case s.AdditionalProperties != nil:
		return "map of " + s.AdditionalProperties.Schema.Type + "s"
	case len(s.Enum) > 0:
		var words []string
		for _, e := range s.Enum {
			words = append(words, "`"+strings.Trim(string(e.Raw), `"`)+"`")
		}
		return "one of " + strings.Join(words, ", ")
	}
	return s.Type + count(s.MinLength, s.MaxLength)
}

// count says how many items or characters there may be.
func count(least, most *int64) string {
	switch {
	case most == nil:
		return ""
	case least == nil:
		return fmt.Sprintf(", at most %d", *most)
	}
	return fmt.Sprintf(", %d to %d", *least, *most)
}

// code are the words of a description that are written as code.
var code = regexp.MustCompile(`"[^"]+"|@[a-z]+/[a-z]+|@alias\b|\b[a-z.]+\.(?:fluxcd|opencontainers|kubernetes)\.[a-z]+(?:/[A-Za-z-]+|(?:\.[a-z]+)+)?(?:: Disabled|=[a-z0-9]+)?|` +
	`--[a-z-]+[a-z]|\bstatus\.[A-Za-z.]+[a-z]\b|\blatest@sha256:hex\b|\$[A-Z_]+|\bNAME=true\b`)

// prose is a description in the cell of a table.
func prose(description string) string {
	text := strings.ReplaceAll(strings.Join(strings.Fields(description), " "), "|", "\\|")
	return code.ReplaceAllStringFunc(text, func(word string) string { return "`" + strings.Trim(word, `"`) + "`" })
}

// flagTable are the flags of weir-controller.
func flagTable(*testing.T) table {
	var c app.Config
	set := flag.NewFlagSet("", flag.ContinueOnError)
	c.Flags(set, func(string) string { return "" })
	rows := table{{"flag", "default", "meaning"}}
	set.VisitAll(func(f *flag.Flag) {
		value, usage := f.DefValue, f.Usage
		// Those that are no plain value say it in words.
		if m := regexp.MustCompile(` \(default ([^)]+)\)$`).FindStringSubmatch(usage); m != nil {
			value, usage = m[1], strings.TrimSuffix(usage, m[0])
		} else if value != "" {
			value = "`" + value + "`"
		}
		rows = append(rows, []string{"`--" + f.Name + "`", value, prose(usage)})
	})
	return rows
}
