# Weir's one entry for people and CI. `make help` lists the targets.
export GOTOOLCHAIN := go1.27.3

BIN   := $(CURDIR)/bin
TOOLS := $(BIN)/tools
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS := -s -w -X main.version=$(VERSION)

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: ## build the weir CLI into bin/
	go build -trimpath -ldflags '$(LDFLAGS)' -o $(BIN)/weir ./cmd/weir

.PHONY: test
test: ## run all tests
	go test ./...

.PHONY: check
check: fmt-check vet lint race ## everything that CI runs

.PHONY: race
race: ## run all tests under the race detector
	go test -race ./...

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

# Tools are pinned in modules of their own, so that go.mod holds only what the product needs.
$(TOOLS)/golangci-lint: tools/lint/go.mod
	go -C tools/lint build -o $@ github.com/golangci/golangci-lint/v2/cmd/golangci-lint
$(TOOLS)/controller-gen: tools/gen/go.mod
	go -C tools/gen build -o $@ sigs.k8s.io/controller-tools/cmd/controller-gen
$(TOOLS)/benchstat: tools/bench/go.mod
	go -C tools/bench build -o $@ golang.org/x/perf/cmd/benchstat
