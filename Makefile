# Weir's one entry for people and CI. `make help` lists the targets.
export GOTOOLCHAIN := go1.27.3

BIN   := $(CURDIR)/bin
TOOLS := $(BIN)/tools
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS := -s -w -X main.version=$(VERSION)

# Everything that tests need, so that a missing program is a failure and not a skipped test.
TEST_ENV := WEIR_REQUIRE_CONTROLPLANE=1 KUBEBUILDER_ASSETS=$(BIN)/controlplane

CONTROLPLANE := $(addprefix $(BIN)/controlplane/,etcd kube-apiserver kube-controller-manager kubectl)
# The version that the control plane's programs report; tools/controlplane/go.mod decides what they are.
KUBE_VERSION := $(shell sed -n 's/^\tk8s.io\/kubernetes \(v[^ ]*\).*/\1/p' tools/controlplane/go.mod)
KUBE_NUMBERS := $(subst ., ,$(KUBE_VERSION:v%=%))
KUBE_LDFLAGS := -s -w $(foreach pkg,k8s.io/component-base/version k8s.io/client-go/pkg/version, \
	-X $(pkg).gitVersion=$(KUBE_VERSION) -X $(pkg).gitMajor=$(word 1,$(KUBE_NUMBERS)) -X $(pkg).gitMinor=$(word 2,$(KUBE_NUMBERS)) \
	-X $(pkg).gitTreeState=clean)

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: ## build the weir CLI into bin/
	go build -trimpath -ldflags '$(LDFLAGS)' -o $(BIN)/weir ./cmd/weir

.PHONY: test
test: controlplane ## run all tests
	$(TEST_ENV) go test ./...

.PHONY: check
check: fmt-check vet lint race ## everything that CI runs

.PHONY: race
race: controlplane ## run all tests under the race detector
	$(TEST_ENV) go test -race ./...

.PHONY: controlplane
controlplane: $(CONTROLPLANE) ## build the control plane that tests run on into bin/controlplane/

.PHONY: vet
vet:
	go vet ./...

.PHONY: fmt-check
fmt-check:
	@out=$$(gofmt -l $$(git ls-files -co --exclude-standard '*.go')); test -z "$$out" || { echo "not gofmt'ed:"; echo "$$out"; exit 1; }

.PHONY: lint
lint: $(TOOLS)/golangci-lint ## run golangci-lint
	$(TOOLS)/golangci-lint run ./...

.PHONY: clean
clean: ## remove what was built
	rm -rf $(BIN)

# One go build makes all four; it takes some eight minutes of CPU time the first time.
$(CONTROLPLANE) &: tools/controlplane/go.mod
	CGO_ENABLED=0 go -C tools/controlplane build -trimpath -ldflags '$(KUBE_LDFLAGS)' -o $(BIN)/controlplane/ tool
	mv $(BIN)/controlplane/server $(BIN)/controlplane/etcd

# Tools are pinned in modules of their own, so that go.mod holds only what the product needs.
$(TOOLS)/golangci-lint: tools/lint/go.mod
	go -C tools/lint build -o $@ github.com/golangci/golangci-lint/v2/cmd/golangci-lint
$(TOOLS)/controller-gen: tools/gen/go.mod
	go -C tools/gen build -o $@ sigs.k8s.io/controller-tools/cmd/controller-gen
$(TOOLS)/benchstat: tools/bench/go.mod
	go -C tools/bench build -o $@ golang.org/x/perf/cmd/benchstat
