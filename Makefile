# Weir's one entry for people and CI. `make help` lists the targets.
export GOTOOLCHAIN := go1.27.3

BIN   := $(CURDIR)/bin
TOOLS := $(BIN)/tools
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS := -s -w -X main.version=$(VERSION)

# Everything that tests need, so that a missing program is a failure and not a skipped test.
TEST_ENV := WEIR_REQUIRE_CONTROLPLANE=1 KUBEBUILDER_ASSETS=$(BIN)/controlplane WEIR_FLUX=$(BIN)/flux

CONTROLPLANE := $(addprefix $(BIN)/controlplane/,etcd kube-apiserver kube-controller-manager kubectl)
# The version that the control plane's programs report; tools/controlplane/go.mod decides what they are.
KUBE_VERSION := $(shell sed -n 's/^\tk8s.io\/kubernetes \(v[^ ]*\).*/\1/p' tools/controlplane/go.mod)
KUBE_NUMBERS := $(subst ., ,$(KUBE_VERSION:v%=%))
KUBE_LDFLAGS := -s -w $(foreach pkg,k8s.io/component-base/version k8s.io/client-go/pkg/version, \
	-X $(pkg).gitVersion=$(KUBE_VERSION) -X $(pkg).gitMajor=$(word 1,$(KUBE_NUMBERS)) -X $(pkg).gitMinor=$(word 2,$(KUBE_NUMBERS)) \
	-X $(pkg).gitTreeState=clean)

# Flux's controllers, and the servers that they get sources from.
FLUX := $(addprefix $(BIN)/flux/,source-controller kustomize-controller servers)

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: weir weir-controller ## build the programs into bin/

.PHONY: weir weir-controller
weir weir-controller:
	go build -trimpath -ldflags '$(LDFLAGS)' -o $(BIN)/$@ ./cmd/$@

