# Everything that the project can do, from a fresh machine with Python and make.

PYTHON ?= python3
JOBS ?= auto

BIN := .venv/bin
STAMP := .venv/.installed
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
PYTEST := $(BIN)/python -m pytest -n $(JOBS) --maxprocesses 8 --dist worksteal

.DEFAULT_GOAL := help
.PHONY: help venv demo test test-all lint format bench docs clean

help:  ## List the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 12

venv: $(STAMP)  ## Set up .venv with the package, its tests and its linters

$(STAMP): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(PIP) --editable '.[test,dev]'
	touch $@

demo: venv  ## Run the main job: a sharded transformer, staged, compiled and checked
	$(BIN)/python examples/sharded_transformer.py

test: venv  ## Run the tests, but not the slow ones
	$(PYTEST) -m 'not slow'

test-all: venv  ## Run all tests
	$(PYTEST)

lint: venv  ## Check style, format and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright --project .
	$(BIN)/pyright --project tests

format: venv  ## Mend style and format where a tool can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: venv  ## Run the benchmarks, one after another
	set -e; for file in benchmarks/[!_]*.py; do $(BIN)/python $$file; done

docs: venv  ## Build the docs as pages, in build/docs
	$(PIP) --editable '.[docs]'
	$(BIN)/mkdocs build --quiet

clean:  ## Remove what the other targets made
	rm -rf .venv build dist .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
