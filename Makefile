# The one task list. `make help` prints it.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.NOTPARALLEL:
MAKEFLAGS += --no-print-directory
# The engine that the set-up linked comes first; rustup's cargo last, when no profile has set PATH.
export PATH := $(CURDIR)/.venv/bin:$(PATH):$(HOME)/.cargo/bin
export CARGO_NET_RETRY ?= 10

bin := .venv/bin
cargo := cd engine && cargo
compile := $(bin)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
  --custom-compile-command "make lock" $(if $(UPGRADE),--upgrade)

##@ Use

.PHONY: help
help: ## Print this list
	@awk 'BEGIN { FS = ":.*## " } \
	  /^##@/ { printf "\n%s\n", substr($$0, 5) } \
	  /^[a-z0-9-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: setup
setup: ## Install what running Shardboard needs and build page and proxy
	@scripts/setup

.PHONY: demo
demo: setup ## Console, three agents, a live database with traffic; Ctrl-C stops it all
	@exec $(bin)/shardboard demo

.PHONY: clean-demo
clean-demo: ## Forget the demo: its database, shards and settings
	@if [ -x $(bin)/shardboard ]; then exec $(bin)/shardboard demo --clean; else echo "Nothing to forget."; fi

##@ Work on it

.PHONY: setup-tests
setup-tests: ## As setup, with what tests and checks need
	@scripts/setup --tests

.PHONY: tools
tools:
	@scripts/setup --tests --no-page --no-proxy

.PHONY: proxy
proxy: ## Build the endpoint proxy, engine/target/release/shardboard-proxy
	@scripts/setup --tests --no-page

.PHONY: dev
dev: setup-tests ## The demo, with the page reloading as its sources change
	@exec scripts/dev

.PHONY: test
test: lint setup-tests test-engine test-backend test-older test-store test-page e2e test-bench ## Everything: static checks, then every test

.PHONY: test-engine
test-engine: proxy ## Format, lint and tests of the proxy, with real Valkey processes
	@echo "== Engine"
	@$(cargo) fmt --check
	@$(cargo) clippy --quiet --release --locked --all-targets -- -D warnings
	@$(cargo) test --quiet --release --locked
	@$(bin)/pytest --quiet engine/chaos
	@$(bin)/python engine/chaos --short --seed 1
	@$(bin)/python engine/tier/oracle --seed 1 --rounds 8

.PHONY: torture
torture: setup-tests ## The flash tier beside a plain server, random commands for hours
	@$(bin)/python engine/tier/oracle --rounds 1000

.PHONY: chaos
chaos: setup-tests ## Six client libraries while shards and proxies fail, move and freeze under their load
	@$(bin)/python engine/chaos

.PHONY: test-backend
test-backend: proxy ## Backend tests on SQLite, with real Valkey processes
	@echo "== Backend on SQLite"
	@SHARDBOARD_TEST_DATABASE=sqlite $(bin)/pytest backend/tests

.PHONY: test-older
test-older: proxy ## Creation, failover and resharding on the engine that the distribution has
	@echo "== Backend on the distribution's engine"
	@older=$$(PATH="$${PATH#$(CURDIR)/.venv/bin:}" command -v valkey-server) && $$older --version && \
	  SHARDBOARD_ENGINE=$$older SHARDBOARD_TEST_DATABASE=sqlite $(bin)/pytest backend/tests -m older

.PHONY: test-store
test-store: proxy ## The backend tests that depend on the store, on a private PostgreSQL
	@echo "== Backend on PostgreSQL"
	@SHARDBOARD_TEST_DATABASE=postgres scripts/with-postgres $(bin)/pytest backend/tests -m store

.PHONY: test-page
test-page: tools ## Unit tests of the page
	@echo "== Page"
	@npm run test --silent --workspace frontend

.PHONY: e2e
e2e: setup-tests ## Playwright in Chromium against the real stack
	@echo "== Browser"
	@npm run test --silent --workspace e2e

.PHONY: test-bench
test-bench: setup-tests ## Every benchmark in its short form: that it works, not how fast
	@echo "== Benchmarks"
	@$(bin)/python -m bench --smoke

.PHONY: bench
bench: setup-tests ## Measure the speed limits against valkey-cli, in one run
	@exec $(bin)/python -m bench

##@ Keep it in order

.PHONY: check
check: lint audit ## All static checks, and known vulnerabilities of what we depend on

.PHONY: lint
lint: lint-python lint-page check-openapi check-migrations check-compose

.PHONY: lint-python
lint-python: tools
	@echo "== Python: format, lint, types, imports"
	@$(bin)/ruff format --check
	@$(bin)/ruff check
	@$(bin)/mypy
	@$(bin)/lint-imports --no-logo

.PHONY: lint-page
lint-page: tools
	@echo "== Page: format, lint, types"
	@npm run lint --silent --workspace frontend
	@npm run typecheck --silent --workspace frontend
	@npm run lint --silent --workspace e2e
	@npm run typecheck --silent --workspace e2e

.PHONY: check-openapi
check-openapi: tools
	@echo "== OpenAPI: description and generated client"
	@$(bin)/shardboard openapi | diff -u docs/openapi.json - || \
	  { echo "docs/openapi.json is behind the code: run make openapi"; exit 1; }
	@npm run openapi --silent --workspace frontend -- --check

.PHONY: check-migrations
check-migrations: tools
	@echo "== Migrations: the newest one makes the tables the code declares"
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
fmt: tools ## Format everything
	@$(bin)/ruff check --quiet --select I --fix
	@$(bin)/ruff format
	@npm run format --silent --workspace frontend
	@$(cargo) fmt

.PHONY: openapi
openapi: tools ## Write docs/openapi.json and the client generated from it
	@mkdir -p docs
	@$(bin)/shardboard openapi > docs/openapi.json.new
	@mv docs/openapi.json.new docs/openapi.json
	@npm run openapi --silent --workspace frontend

.PHONY: lock
lock: tools ## Renew the lock files from pyproject.toml; UPGRADE=1 takes the newest versions
	@$(compile) pyproject.toml --group build --output-file requirements.lock
	@$(compile) pyproject.toml --group dev --constraint requirements.lock --output-file requirements-dev.lock
	@npm install --package-lock-only --ignore-scripts --no-audit --no-fund

.PHONY: clean
clean: ## Remove everything that was installed or built here; state in var/ stays
	@rm -rf .venv node_modules frontend/node_modules e2e/node_modules frontend/dist build dist engine/target
	@rm -rf .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	@find backend migrations -name __pycache__ -type d -prune -exec rm -rf {} +