# Every directory in an example's sources is bound to the alias of its name.
.PHONY: run
run: weir ## build the CLI and run it on the examples
	$(BIN)/weir build $(patsubst %/generator.yaml,-f %,$(wildcard examples/*/generator.yaml)) \
		$(foreach dir,$(wildcard examples/*/sources/*),--source $(notdir $(dir))=$(dir))

.PHONY: demo
demo: controlplane flux weir-controller ## show Weir at work on this machine, with real Flux; DEMO_FLAGS=--once ends by itself
	go build -trimpath -o $(BIN)/demo ./test/demo
	@$(BIN)/demo $(DEMO_FLAGS)

# Modules of their own hold what only a test or a tool needs.
NESTED := test/compat test/helm test/servers tools/gen

.PHONY: test
test: controlplane flux ## run all tests
	$(TEST_ENV) go test -timeout 30m ./...
	@set -e; for m in $(NESTED); do echo "go -C $$m test ./..."; go -C $$m test ./...; done

.PHONY: check
check: verify-generate fmt-check tidy-check vet lint race ## everything that CI runs

.PHONY: race
race: controlplane flux ## run all tests under the race detector
	$(TEST_ENV) WEIR_E2E_RACE=1 go test -race -timeout 60m ./...
	@set -e; for m in $(NESTED); do echo "go -C $$m test ./..."; go -C $$m test ./...; done

FUZZTIME ?= 30s
.PHONY: fuzz
fuzz: ## run every fuzz test for FUZZTIME
	@set -e; grep -rn --include='*_test.go' -oE '^func Fuzz[A-Za-z0-9]+' internal pkg 2>/dev/null | sed -E 's|^(.*)/[^/]*:[0-9]+:func (.*)|\1 \2|' | \
	while read -r dir name; do \
		echo "$$dir $$name"; go test ./$$dir -run '^$$' -fuzz "^$$name$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 1x; \
	done

.PHONY: generate
generate: $(TOOLS)/controller-gen $(TOOLS)/jsonschema ## regenerate deep copies, CRDs and schemas
	$(TOOLS)/controller-gen object crd paths=./api/... output:crd:dir=config/crd
	$(TOOLS)/controller-gen object paths=./examples/operator
	$(TOOLS)/controller-gen crd:maxDescLen=0 paths=github.com/fluxcd/source-controller/api/v1 output:crd:dir=test/e2e/testdata/crds
	cd tools/flux && $(TOOLS)/controller-gen crd:maxDescLen=0 paths=github.com/fluxcd/kustomize-controller/api/v1 output:crd:dir=$(CURDIR)/test/e2e/testdata/crds
	$(TOOLS)/jsonschema -dir api/source/v1beta1 -type NamespaceMetadata > docs/namespacemetadata-v1beta1.json

# Generated files are compared with copies and not with the index, so that it
# also tells about files that are not committed yet.
GENERATED = $(shell find api config/crd examples test/e2e/testdata/crds -name 'zz_*' -o -path '*/crd*/*_*.yaml') docs/namespacemetadata-v1beta1.json
.PHONY: verify-generate
verify-generate:
	@before=$$(sha256sum $(GENERATED)); $(MAKE) --no-print-directory generate; \
	test "$$before" = "$$(sha256sum $(GENERATED))" || { echo "generated files are stale: run make generate and commit them"; exit 1; }

.PHONY: controlplane
controlplane: $(CONTROLPLANE) ## build the control plane that tests run on into bin/controlplane/

.PHONY: flux
flux: $(FLUX) ## build Flux's controllers and servers of sources for tests into bin/flux/

.PHONY: vet
vet:
	go vet ./...

.PHONY: fmt-check
fmt-check:
	@out=$$(gofmt -l $$(git ls-files -co --exclude-standard '*.go')); test -z "$$out" || { echo "not gofmt'ed:"; echo "$$out"; exit 1; }

.PHONY: tidy-check
tidy-check:
	@set -e; for m in . $(NESTED); do go -C $$m mod tidy -diff || { echo "$$m: run go mod tidy"; exit 1; }; done

.PHONY: lint
lint: $(TOOLS)/golangci-lint ## run golangci-lint
	$(TOOLS)/golangci-lint run --allow-parallel-runners ./...
	@set -e; for m in $(NESTED); do (cd $$m && $(TOOLS)/golangci-lint run --allow-parallel-runners ./...); done

.PHONY: bench
bench: controlplane ## measure the engine beside tar, and the reconciler beside a bare loop; WEIR_BENCH_DATA names another archive
	go test ./test/bench -run '^$$' -bench . -benchtime 3x -v
	$(TEST_ENV) go test ./test/bench/reconciler -run '^$$' -bench . -benchtime 5x -v

.PHONY: clean
clean: ## remove what was built
	rm -rf $(BIN)

# One go build makes all four; it takes some eight minutes of CPU time the first time.
$(CONTROLPLANE) &: tools/controlplane/go.mod
	CGO_ENABLED=0 go -C tools/controlplane build -trimpath -ldflags '$(KUBE_LDFLAGS)' -o $(BIN)/controlplane/ tool
	mv $(BIN)/controlplane/server $(BIN)/controlplane/etcd

# Some fourteen minutes of CPU time the first time.
$(filter-out %/servers,$(FLUX)) &: tools/flux/go.mod
	CGO_ENABLED=0 go -C tools/flux build -trimpath -ldflags '-s -w' -o $(BIN)/flux/ tool
$(BIN)/flux/servers: test/servers/go.mod $(wildcard test/servers/*.go)
	go -C test/servers build -o $@ .

# Tools are pinned in modules of their own, so that go.mod holds only what the product needs.
$(TOOLS)/golangci-lint: tools/lint/go.mod
	go -C tools/lint build -o $@ github.com/golangci/golangci-lint/v2/cmd/golangci-lint
$(TOOLS)/controller-gen: tools/gen/go.mod
	go -C tools/gen build -o $@ sigs.k8s.io/controller-tools/cmd/controller-gen
$(TOOLS)/jsonschema: tools/gen/go.mod $(wildcard tools/gen/jsonschema/*.go)
	go -C tools/gen build -o $@ ./jsonschema
$(TOOLS)/benchstat: tools/bench/go.mod
	go -C tools/bench build -o $@ golang.org/x/perf/cmd/benchstat
