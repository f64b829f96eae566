package local_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-dev/weir/internal/local"
	"github.com/weir-dev/weir/internal/pack"
	"github.com/weir-dev/weir/internal/tree"
)

// put writes files below dir; a name that ends in an asterisk is executable.
func put(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, data := range files {
		name, exec := strings.CutSuffix(filepath.Join(dir, name), "*")
		mode := map[bool]fs.FileMode{true: 0o755, false: 0o644}[exec]
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(data), mode)); err != nil {
			t.Fatal(err)
		}
	}
}

// open opens spec and returns its files by path, marked as put takes them.
func open(t *testing.T, spec string, o local.Options) (local.Source, map[string]string) {
	t.Helper()
	o.TempDir = t.TempDir()
	s, err := local.Open(t.Context(), spec, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if left, err := os.ReadDir(o.TempDir); err != nil || len(left) > 0 {
			t.Errorf("left in the directory for temporary files: %v, %v", left, err)
		}
	})
	got := map[string]string{}
	err = s.Tree.Walk(".", func(e tree.Entry) error {
		if e.IsDir() {
			return nil
		}
		data, err := e.Blob.ReadAll()
		if e.Executable() {
			e.Path += "*"
		}
		got[e.Path] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return s, got
}

func wantFiles(t *testing.T, want, got map[string]string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestOpenDirectory(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, map[string]string{"k.yaml": "k", "d/run.sh*": "r", "logo.png": "p", "n.txt": "n", ".sourceignore": "*.txt\n", ".git/HEAD": "h"})
	secret := t.TempDir()
	put(t, secret, map[string]string{"key": "secret"})
	err := errors.Join(
		os.Symlink("k.yaml", filepath.Join(dir, "link")), os.Symlink(secret, filepath.Join(dir, "out")),
		os.Symlink("d", filepath.Join(dir, "dirlink")), os.Symlink("nowhere", filepath.Join(dir, "dangling")),
		syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o644),
	)
	if err != nil {
		t.Fatal(err)
	}
	s, got := open(t, dir, local.Options{})
	want := map[string]string{"k.yaml": "k", "d/run.sh*": "r", ".sourceignore": "*.txt\n"}
	wantFiles(t, want, got)
	if r := pack.Revision(pack.Digest(s.Tree)); s.Revision != r {
		t.Errorf("revision %s, want %s", s.Revision, r)
	}
	_, got = open(t, dir, local.Options{NoSourceIgnore: true})
	want["logo.png"], want["n.txt"], want[".git/HEAD"] = "p", "n", "h"
	wantFiles(t, want, got)

	link := filepath.Join(t.TempDir(), "source")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	if again, _ := open(t, link, local.Options{}); again.Revision != s.Revision {
		t.Errorf("by a link: %s, want %s", again.Revision, s.Revision)
	}
}

// TestOpenKeeps checks that a source does not follow the disk.
func TestOpenKeeps(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, map[string]string{"a": "before"})
	s, _ := open(t, dir, local.Options{})
	put(t, dir, map[string]string{"a": "after!"})
	if data, err := fs.ReadFile(s.Tree, "a"); err != nil || string(data) != "before" {
		t.Errorf("got %q, %v", data, err)
	}
}

// TestG3G8 checks that permission bits other than x, as an umask or a chmod
// leaves them, and times do not matter.
func TestG3G8(t *testing.T) {
	revisions := map[string]bool{}
	for _, mode := range []fs.FileMode{0o600, 0o644, 0o666} {
		dir := t.TempDir()
		put(t, dir, map[string]string{"d/a": "1"})
		if err := errors.Join(os.Chmod(filepath.Join(dir, "d/a"), mode), os.Chmod(filepath.Join(dir, "d"), mode|0o100)); err != nil {
			t.Fatal(err)
		}
		s, _ := open(t, dir, local.Options{})
		revisions[s.Revision] = true
	}
	if len(revisions) != 1 {
		t.Errorf("got %v", revisions)
	}
}

