# Tasks of the project. `make help` lists them.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.NOTPARALLEL:
MAKEFLAGS += --no-print-directory
# The engine that the setup copied comes first; rustup's cargo last, for shells without a profile that sets PATH.
export PATH := $(CURDIR)/.venv/bin:$(PATH):$(HOME)/.cargo/bin
export CARGO_NET_RETRY ?= 10

bin := .venv/bin
cargo := cd engine && cargo
# Folder of Go, which only the Terraform provider needs; empty if it is not installed.
go = $(dir $(or $(shell command -v go),$(wildcard /usr/local/go/bin/go)))
# make test-all sets ALL: all tests run, and failed tests are not repeated.
# Print the time of each Rust test, which the test harness of a stable compiler only reports with this variable.
timed := --config 'target."cfg(all())".runner = "env RUSTC_BOOTSTRAP=1"'
quick := not slow and not quarantine
# More than the number of CPUs, because tests with real processes mostly wait; tests of the store compute.
workers := 3
# The schemathesis plug-in costs each worker a third of a second, and no test uses it.
parallel = -p no:schemathesis --numprocesses $(workers) --dist loadfile --durations 15
compile := $(bin)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
  --custom-compile-command "make lock" $(if $(UPGRADE),--upgrade)

##@ Use

.PHONY: help
help: ## Print this list
	@awk 'BEGIN { FS = ":.*## " } \
	  /^##@/ { printf "\n%s\n", substr($$0, 5) } \
	  /^[a-z0-9-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: setup
setup: ## Install the dependencies of Shardboard and build web UI and proxy
	@scripts/setup $(if $(filter-out 1,$(CONSOLES)),--postgres)

.PHONY: demo
demo: setup ## Run a console (CONSOLES=2: two), three agents and a database with traffic; Ctrl-C stops everything
	@exec $(bin)/shardboard demo $(if $(CONSOLES),--consoles $(CONSOLES))

