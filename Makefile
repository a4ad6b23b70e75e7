# The only things assumed: Python 3.11 or later, make, git, and a package index to install from.

VENV := .venv
BIN := $(VENV)/bin
WORKERS ?= 2
# Tests of a module stay together, for what they share is made once for each worker.
SPREAD := --dist worksteal
BENCHMARKS ?= cold_start batch_cost throughput exchange proofs projection signing vectors retrieval

# The first interpreter that is new enough and can make a virtual environment.
PYTHON ?= $(shell for name in python3 python3.14 python3.13 python3.12 python3.11; do \
	"$$name" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
	&& { echo "$$name"; break; }; done)

.PHONY: help demo test crash fuzz lint bench docs clean

help:
	@echo 'make demo    watch memories being written, changed, projected and verified'
	@echo 'make test    run the tests, with branch coverage'
	@echo 'make crash   stop every operation at every system call (ten minutes; needs strace)'
	@echo 'make fuzz    put broken bytes to every reader, FUZZ_SECONDS=60 for each'
	@echo 'make lint    style, types and the layers of the package'
	@echo 'make bench   run the benchmarks'
	@echo 'make docs    write the generated pages of docs/ again'
	@echo 'make clean   remove what the others made'

demo: $(VENV)/.installed
	@rm -rf demo
	@PATH="$(CURDIR)/$(BIN):$$PATH" sh examples/demo/run.sh demo

test: $(VENV)/.developing
	$(BIN)/python -m pytest -n $(WORKERS) $(SPREAD) --cov --cov-report=term $(TESTS)

crash: $(VENV)/.developing
	$(BIN)/python -m pytest -n $(WORKERS) $(SPREAD) --thorough tests/crash tests/hostile

FUZZ_SECONDS ?= 60
FUZZ ?= ledger pack version bundle record

fuzz: $(VENV)/.developing
	@$(BIN)/python -m pip install --quiet --group fuzz \
		|| echo 'atheris cannot be installed here; inputs are changed at random' >&2
	@for name in $(FUZZ); do $(BIN)/python -m tests.fuzz.run "$$name" $(FUZZ_SECONDS) || exit 1; done

lint: $(VENV)/.developing
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/.developing
	@$(BIN)/python -m pip install --quiet --group bench
	@for name in $(BENCHMARKS); do $(BIN)/python -m "benchmarks.$$name" || exit 1; done

docs: $(VENV)/.installed
	$(BIN)/python docs/generate.py
	$(BIN)/python -m pamctl.cli.manual

clean:
	rm -rf $(VENV) demo build dist .coverage .coverage.* .hypothesis .import_linter_cache
	rm -rf .mypy_cache .pytest_cache .ruff_cache
	find pamctl tests benchmarks examples docs -name __pycache__ -type d -prune -exec rm -rf {} +

# What pamctl itself needs; made again when pyproject.toml has changed.
$(VENV)/.installed: pyproject.toml
	@test -n "$(PYTHON)" || { \
		echo 'pamctl needs Python 3.11 or later with its venv module, and found none.' >&2; \
		echo 'Install one (on Debian: python3 and python3-venv), or name it:' >&2; \
		echo '  make PYTHON=/path/to/python3' >&2; exit 1; }
	@echo 'Installing pamctl into $(VENV) ...'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1'
	@$(BIN)/python -m pip install --quiet --editable .
	@touch $@

# And what its developers need. pip knows dependency groups since 25.1.
$(VENV)/.developing: $(VENV)/.installed
	@echo 'Installing the tools of development into $(VENV) ...'
	@$(BIN)/python -m pip install --quiet --group dev
	@touch $@