func TestOpenTarball(t *testing.T) {
	var data bytes.Buffer
	zw := gzip.NewWriter(&data)
	tw := tar.NewWriter(zw)
	for _, h := range []*tar.Header{
		{Name: "logo.png", Typeflag: tar.TypeReg, Mode: 0o644, Size: 1},
		{Name: "link", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"},
	} {
		if err := tw.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := tw.Write(make([]byte, h.Size)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(tw.Close(), zw.Close()); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	put(t, dir, map[string]string{"a.tar.gz": data.String(), "b.TGZ": data.String(), "same/logo.png": "\x00"})
	a, got := open(t, filepath.Join(dir, "a.tar.gz"), local.Options{})
	wantFiles(t, map[string]string{"logo.png": "\x00"}, got)
	b, _ := open(t, filepath.Join(dir, "b.TGZ"), local.Options{})
	c, _ := open(t, filepath.Join(dir, "same"), local.Options{NoSourceIgnore: true})
	if a.Revision != b.Revision || a.Revision != c.Revision || !strings.HasPrefix(a.Revision, "latest@sha256:") {
		t.Errorf("one content, revisions %s, %s and %s", a.Revision, b.Revision, c.Revision)
	}
}

func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, map[string]string{"bad.tgz": "no gzip", "a.yaml": "", "plain/a": "12345"})
	t.Chdir(dir)
	for spec, want := range map[string]string{
		"nope":           `source "nope": no such file or directory`,
		"nope.tgz":       `source "nope.tgz": no such file or directory`,
		"":               `source "": no such file or directory`,
		"a.yaml":         `source "a.yaml": neither a directory nor a .tar.gz or .tgz file`,
		"a.yaml/b":       `source "a.yaml/b": stat a.yaml/b: not a directory`,
		"bad.tgz":        `source "bad.tgz": not a gzip-compressed tarball: `,
		"plain":          `source "plain": more than 4 bytes of files, at "a"`,
		"git:plain":      `source "git:plain": want git:DIR@REV with a branch, tag or commit as REV, or HEAD`,
		"git:plain@":     `want git:DIR@REV`,
		"git:@main":      `want git:DIR@REV`,
		"git:nope@main":  `source "git:nope@main": no such directory: "nope"`,
		"git:plain@main": `source "git:plain@main": not a git repository`,
	} {
		_, err := local.Open(t.Context(), spec, local.Options{MaxBytes: 4})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want …%s…", spec, err, want)
		}
	}
	if _, err := local.Open(t.Context(), "plain", local.Options{TempDir: "nope"}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing directory for temporary files: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, spec := range []string{"plain", "bad.tgz"} {
		if _, err := local.Open(ctx, spec, local.Options{}); !errors.Is(err, context.Canceled) {
			t.Errorf("%q when cancelled: %v", spec, err)
		}
	}
}

// runGit runs git in dir and returns what it printed.
func runGit(t *testing.T, dir string, args ...string) string {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip(err)
	}
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_CONFIG_COUNT=2",
		"GIT_CONFIG_KEY_0=protocol.file.allow", "GIT_CONFIG_VALUE_0=always", "GIT_CONFIG_KEY_1=init.defaultBranch", "GIT_CONFIG_VALUE_1=main",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com",
		"GIT_AUTHOR_DATE=2026-01-01T00:00:00Z", "GIT_COMMITTER_DATE=2026-01-01T00:00:00Z")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// commit makes a commit of everything in dir and returns its hash.
func commit(t *testing.T, dir string, files map[string]string) string {
	t.Helper()
	put(t, dir, files)
	runGit(t, dir, "add", "--all")
	runGit(t, dir, "commit", "--quiet", "--message=m")
	return runGit(t, dir, "rev-parse", "HEAD")
}

// repository makes a repository with two commits, a tag on each, a branch and
// what a commit may hold.
func repository(t *testing.T) (dir, first, second string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "repo")
	module := filepath.Join(t.TempDir(), "module")
	for _, d := range []string{dir, module} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
		runGit(t, d, "init", "--quiet")
	}
	commit(t, module, map[string]string{"m": "module"})
	runGit(t, dir, "submodule", "--quiet", "add", module, "vendor")
	if err := os.Symlink("k.yaml", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	first = commit(t, dir, map[string]string{"k.yaml": "k", "d/e/run.sh*": "r", "d/logo.png": "p", ".sourceignore": "*.txt\n", "d/n.txt": "n"})
	runGit(t, dir, "tag", "v1")
	runGit(t, dir, "branch", "feature/x@y")
	second = commit(t, dir, map[string]string{"k.yaml": "k2"})
	runGit(t, dir, "tag", "--annotate", "--message=m", "v2")
	runGit(t, dir, "tag", "--annotate", "--message=m", "v2-again", "v2")
	put(t, dir, map[string]string{"k.yaml": "not committed", "untracked": "u"})
	return dir, first, second
}

