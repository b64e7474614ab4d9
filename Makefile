# Two commands are enough: `make demo` and `make test`. Both set up what they need.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SOURCES := src tests benchmarks docs

.PHONY: help demo test lint types contracts tests long docs figures outputs build bench mixed loss closeness adult audit linkage papers torture stream streammethods clean

help:  ## Say what there is
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/'

$(BIN)/shoal: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "shoal needs Python 3.11 or newer; name one: make PYTHON=python3.12 demo"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(VENV)/.dev: pyproject.toml $(BIN)/shoal
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@ $(BIN)/shoal && touch $@

demo: $(BIN)/shoal  ## Write a synthetic survey, protect it, and print the proof
	$(BIN)/shoal demo demo --force

test: $(VENV)/.dev  ## Lint, types, import contracts, documentation and all tests but the long ones
	$(MAKE) --no-print-directory -j 2 lint types contracts docs
	$(MAKE) --no-print-directory tests

lint: $(VENV)/.dev  ## Style
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.dev  ## Types
	$(BIN)/mypy

contracts: $(VENV)/.dev  ## Who may import whom
	$(BIN)/lint-imports --no-logo

docs: $(VENV)/.dev  ## Build the documentation; a warning is an error
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

tests: $(VENV)/.dev  ## All tests but the long ones
	$(BIN)/pytest -n 2 --dist worksteal

long: $(VENV)/.dev  ## Tests that take minutes, and property tests with many more examples
	$(BIN)/pytest -n 2 --dist worksteal -m 'long or hypothesis' --hypothesis-profile long

figures: $(VENV)/.dev  ## Draw the figures of the documentation again
	$(BIN)/python docs/figures.py

outputs: $(VENV)/.dev  ## Print what commands in the documentation print, into it
	$(BIN)/python -m shoal.index
	$(BIN)/python docs/outputs.py
	$(BIN)/python docs/architecture.py

build: $(VENV)/.dev  ## Wheel and source distribution
	$(BIN)/python -m build --installer pip

bench: $(VENV)/.dev  ## Measure MDAV; takes long
	$(BIN)/python benchmarks/mdav.py

mixed: $(VENV)/.dev  ## Measure tables with categories next to numbers
	$(BIN)/python benchmarks/mixed.py

loss: $(VENV)/.dev  ## Measure what each method loses; takes minutes, needs SHOAL_DATA
	$(BIN)/python benchmarks/loss.py
	$(BIN)/python benchmarks/loss.py --scale

closeness: $(VENV)/.dev  ## Measure the methods that promise t-closeness; takes minutes, needs SHOAL_DATA
	$(BIN)/python benchmarks/closeness.py

adult: $(VENV)/.dev  ## Measure mixed kinds with ontologies, on Adult; takes minutes, needs SHOAL_DATA
	$(BIN)/python benchmarks/adult.py

audit: $(VENV)/.dev  ## Measure all audits against a plain grouping; takes minutes
	$(BIN)/python benchmarks/audit.py

linkage: $(VENV)/.dev  ## Measure distance linkage against the matrix of all distances; takes minutes
	$(BIN)/python benchmarks/linkage.py

stream: $(VENV)/.dev  ## Measure streams in process and from file to file, against plain transcriptions; takes minutes
	$(BIN)/python benchmarks/stream.py

streammethods: $(VENV)/.dev  ## Measure methods of streams, and what demands cost; takes minutes, needs SHOAL_DATA
	$(BIN)/python benchmarks/stream_methods.py

papers: $(VENV)/.dev  ## Print the figures of the papers next to ours, and draw them; takes minutes, needs SHOAL_DATA
	$(BIN)/python benchmarks/papers

torture: $(VENV)/.dev  ## Kill streams 200 times over every channel, and count what was lost; takes minutes
	$(BIN)/python benchmarks/torture.py --kills 200

clean:  ## Remove what was made
	rm -rf $(VENV) dist build site demo .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
