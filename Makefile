# Targets that a newcomer needs: demo, test, check. See CONTRIBUTING.md.

# One setting for build, vet, tests and staticcheck, so that they share what
# they compile. The race detector is the one step that needs C.
export CGO_ENABLED = 0

# The program, the demo and the tests never touch a database by accident.
unexport DATABASE_URL

VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)

.PHONY: help demo build test soak check bench conformance audit clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: build ## build, then watch six months of memories go by
	@bin/oxbow demo

build: ## build bin/oxbow
	@echo "building bin/oxbow: the first build compiles SQLite and takes a minute or two; each line is a finished package" >&2
	@go build -v -trimpath -buildvcs=false -ldflags '-s -w -X main.version=$(VERSION)' -o bin/oxbow ./cmd/oxbow

test: ## run all tests on SQLite and on a throwaway Postgres
	@scripts/with-postgres go test ./...

soak: ## two thousand turns through killed processes, on both databases
	@OXBOW_SOAK=1 scripts/with-postgres go test ./internal/crash -run TestLongHistory -count=1 -v

check: ## what CI runs: format, vet, lint, layers, tests, race, modules
	@scripts/check

bench: ## print the table of speeds and sizes
	@scripts/with-postgres --durable go run ./bench

conformance: ## hold the MCP server to the official suite on both databases; needs Node and a network
	@scripts/with-postgres scripts/conformance

audit: ## look for known holes in the modules; needs a network
	@go run golang.org/x/vuln/cmd/govulncheck@v1.8.0 ./...

clean: ## remove what build made
	@rm -rf bin
