package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	kills           = 50
	killedArtifacts = 200
	killedNamespace = "killed"

	convergeTimeout = time.Minute
)

// killed kills the controller again and again while it works on a change of a
// monorepo, and wants it to be as if nothing had happened: each artifact to be
// what its directory is, and nothing else to be there. WEIR_E2E_SEED repeats
// what is random in a run, but for how fast the machine is.
func (s *stage) killed(t *testing.T) {
	t.Cleanup(func() { s.sweep(t, killedNamespace) })
	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv("WEIR_E2E_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("WEIR_E2E_SEED: %v", err)
		}
	}
	t.Logf("WEIR_E2E_SEED=%d", seed)
	v := &victim{
		stage: s, random: rand.New(rand.NewPCG(seed, seed)), //nolint:gosec // no secret
		repo: t.TempDir(), disk: t.TempDir(), out: t.TempDir(), want: map[string]string{},
	}
	t.Cleanup(func() {
		if err := s.controller.Restore(context.Background()); err != nil {
			t.Error(err)
		}
	})
	if err := v.begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d artifacts in %v", killedArtifacts, v.took.Round(time.Millisecond))
	stop := consume(t.Context(), s.client, killedNamespace)
	for done := 0; done < kills; {
		what := v.change(t)
		// What was done before a kill stays done, so several of them get further
		// than one, and none of them has to wait for the end.
		for n := 1 + v.random.IntN(5); n > 0 && done < kills; n-- {
			after := time.Duration(v.random.Int64N(int64(2 * v.took / 3)))
			if err := v.kill(t.Context(), after); err != nil {
				t.Fatalf("kill %d, %v after: %s: %v", done, after, what, err)
			}
			done++
		}
		if err := v.converge(t.Context()); err != nil {
			t.Fatalf("after kill %d in: %s: %v\n%s", done, what, err, s.explain(killedNamespace))
		}
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	if err := v.leftovers(t.Context()); err != nil {
		t.Error(err)
	}
}

// victim is a monorepo, what was made of it, and what is random.
type victim struct {
	*stage
	random *rand.Rand
	repo   string
	disk   string
	out    string
	want   map[string]string // the file of each directory
	took   time.Duration     // the first build of all
	digest string            // of the sources, when all was as wanted
}

func (v *victim) begin(ctx context.Context) error {
	for i := range killedArtifacts {
		v.want[fmt.Sprintf("d%03d", i)] = "0"
	}
	if err := errors.Join(v.start(ctx), v.publish(ctx), v.generate(ctx)); err != nil {
		return err
	}
	began := time.Now()
	err := v.converge(ctx)
	v.took = time.Since(began)
	return err
}

func (v *victim) start(ctx context.Context) error {
	return v.controller.Start(ctx, "--storage-path="+v.disk, "--artifact-retention-ttl=1s", "--artifact-retention-records=0")
}

// kill kills the controller after a while and starts it again.
func (v *victim) kill(ctx context.Context, after time.Duration) error {
	<-time.After(after) // this is what is random
	return errors.Join(v.controller.Kill(), v.start(ctx))
}

// change makes something else wanted and tells what.
func (v *victim) change(t *testing.T) string {
	t.Helper()
	names := slices.Sorted(maps.Keys(v.want))
	v.random.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	some := names[:1+v.random.IntN(len(names))]
	text := strconv.FormatUint(v.random.Uint64(), 36)
	what := ""
	switch v.random.IntN(4) {
	case 0:
		what = "all change"
		for name := range v.want {
			v.want[name] = text
		}
	case 1:
		what = fmt.Sprintf("%d change", len(some))
		for _, name := range some {
			v.want[name] = text
		}
	case 2:
		some = some[:min(len(some), len(names)-1)]
		what = fmt.Sprintf("%d go", len(some))
		for _, name := range some {
			delete(v.want, name)
		}
	default:
		what = "all are there"
		for i := range killedArtifacts {
			if name := fmt.Sprintf("d%03d", i); v.want[name] == "" {
				v.want[name] = text
			}
		}
	}
	if err := v.publish(t.Context()); err != nil {
		t.Fatal(err)
	}
	if v.random.IntN(8) == 0 {
		what += ", and the generator is another"
		ag := generator(killedNamespace, "x")
		if err := v.client.Delete(t.Context(), ag); err != nil {
			t.Fatal(err)
		}
		err := await(t.Context(), func() error { return v.generate(t.Context()) })
		if err != nil {
			t.Fatal(err)
		}
	}
	return what
}

// publish publishes the wanted directories as they are.
func (v *victim) publish(ctx context.Context) error {
	if err := errors.Join(os.RemoveAll(v.repo), os.MkdirAll(v.repo, 0o755)); err != nil { //nolint:gosec // no secrets
		return err
	}
	for name, text := range v.want {
		dir := filepath.Join(v.repo, name)
		if err := errors.Join(os.Mkdir(dir, 0o755), os.WriteFile(filepath.Join(dir, "file"), []byte(text), 0o600)); err != nil { //nolint:gosec // no secrets
			return err
		}
	}
	return v.sources.publish(ctx, v.client, publication{kind: "GitRepository", namespace: killedNamespace, name: "repo", dir: v.repo})
}

