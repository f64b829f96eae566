package template

import (
	"fmt"
	"reflect"
	"strings"
)

// maxDepth is how deep values may be nested.
const maxDepth = 200

// bounded returns a function that counts as a step and whose result is no
// larger than values may be. It has the type of fn.
func (m *machine) bounded(name string, fn any) any {
	f := reflect.ValueOf(fn)
	check := amplifiers[name]
	return reflect.MakeFunc(f.Type(), func(in []reflect.Value) []reflect.Value {
		args := in
		if f.Type().IsVariadic() {
			args = flat(in)
		}
		must(m.step())
		if deep[name] {
			must(m.weigh(args...))
		}
		if check != nil {
			if n := check(args); n > m.limits.Output {
				panic(fmt.Errorf("%s would give more than %d bytes", name, m.limits.Output))
			}
		}
		var out []reflect.Value
		if f.Type().IsVariadic() {
			out = f.CallSlice(in)
		} else {
			out = f.Call(in)
		}
		must(m.light(out[0]))
		if mutating[name] {
			must(m.weigh(out[0])) // it may hold itself now
		}
		return out
	}).Interface()
}

// must panics with an error; the template that called the function ends with
// that error.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

// flat returns the arguments with those of the variable part one by one.
func flat(in []reflect.Value) []reflect.Value {
	last := in[len(in)-1]
	out := append([]reflect.Value(nil), in[:len(in)-1]...)
	for i := range last.Len() {
		out = append(out, last.Index(i))
	}
	return out
}

// light reports a value that is too long, without looking inside.
func (m *machine) light(v reflect.Value) error {
	v = bare(v)
	switch v.Kind() {
	case reflect.String, reflect.Slice, reflect.Map, reflect.Array:
		if v.Len() > m.limits.Output {
			return fmt.Errorf("a value is larger than %d bytes", m.limits.Output)
		}
	default:
	}
	return nil
}

// weigh reports values whose text would be too long, or that are nested too
// deep, as those are that hold themselves.
func (m *machine) weigh(vs ...reflect.Value) error {
	left := m.limits.Output
	for _, v := range vs {
		if err := sink(v, &left, 0); err != nil {
			return err
		}
		if left < 0 {
			return fmt.Errorf("a value is larger than %d bytes", m.limits.Output)
		}
	}
	return nil
}

// sink takes the weight of a value off, until nothing is left.
func sink(v reflect.Value, left *int, depth int) error {
	v = bare(v)
	*left--
	if depth > maxDepth {
		return fmt.Errorf("a value is nested more than %d times", maxDepth)
	}
	switch v.Kind() {
	case reflect.String:
		*left -= v.Len()
	case reflect.Slice, reflect.Array:
		for i := 0; i < v.Len() && *left >= 0; i++ {
			if err := sink(v.Index(i), left, depth+1); err != nil {
				return err
			}
		}
	case reflect.Map:
		for it := v.MapRange(); *left >= 0 && it.Next(); {
			for _, part := range []reflect.Value{it.Key(), it.Value()} {
				if err := sink(part, left, depth+1); err != nil {
					return err
				}
			}
		}
	default:
	}
	return nil
}

// bare takes interfaces off a value.
func bare(v reflect.Value) reflect.Value {
	for v.Kind() == reflect.Interface && !v.IsNil() {
		v = v.Elem()
	}
	return v
}

// amplifiers say how many bytes a call gives at most, for functions whose
// results may be much longer than their arguments.
var amplifiers = map[string]func([]reflect.Value) int{
	"repeat": func(a []reflect.Value) int { return times(a[0], a[1].Len()) },
	"replace": func(a []reflect.Value) int {
		return a[2].Len() + times(reflect.ValueOf(occurrences(a[2], a[0])), a[1].Len())
	},
	"indent":    lines,
	"nindent":   lines,
	"until":     func(a []reflect.Value) int { return size(a[0]) },
	"untilStep": func(a []reflect.Value) int { return rounds(a[0], a[1], a[2]) },
	"seq":       sequence,
	"wrapWith":  func(a []reflect.Value) int { return (a[2].Len() + 1) * (a[1].Len() + 1) },
	"join":      func(a []reflect.Value) int { return elements(a[1]) * a[0].Len() },
	"printf":    formatted,

	"randAlpha": count, "randAlphaNum": count, "randAscii": count, "randNumeric": count, "randBytes": count,
	"regexReplaceAll": substituted, "regexReplaceAllLiteral": substituted,
	"mustRegexReplaceAll": substituted, "mustRegexReplaceAllLiteral": substituted,
}

func count(a []reflect.Value) int { return size(a[0]) }

func lines(a []reflect.Value) int {
	return a[1].Len() + times(a[0], strings.Count(a[1].String(), "\n")+1)
}

// substituted bounds replacements: at most one for every byte and the end, each
// of which may repeat what was matched for every $.
func substituted(a []reflect.Value) int {
	text, with := a[1].Len(), a[2]
	return (text+1)*(with.Len()+1) + strings.Count(with.String(), "$")*text
}

// formatted bounds a formatted text: fmt itself bounds widths.
func formatted(a []reflect.Value) int {
	verbs := strings.Count(a[0].String(), "%")
	largest := 1 << 10
	for _, v := range a[1:] {
		left := 1 << 30
		if sink(v, &left, 0) == nil {
			largest = max(largest, 2*(1<<30-left))
		}
	}
	return a[0].Len() + verbs*largest
}

func sequence(a []reflect.Value) int {
	switch len(a) {
	case 1:
		return size(a[0]) * 8
	case 2:
		return rounds(a[0], a[1], reflect.ValueOf(1)) * 8
	case 3:
		return rounds(a[0], a[2], a[1]) * 8
	}
	return 0
}

// rounds returns how many numbers there are from one to another, at most.
func rounds(from, to, by reflect.Value) int {
	step := size(by)
	if step == 0 {
		return 0 // sprig gives nothing
	}
	return (size(from)+size(to))/step + 1
}

func occurrences(text, of reflect.Value) int { return strings.Count(text.String(), of.String()) }

func elements(list reflect.Value) int {
	if v := bare(list); v.Kind() == reflect.Slice || v.Kind() == reflect.Array {
		return v.Len()
	}
	return 1
}

// size returns the distance of a number from zero, at most a billion.
func size(n reflect.Value) int {
	const most = 1e9
	v := n.Int()
	if v < -most || v > most {
		return most
	}
	return int(max(v, -v))
}

func times(n reflect.Value, length int) int { return size(n) * length }