.PHONY: wheel
wheel: setup ## Build one file for `pip install` with the web UI, proxy, load generator, mover and flash module, in dist/
	@$(bin)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation --wheel-dir dist .
	@ls dist/*.whl

.PHONY: sbom
sbom: tools ## Write the software bill of materials (CycloneDX) of a release to dist/sbom
	@$(bin)/python scripts/sbom

.PHONY: clean-demo
clean-demo: ## Delete the demo: its database, shards and settings
	@if [ -x $(bin)/shardboard ]; then exec $(bin)/shardboard demo --clean; else echo "Nothing to delete."; fi

##@ Develop

.PHONY: setup-tests
setup-tests: ## Like setup, and install the dependencies of tests and checks
	@scripts/setup --tests

.PHONY: tools
tools:
	@scripts/setup --tests --no-page --no-proxy

.PHONY: proxy
proxy: ## Build the endpoint proxy, engine/target/release/shardboard-proxy
	@scripts/setup --tests --no-page

.PHONY: dev
dev: setup-tests ## Run the demo with a web UI that reloads when its sources change
	@exec scripts/dev

.PHONY: test
test: tools ## Run all checks and all tests except slow ones, in about ten minutes; list failures at the end
	@exec $(bin)/python scripts/run-tests

.PHONY: test-all
test-all: tools ## Run all checks and tests, including slow ones, with the distribution's engine, and run all benchmarks briefly
	@exec $(bin)/python scripts/run-tests --all

.PHONY: help-quarantine
help-quarantine: ## List the tests that fail at random for unknown reasons
	@grep --recursive --line-number --after-context 1 "mark.quarantine(" backend/tests --include '*.py' || echo "None."

.PHONY: test-engine
test-engine: proxy ## Test proxy, load generator, mover and flash module with real Valkey processes
	@$(if $(ALL),export SHARDBOARD_THOROUGH=1;) $(cargo) test --release --locked --no-fail-fast --lib --bins --tests $(timed) -- --test-threads 6 -Z unstable-options --report-time

.PHONY: simulate
simulate: setup-tests ## Simulate the proxy's worker with clients, shards, and failures, with 10,000 seeds
	@SHARDBOARD_SIMULATION=0..10000 $(cargo) test --quiet --release --locked --package proxy --lib simulation

.PHONY: test-chaos
test-chaos: proxy ## Briefly test client libraries while shards and proxies fail, and compare the flash module with a plain server
	@$(if $(ALL),SHARDBOARD_KILLS=50) $(bin)/pytest --quiet engine/testkit/chaos engine/tier
	@$(bin)/python engine/testkit/chaos --short --seed 1
	@$(if $(ALL),$(bin)/python engine/testkit/conformance/reply_injection.py --check)
	@$(if $(ALL),$(bin)/python engine/testkit/conformance/fuzz.py --seed 1 --seconds 120)
	@$(if $(ALL),$(bin)/python engine/testkit/conformance/hostile.py --seed 1 --seconds 30)
	@$(bin)/python engine/tier/oracle --seed 1 --rounds $(if $(ALL),40,8)

.PHONY: torture
torture: setup-tests proxy ## Compare the proxy and the flash module with a plain server by random commands for hours
	@$(bin)/python engine/testkit/conformance/fuzz.py --seconds 3600
	@$(bin)/python engine/testkit/conformance/hostile.py --seconds 240
	@$(bin)/python engine/tier/oracle --rounds 1000

.PHONY: chaos
chaos: setup-tests ## Test six client libraries under load while shards and proxies fail, move and freeze
	@$(bin)/python engine/testkit/chaos

.PHONY: test-backend
test-backend: setup-tests ## Run the backend tests on SQLite with real Valkey processes
	@SHARDBOARD_TEST_DATABASE=sqlite $(bin)/pytest backend/tests $(parallel) $(if $(ALL),--thorough,-m "$(quick)")

.PHONY: test-older
test-older: proxy ## Test creation, failover and resharding with the distribution's engine
	@older=$$(PATH="$${PATH#$(CURDIR)/.venv/bin:}" command -v valkey-server) && $$older --version && \
	  SHARDBOARD_ENGINE=$$older SHARDBOARD_TEST_DATABASE=sqlite $(bin)/pytest backend/tests $(parallel) -m older

.PHONY: test-terraform
test-terraform: proxy lint-terraform ## Test the Terraform provider with a running console, if Go is installed
	@$(if $(go),PATH="$$PATH:$(go)" $(bin)/pytest -p no:schemathesis --quiet integrations/terraform)

.PHONY: test-store
test-store: workers := 2
test-store: proxy ## Run the backend tests that depend on the store on a temporary PostgreSQL
	@SHARDBOARD_TEST_DATABASE=postgres scripts/with-postgres $(bin)/pytest backend/tests $(parallel) -m "$(if $(ALL),store or store_in_all,store and not store_in_all and $(quick))" \
	  $(if $(ALL),--thorough,--one-of-each -k "not every_step and not KilledConsole")

.PHONY: test-web-ui
test-web-ui: tools ## Run the unit tests of the web UI
	@npm run test --silent --workspace frontend

.PHONY: e2e
e2e: setup-tests ## Run Playwright in Chromium against the real stack
	@ALL=$(ALL) npm run test --silent --workspace e2e

.PHONY: screenshots
screenshots: setup-tests ## Run all browser tests, and take screenshots of all views in e2e/screenshots
	@ALL=1 SCREENSHOTS=1 npm run test --silent --workspace e2e

.PHONY: test-bench
test-bench: setup-tests ## Run all benchmarks briefly to check that they work
	@$(bin)/python -m perf --smoke

.PHONY: check-bench
check-bench: setup-tests ## Run the short benchmarks and compare their figures with perf/figures.toml
	@exec $(bin)/python -m perf --check

.PHONY: check-collection
check-collection: setup-tests ## Monitor 128 shards for a minute and compare the cost with perf/figures.toml
	@exec $(bin)/python -m perf --check collection-128

.PHONY: bench
bench: setup-tests ## Run the benchmarks and check their limits, including comparisons with valkey-cli
	@exec $(bin)/python -m perf

##@ Maintain

.PHONY: check
check: lint audit ## Run all static checks, and check dependencies for known vulnerabilities

.PHONY: lint
lint: lint-python lint-web-ui lint-engine lint-terraform lint-prose check-openapi check-migrations check-compose

.PHONY: lint-python
lint-python: tools
	@echo "== Python: format, lint, types, imports"
	@$(bin)/ruff format --check
	@$(bin)/ruff check
	@$(bin)/mypy
	@$(bin)/lint-imports --no-logo

.PHONY: lint-web-ui
lint-web-ui: tools
	@echo "== Web UI: format, lint, types"
	@npm run lint --silent --workspace frontend
	@npm run typecheck --silent --workspace frontend
	@npm run lint --silent --workspace e2e
	@npm run typecheck --silent --workspace e2e

.PHONY: lint-engine
lint-engine: tools
	@echo "== Engine: format, lint, imports"
	@$(bin)/python scripts/check-modules
	@$(cargo) fmt --check
	@$(cargo) clippy --quiet --release --locked --all-targets -- -D warnings

.PHONY: lint-terraform
lint-terraform:
	@echo "== Terraform provider: format, vet"
	@$(if $(go),cd integrations/terraform && test -z "$$($(go)gofmt -l . | tee /dev/stderr)" && $(go)go vet ./..., \
	  echo "Skipped: Go is not installed.")

.PHONY: lint-prose
lint-prose: tools
	@echo "== Wording: documentation, comments, messages, web UI"
	@$(bin)/python scripts/check-prose

.PHONY: keep-crates
keep-crates: proxy
	@scripts/keep-crates

.PHONY: check-openapi
check-openapi: tools
	@echo "== OpenAPI: description and generated client"
	@$(bin)/shardboard openapi | diff -u docs/openapi.json - || \
	  { echo "docs/openapi.json is out of date: run make openapi"; exit 1; }
	@npm run openapi --silent --workspace frontend -- --check

.PHONY: check-migrations
check-migrations: tools
	@echo "== Migrations: compare the schema with the declared tables"
	@scripts/with-postgres $(bin)/python scripts/check-migrations

.PHONY: check-compose
check-compose: tools
	@echo "== Compose file and images"
	@$(bin)/python scripts/check-compose

.PHONY: audit
audit: tools
	@echo "== Known vulnerabilities"
	@$(bin)/python scripts/audit

.PHONY: fmt
fmt: tools ## Format all sources
	@$(bin)/ruff check --quiet --select I --fix
	@$(bin)/ruff format
	@npm run format --silent --workspace frontend
	@npm run format --silent --workspace e2e
	@$(cargo) fmt

.PHONY: openapi
openapi: tools ## Write docs/openapi.json, and generate the client from it
	@mkdir -p docs
	@$(bin)/shardboard openapi > docs/openapi.json.new
	@mv docs/openapi.json.new docs/openapi.json
	@npm run openapi --silent --workspace frontend

.PHONY: lock
lock: tools ## Update the lock files from pyproject.toml; UPGRADE=1 selects the newest versions
	@$(compile) pyproject.toml --group build --output-file requirements.lock
	@$(compile) pyproject.toml --group build --extra sftp --constraint requirements.lock --output-file requirements-container.lock
	@$(compile) pyproject.toml --group dev --constraint requirements.lock --output-file requirements-dev.lock
	@npm install --package-lock-only --ignore-scripts --no-audit --no-fund

.PHONY: clean
clean: ## Remove everything that was installed or built here, except var/
	@rm -rf .venv node_modules frontend/node_modules e2e/node_modules frontend/dist build dist engine/target
	@rm -rf .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	@find backend migrations -name __pycache__ -type d -prune -exec rm -rf {} +