// generate makes the generator, which must not be there.
func (v *victim) generate(ctx context.Context) error {
	ag := generator(killedNamespace, "x")
	ag.Object["spec"] = map[string]any{
		"sources":     []any{map[string]any{"alias": "m", "kind": "GitRepository", "name": "repo"}},
		"pathPattern": "@m/{d}",
		"artifacts": []any{map[string]any{
			"name": "{d}", "copy": []any{map[string]any{"from": "@m/{d}/**", "to": "@artifact/"}},
		}},
	}
	return v.client.Create(ctx, ag)
}

// converge returns when all is as wanted, or an error that says what is not. A
// generator that is ready and has seen the change must not be waited for.
func (v *victim) converge(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, convergeTimeout)
	defer cancel()
	var lie error
	err := await(ctx, func() error {
		ag := generator(killedNamespace, "x")
		if err := v.client.Get(ctx, client.ObjectKeyFromObject(ag), ag); err != nil {
			return err
		}
		conditions, _, _ := unstructured.NestedSlice(ag.Object, "status", "conditions")
		if !isReady(conditions) {
			return fmt.Errorf("the generator is not ready: %v", conditions)
		}
		err := v.compare(ctx, ag)
		digest, _, _ := unstructured.NestedString(ag.Object, "status", "observedSourcesDigest")
		switch {
		case err == nil:
			v.digest = digest
		case digest != v.digest:
			lie = fmt.Errorf("the generator is ready, but: %w", err)
			return nil
		}
		return err
	})
	return errors.Join(lie, err)
}

// compare returns what is not as wanted.
func (v *victim) compare(ctx context.Context, ag *unstructured.Unstructured) error {
	if list, _, _ := unstructured.NestedSlice(ag.Object, "status", "inventory"); len(list) != len(v.want) {
		return fmt.Errorf("%d artifacts are in the inventory, want %d", len(list), len(v.want))
	}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(object("ExternalArtifactList", "", "").GroupVersionKind())
	if err := v.client.List(ctx, list, client.InNamespace(killedNamespace)); err != nil {
		return err
	}
	if len(list.Items) != len(v.want) {
		return fmt.Errorf("there are %d ExternalArtifacts, want %d", len(list.Items), len(v.want))
	}
	for _, o := range list.Items {
		if err := v.check(ctx, o.GetName(), string(ag.GetUID()), o); err != nil {
			return fmt.Errorf("ExternalArtifact %q: %w", o.GetName(), err)
		}
	}
	return nil
}

func (v *victim) check(ctx context.Context, name, owner string, o unstructured.Unstructured) error {
	text, ok := v.want[name]
	if !ok {
		return errors.New("there is no such directory")
	}
	if is := o.GetLabels()["source.extensions.fluxcd.io/generator"]; is != owner {
		return fmt.Errorf("it is of the generator %q, want %q", is, owner)
	}
	data, err := tarballOf(ctx, &o)
	if err != nil {
		return err
	}
	dir := v.out
	if err := unpack(data, dir); err != nil {
		return err
	}
	is, err := os.ReadFile(filepath.Join(dir, "file"))
	if err != nil || string(is) != text {
		return fmt.Errorf("the file is %q, want %q: %w", is, text, err)
	}
	return nil
}

func isReady(conditions []any) bool {
	return len(conditions) == 1 && conditions[0].(map[string]any)["type"] == "Ready" &&
		conditions[0].(map[string]any)["status"] == "True"
}

// leftovers returns an error when after a while there is anything on disk but
// what is needed: what a crash may leave is given an hour, which this one has
// not got.
func (v *victim) leftovers(ctx context.Context) error {
	if err := v.controller.Stop(ctx); err != nil {
		return err
	}
	past := time.Now().Add(-2 * time.Hour)
	if _, err := filesIn(v.disk, func(file string) error { return os.Chtimes(file, past, past) }); err != nil {
		return err
	}
	if err := v.start(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, convergeTimeout)
	defer cancel()
	return await(ctx, func() error {
		files, err := filesIn(v.disk, func(string) error { return nil })
		if err != nil {
			return err
		}
		tarballs := map[string]int{}
		for _, file := range files {
			if strings.HasSuffix(file, ".tar.gz") {
				tarballs[filepath.Base(filepath.Dir(file))]++
			}
		}
		if len(tarballs) != len(v.want) || len(files) != 2*len(v.want) { // with a record for each
			return fmt.Errorf("%d artifacts are on disk in %d files, want %d in twice as many: %v",
				len(tarballs), len(files), len(v.want), files[:min(10, len(files))])
		}
		temp, err := os.ReadDir(v.controller.Temp())
		if err != nil || len(temp) > 0 {
			return fmt.Errorf("temporary files are left: %v: %w", temp, err)
		}
		return nil
	})
}

// filesIn returns the files below a directory, after do was called with each.
func filesIn(dir string, do func(string) error) ([]string, error) {
	var files []string
	err := filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			if errors.Is(err, fs.ErrNotExist) {
				return nil // it is just being removed
			}
			return err
		}
		files = append(files, file)
		return do(file)
	})
	return files, err
}
