# Two commands: `make demo` sets up and trains a network; `make test` sets up and runs every check.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUN := $(BIN)/python -m

.PHONY: help demo test test-long test-pythons check bench roofline conformance docs clean

help:
	@echo "make demo   train a network to read handwritten digits; results go to runs/"
	@echo "make test   every check: lint, types, tests"
	@echo "make test-long   the same, with all cases of those walks that make test takes a part of"
	@echo "make test-pythons  the tests on every interpreter found, with the newest and the oldest NumPy and SciPy"
	@echo "make check  lint and types only"
	@echo "make docs   run every code block of README, docs and docstrings"
	@echo "make conformance   differentiate 45 packages of other people, and write what became of them"
	@echo "make bench  measure adjoint beside other libraries"
	@echo "make roofline  measure this machine's limits, and what compiled functions take of them"
	@echo "make clean  remove .venv, runs and builds"

demo: $(VENV)/ready
	$(BIN)/adjoint train digits

test: check $(VENV)/ready
	OPENBLAS_NUM_THREADS=1 $(RUN) pytest -q -n auto

test-long: check $(VENV)/ready
	ADJOINT_WALK=whole OPENBLAS_NUM_THREADS=1 $(RUN) pytest -q -n auto

test-pythons:
	$(PYTHON) scripts/test_pythons.py

check: $(VENV)/ready
	$(RUN) ruff check .
	$(RUN) ruff format --check .
	$(RUN) mypy

docs: $(VENV)/ready
	$(RUN) pytest -q tests/test_docs.py

conformance: $(VENV)/ready
	$(RUN) pip install --quiet --editable ".[conformance]"
	$(BIN)/python scripts/conformance.py
	$(BIN)/python scripts/strangers.py

bench: $(VENV)/ready-bench
	$(BIN)/python -m benchmarks
	$(BIN)/python -m benchmarks.readme

roofline: $(VENV)/ready
	$(BIN)/python -m benchmarks.roofline

$(VENV)/ready: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(RUN) pip install --quiet --editable ".[dev,examples,plot]"
	touch $@

$(VENV)/ready-bench: $(VENV)/ready
	$(RUN) pip install --quiet --editable ".[bench]"
	touch $@

clean:
	rm -rf $(VENV) .venv-* runs build dist