func TestOpenGit(t *testing.T) {
	dir, first, second := repository(t)
	old := map[string]string{"k.yaml": "k", "d/e/run.sh*": "r", ".sourceignore": "*.txt\n"}
	recent := map[string]string{"k.yaml": "k2", "d/e/run.sh*": "r", ".sourceignore": "*.txt\n"}
	at := t.TempDir()
	runGit(t, at, "clone", "--quiet", "--bare", dir, "bare.git")
	runGit(t, at, "clone", "--quiet", "--shared", dir, "shared")
	runGit(t, dir, "config", "uploadpack.allowFilter", "true")
	runGit(t, at, "clone", "--quiet", "--filter=blob:none", "--sparse", "file://"+dir, "partial")
	runGit(t, filepath.Join(at, "partial"), "sparse-checkout", "add", "d")
	runGit(t, at, "clone", "--quiet", "--depth=1", "--recurse-submodules", "file://"+dir, "shallow")
	runGit(t, dir, "worktree", "add", "--quiet", "--detach", filepath.Join(at, "linked"), "v1")
	packed := filepath.Join(at, "a@b")
	runGit(t, at, "clone", "--quiet", dir, packed)
	runGit(t, packed, "gc", "--quiet")
	t.Chdir(at)
	for spec, c := range map[string]struct {
		files    map[string]string
		revision string
	}{
		dir + "@HEAD":                 {recent, "HEAD@sha1:" + second},
		dir + "@main":                 {recent, "main@sha1:" + second},
		dir + "@refs/heads/main":      {recent, "refs/heads/main@sha1:" + second},
		dir + "@v1":                   {old, "v1@sha1:" + first},
		dir + "@v2":                   {recent, "v2@sha1:" + second},
		dir + "@v2-again":             {recent, "v2-again@sha1:" + second},
		dir + "@feature/x@y":          {old, "feature/x@y@sha1:" + first},
		dir + "@" + first:             {old, first + "@sha1:" + first},
		dir + "@" + first[:7]:         {old, first[:7] + "@sha1:" + first},
		dir + "@" + second[:12]:       {recent, second[:12] + "@sha1:" + second},
		dir + "/.git@main":            {recent, "main@sha1:" + second},
		"bare.git@main":               {recent, "main@sha1:" + second},
		"bare.git@" + first[:8]:       {old, first[:8] + "@sha1:" + first},
		"shared@origin/main":          {recent, "origin/main@sha1:" + second},
		"partial@HEAD":                {recent, "HEAD@sha1:" + second},
		"shallow@main":                {recent, "main@sha1:" + second},
		"linked@HEAD":                 {old, "HEAD@sha1:" + first},
		"linked@main":                 {recent, "main@sha1:" + second},
		"a@b@v1":                      {old, "v1@sha1:" + first},
		"a@b@origin/feature/x@y":      {old, "origin/feature/x@y@sha1:" + first},
		"./a@b@" + second[:9]:         {recent, second[:9] + "@sha1:" + second},
		filepath.Join(at, "a@b@HEAD"): {recent, "HEAD@sha1:" + second},
	} {
		t.Run(spec, func(t *testing.T) {
			s, got := open(t, "git:"+spec, local.Options{})
			wantFiles(t, c.files, got)
			if s.Revision != c.revision {
				t.Errorf("revision %s, want %s", s.Revision, c.revision)
			}
		})
	}
	t.Run("as it is", func(t *testing.T) {
		_, got := open(t, "git:"+dir+"@v1", local.Options{NoSourceIgnore: true})
		delete(got, ".gitmodules")
		wantFiles(t, map[string]string{"k.yaml": "k", "d/e/run.sh*": "r", ".sourceignore": "*.txt\n", "d/logo.png": "p", "d/n.txt": "n"}, got)
	})
}

func TestOpenGitRefuses(t *testing.T) {
	dir, first, second := repository(t)
	blank := t.TempDir()
	runGit(t, blank, "init", "--quiet")
	for spec, want := range map[string]string{
		dir + "@nope":                       `revision "nope" not found; there are feature/x@y, main, v1, v2, v2-again`,
		dir + "@config":                     `revision "config" not found`,
		dir + "@../HEAD":                    `revision "../HEAD" not found`,
		dir + "@" + first[:3]:               `not found`,
		dir + "@" + strings.Repeat("f", 7):  `revision "fffffff" not found`,
		dir + "@" + strings.Repeat("f", 40): `not found; there are`,
		blank + "@HEAD":                     `revision "HEAD" not found; the repository has no branches or tags`,
		dir + "/d@HEAD":                     `/d@HEAD": not a git repository`,
	} {
		_, err := local.Open(t.Context(), "git:"+spec, local.Options{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want …%s…", spec, err, want)
		}
	}
	odd := t.TempDir()
	runGit(t, odd, "init", "--quiet")
	for config, want := range map[string]string{
		"[extensions]\nobjectFormat = sha256\n": "repositories with sha256 hashes are not supported",
		"[extensions]\nrefStorage = reftable\n": "repositories that keep refs as reftable are not supported",
		"[no\n":                                 "reading the configuration of the git repository",
	} {
		put(t, odd, map[string]string{".git/config": config})
		if _, err := local.Open(t.Context(), "git:"+odd+"@HEAD", local.Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want …%s…", config, err, want)
		}
	}
	// A commit that is there without its content, as in a damaged or partial clone.
	blob := runGit(t, dir, "rev-parse", second+":k.yaml")
	if err := os.Remove(filepath.Join(dir, ".git/objects", blob[:2], blob[2:])); err != nil {
		t.Fatal(err)
	}
	if _, err := local.Open(t.Context(), "git:"+dir+"@main", local.Options{}); err == nil || !strings.Contains(err.Error(), "open k.yaml: object not found: the clone is partial or damaged") {
		t.Errorf("with an object missing: %v", err)
	}
}

// TestRefBeforeHash: a branch that is named like a shortened hash is a branch.
func TestRefBeforeHash(t *testing.T) {
	dir, first, second := repository(t)
	runGit(t, dir, "branch", first[:7], second)
	s, _ := open(t, "git:"+dir+"@"+first[:7], local.Options{})
	if want := first[:7] + "@sha1:" + second; s.Revision != want {
		t.Errorf("revision %s, want %s", s.Revision, want)
	}
}
