# make test   everything that must hold, on a fresh machine with python3, make and a C compiler
# make test-all   the same with LLVM's optimiser on for every case, each program in every layout, the IR verified after
#                 each pass: hours
# make demo   the plate problem, from a decorated function to an object file
# make valgrind   malformed calls under valgrind, if it is installed
# make stencils   500 random stencil programs, each on 1, 2, 3, 4 and 8 threads
# make fuzz   20,000 random programs on long arrays, 20,000 of all kinds of statements, 20,000 of numerical idioms
# make bench   the benchmark suite, beside its peers
# make dist   sdist and wheel, checked by twine
# make docs   the site, in docs/_build/html; warnings are errors

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
FUZZ_PROGRAMS ?= 20000
FUZZ_FIRST ?= 0

# Bytecode is kept, whatever the environment says: tests start dozens of processes.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: test test-all wheel lint types layers unit demo fuzz stencils valgrind bench bench-more dist docs clean

# What uses one core runs two at a time, before the tests, which use all.
test: $(VENV)/test
	+$(MAKE) --no-print-directory $(if $(filter -j% --jobserver%,$(MAKEFLAGS)),,--jobs=2) wheel lint types layers
	+$(MAKE) --no-print-directory unit

test-all: export ADC_LEVEL := 3
test-all: export ADC_VERIFY := 1
test-all: export ADC_THOROUGH := 1
test-all: test

# One virtual environment, with an editable install; the stamp names the extras that are in it.
$(VENV)/base: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -qq --disable-pip-version-check --upgrade "pip>=23.2" "setuptools>=77"
	$(BIN)/python -m pip install -qq --disable-pip-version-check --no-build-isolation -e .
	touch $@

$(VENV)/test: $(VENV)/base
	$(BIN)/python -m pip install -qq --disable-pip-version-check --no-build-isolation -e ".[dev,test]"
	touch $@

$(VENV)/examples: $(VENV)/base
	$(BIN)/python -m pip install -qq --disable-pip-version-check --no-build-isolation -e ".[examples]"
	touch $@

$(VENV)/bench: $(VENV)/base
	$(BIN)/python -m pip install -qq --disable-pip-version-check --no-build-isolation -e ".[bench,test]"
	touch $@

$(VENV)/docs: $(VENV)/base
	$(BIN)/python -m pip install -qq --disable-pip-version-check --no-build-isolation -e ".[docs,examples]"
	touch $@

# The wheel is built and installed into an environment of its own, and used from outside the root, where the
# checkout cannot stand in for what the wheel lacks.
wheel: $(VENV)/base
	rm -rf build dist
	$(BIN)/python -m pip wheel -qq --disable-pip-version-check --no-build-isolation --no-deps -w dist .
	test -x $(VENV)-wheel/bin/python || $(PYTHON) -m venv $(VENV)-wheel
	$(VENV)-wheel/bin/python -m pip install -qq --disable-pip-version-check --no-compile --force-reinstall --no-deps dist/*.whl
	$(VENV)-wheel/bin/python -m pip install -qq --disable-pip-version-check --no-compile dist/*.whl
	cd / && $(abspath $(VENV)-wheel)/bin/python -P $(abspath tests/wheel_smoke.py)

lint: $(VENV)/test
	$(BIN)/ruff check .
	$(BIN)/python -m pytest -q tests/docs/test_language.py

types: $(VENV)/test
	$(BIN)/mypy

layers: $(VENV)/test
	$(BIN)/python -m pytest tests/test_layering.py -q

unit: $(VENV)/test
	$(BIN)/python -m pytest tests -q --ignore=tests/test_layering.py -n auto --dist worksteal

demo: $(VENV)/examples
	$(BIN)/adc demo --output demo-output

fuzz: $(VENV)/test
	$(BIN)/python -m tests.arrays.run --programs $(FUZZ_PROGRAMS) --first $(FUZZ_FIRST)
	$(BIN)/python -m tests.fuzz.run --programs $(FUZZ_PROGRAMS) --first $(FUZZ_FIRST)
	$(BIN)/python -m tests.fuzz.run --programs $(FUZZ_PROGRAMS) --first $(FUZZ_FIRST) --idioms

stencils: $(VENV)/test
	$(BIN)/python -m tests.stencils.run

valgrind: $(VENV)/test
	$(BIN)/python tests/safety/under_valgrind.py

bench: $(VENV)/bench
	$(BIN)/python -m benchmarks.suite --scaling

dist: $(VENV)/base
	rm -rf dist
	$(BIN)/python -m pip install -qq --disable-pip-version-check build twine
	$(BIN)/python -m build -o dist . > /dev/null
	$(BIN)/python -m twine check --strict dist/*

docs: $(VENV)/docs
	$(BIN)/python -m sphinx -b html -W --keep-going -q docs docs/_build/html
	@echo "open docs/_build/html/index.html"

# What the suite does not ask: machine code, calls, bounds checks, maps, the time to compile and to the first gradient.
bench-more: $(VENV)/bench
	for name in stencil heat bounds overflow call_overhead pullback vmap hvp compile_time first_gradient latency; do \
	  echo "== $$name"; $(BIN)/python -m benchmarks.$$name || exit 1; done

clean:
	rm -rf $(VENV) $(VENV)-wheel build dist demo-output bench-output docs/_build docs/auto_gallery .pytest_cache .mypy_cache .ruff_cache
