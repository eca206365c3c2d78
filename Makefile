# From a bare clone: `make demo`, `make test` and `make docs`. Each builds .venv by itself.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check

.PHONY: demo test lint types unit docs format clean attack

demo: $(VENV)/.installed-demo
	$(BIN)/python examples/demo.py --output demo/translations.png

test: lint types unit

lint: $(VENV)/.installed-paper
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-logo

types: $(VENV)/.installed-paper
	$(BIN)/mypy

unit: $(VENV)/.installed-paper
	$(BIN)/python -m pytest --numprocesses 2 --dist worksteal

# All fuzzers, recoveries, kills and measurements of memory: hours. SHARE=0.01 tries a hundredth.
SHARE ?= 1
attack: $(VENV)/.installed-test
	$(BIN)/python benchmarks/attack.py --share $(SHARE)

# The site, in build/site; then its links, its reference and what its pages would fetch are checked.
docs: $(VENV)/.installed-docs
	rm -rf build/site
	$(BIN)/python -m sphinx --fail-on-warning --keep-going --jobs auto --quiet -d build/doctrees docs build/site
	$(BIN)/python -m pytest --quiet docs/tests

format: $(VENV)/.installed-test
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

# Files are checked against the hashes in requirements/ on the platform that they were taken from; torch
# is not, because indexes serve different builds of one version. Elsewhere versions are pinned alone.
PLATFORM := $(shell $(PYTHON) -c 'import platform as p; print(p.python_implementation(), *p.python_version_tuple()[:2], p.system(), p.machine())')

$(VENV)/.installed-%: pyproject.toml constraints.txt requirements/%.lock | $(VENV)/bin/python
ifeq ($(PLATFORM),CPython 3 11 Linux x86_64)
	$(PIP) install --quiet --require-hashes --no-deps --requirement requirements/$*.lock
	$(PIP) install --quiet --constraint constraints.txt torch
	$(PIP) install --quiet --no-deps --no-build-isolation --editable .
else
	$(PIP) install --quiet --constraint constraints.txt --editable '.[$*]'
endif
	touch $@

# The project in paper/ needs nothing but what the tests of the library have.
$(VENV)/.installed-paper: paper/pyproject.toml $(VENV)/.installed-test
ifeq ($(PLATFORM),CPython 3 11 Linux x86_64)
	$(PIP) install --quiet --no-deps --no-build-isolation --editable paper
else
	$(PIP) install --quiet --no-deps --editable paper
endif
	touch $@

clean:
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis
