// Package e2e_test plays scripts on a cluster in which weir-controller runs,
// as the ServiceAccount and with the rights and flags that config/ gives it.
// Scripts say what users see; what a function does is tested beside it.
//
// The package's own scripts are in testdata. WEIR_E2E_SCRIPTS names a folder
// with more, of which those count that acceptance.txt lists. A script's names
// of objects start with the part of its file's name before the first dash, so
// that scripts can be played side by side on one cluster.
//
// Beside the commands of testscript, exec kubectl … and exec weir …, with
// KUBECONFIG being cluster-admin's, a script has these, negated by a first !:
//
//	source KIND NS/NAME DIR [REVISION [ORIGIN]]
//		publishes DIR as the artifact of a source, which is made when missing
//	serve KIND NS/NAME MANNER
//		has the source's artifacts served in a manner from now on: well, down,
//		unavailable, missing, truncated, cut, wrong, stalled, endless or bomb
//	fetches reset
//	fetches -max N [-ns NS]
//		fails when artifacts of sources have been asked for more than N times
//		since the reset or the script's start
//	artifact NS/NAME DIR
//		replaces DIR by the verified content of an ExternalArtifact
//	consumers start NS
//	consumers stop
//		downloads the namespace's ExternalArtifacts all the time; fails when
//		bytes were not those of the digest, or when there were none
//	eventually [-t 60s] [-match REGEX] [-not REGEX] PROGRAM ARG…
//		runs the program until it succeeds and prints what is wanted
//	never [-t 5s] [-match REGEX] [-not REGEX] PROGRAM ARG…
//		fails as soon as it does
//	settle
//		waits until the controller has had nothing to do for a second
//	writes reset
//	writes -max N [-ns NS]
//		fails when the controller, or who it impersonated, has written more
//		than N times since the reset or the script's start
//	requests FILE
//		writes into the file what the controller has asked of the API server
//		since the reset, a line for each request: VERB RESOURCE NAMESPACE/NAME,
//		then "as USER" if it impersonates one, and for a review
//		": USER VERB RESOURCE NAMESPACE/NAME"
//	namespaces REPORT
//		fails unless the namespaces of a report of weir build have the metadata
//		that it shows
//	controller start [-disk SIZE] [FLAG…]
//	controller stop
//	controller kill
//		(re)starts weir-controller with more flags, ends it by SIGTERM, or by
//		SIGKILL; after the script it runs as before. -disk puts its store on a
//		file system of that size, such as 1m, which is empty and ends with it
//	server restart
//		kills the API server and starts it again
//
// The scripts in testdata/flux have Flux's own controllers on both sides of
// Weir, the repository's examples in $EXAMPLES, and these:
//
//	push KIND NS/NAME DIR
//		pushes DIR to where a GitRepository, OCIRepository, Bucket or
//		HelmRepository has it from, as its whole content, makes the source when
//		it is missing, and waits until source-controller has fetched it
//	flux start CONTROLLER [FLAG…]
//	flux stop|kill|wipe CONTROLLER
//		does to source-controller or kustomize-controller what the command
//		controller does to Weir's; wipe empties its disk
//
// WEIR_E2E_RACE=1 builds weir-controller with the race detector.
//
// The package is larger than others because it is a program of its own, with a
// file for each of its nouns.
package e2e_test

import (
	"context"
	"flag"
	"os"
	"testing"

	"github.com/go-logr/logr"
	"github.com/rogpeppe/go-internal/testscript"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/weir-dev/weir/internal/testcluster"
)

var shared testcluster.Shared

// tests is the tests as testscript runs them, with the cluster around them.
type tests struct{ m *testing.M }

func (t tests) Run() int {
	flag.Parse()
	log.SetLogger(logr.Discard()) // else the client's complains
	// Scripts wait most of the time.
	if err := flag.Set("test.parallel", "6"); err != nil {
		panic(err)
	}
	return shared.Run(t.m)
}

func TestMain(m *testing.M) {
	testscript.Main(tests{m}, map[string]func(){
		"eventually": func() { os.Exit(eventually(context.Background(), os.Args[1:], os.Stdout, os.Stderr)) },
		"never":      func() { os.Exit(never(context.Background(), os.Args[1:], os.Stdout, os.Stderr)) },
	})
}

func TestScripts(t *testing.T) {
	all := append(scripts(t), pages(t)...)
	s := newStage(t)
	audit := s.cluster.Audit(t)
	t.Run("alone", func(t *testing.T) { s.play(t, all, true) })
	t.Run("together", func(t *testing.T) { s.play(t, all, false) })
	// A name at the level of scripts keeps these out of runs of a few scripts.
	t.Run("killed", func(t *testing.T) { t.Run("converges", s.killed) })
	t.Run("monorepo", func(t *testing.T) { t.Run("split", func(t *testing.T) { testMonorepo(t, s) }) })
	t.Run("rights", func(t *testing.T) { t.Run("used", func(t *testing.T) { s.rights(t, audit) }) })
}
