# Needs only Python >= 3.11: everything else is installed into .venv by pip.
#   make demo        a GEMM in C on the cores of a cluster, cycle by cycle on its RTL, checked; its
#                    report, timeline and Verilog in build/demo
#   make test        lint, types and the quick tests, in 8 minutes at most on two processors
#   make test-full   all fast tests, in 35 minutes at most; the quick ones are among them
#   make check ROOM=core   lint, import graph and the fast tests of one room, in a minute or two
#   make durations   make test and make test-full with nothing cached; records how long each file
#                    takes in tests/durations.json: workers start the longest first, and budgets
#                    of both commands are tested
#   make test-slow   full presets, sweeps, long fuzzing, then the mutants
#   make mutate      plants faults in the RTL and the models: each must fail a test
#   make formal      proves properties of queues, arbiters, MSHRs, barriers and the scoreboard, and
#                    plants faults that each proof must detect
#   make examples    runs all of examples/: own kernel, C driver, cocotb, LiteX, notebook
#   make docs-site   renders all pages with search and the Python interface, into build/site
#   make bench       runs all benchmarks with their targets, into bench/results/
#   make results     takes the stored results of README and docs again; continues after an interrupt
#   make PYTHON=/path/to/python3 ...   chooses the interpreter .venv is built with

VENV := .venv
BIN := $(VENV)/bin
WORKERS ?= 2
DEMO := build/demo

# The first interpreter on the path that is new enough.
SUPPORTED := import sys; sys.exit(sys.version_info < (3, 11))
ifndef PYTHON
PYTHON := $(shell for python in python3 python3.14 python3.13 python3.12 python3.11; do \
	"$$python" -c '$(SUPPORTED)' 2>/dev/null && echo "$$python" && break; done)
endif

.PHONY: venv demo examples test test-full check durations test-slow mutate formal bench results \
	lint harness yosys format docs docs-site clean
.DEFAULT_GOAL := venv

venv: $(VENV)/dev.stamp

$(VENV)/bin/python:
	@test -n "$(PYTHON)" || { echo "Spica needs Python 3.11 or newer: make PYTHON=/path/to/python3"; exit 2; }
	@"$(PYTHON)" -c '$(SUPPORTED)' || { echo "Spica needs Python 3.11 or newer, not $$("$(PYTHON)" -V)"; exit 2; }
	"$(PYTHON)" -m venv $(VENV)

# The demo needs no test tools; each stamp is newer than the pyproject.toml it was installed from.
$(VENV)/core.stamp: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --editable .
	@touch $@

$(VENV)/dev.stamp: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	@touch $(VENV)/core.stamp $@

demo: $(VENV)/core.stamp
	$(BIN)/spica run gemm --preset virgo --size 256 --json $(DEMO)/gemm.json --trace $(DEMO)/gemm.html
	$(BIN)/spica generate virgo -o $(DEMO)/verilog
	@echo "Open in a browser: $(DEMO)/gemm.html, what each engine did in every cycle"
	@echo "Written too: $(DEMO)/gemm.json, the result; $(DEMO)/verilog/virgo.v, the cluster in Verilog"

$(VENV)/examples.stamp: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --editable '.[examples]'
	@touch $(VENV)/core.stamp $@

# Exit code of an example without a tool that pip does not have: the others go on.
MISSING := 77

examples: $(VENV)/examples.stamp
	$(BIN)/python examples/own_kernel/run.py
	$(BIN)/python examples/bare_metal/run.py
	$(BIN)/python examples/cocotb/run.py || test $$? -eq $(MISSING)
	$(BIN)/python examples/litex/run.py
	@mkdir -p build/examples
	$(BIN)/jupyter-execute --output=../build/examples/sweep examples/sweep.ipynb
	@echo "All examples passed or were skipped; the executed notebook is build/examples/sweep.ipynb"

test: $(VENV)/dev.stamp
	@$(MAKE) --no-print-directory --jobs=2 lint harness yosys
	$(BIN)/python -m pytest -n $(WORKERS) $(HANGS) $(QUICK) $(REPORT)

# TIER=rest leaves out the quick tests, which `make test` has run.
test-full: TIER := full
test-full: $(VENV)/dev.stamp
	$(BIN)/python -m pytest -n $(WORKERS) $(HANGS) --tier=$(TIER) $(REPORT)

# The quick tests: neither of the full nor of the slow tier (tests/support/tiers.py).
QUICK := --tier=quick

# A fast test that hangs ends with the stacks of all threads, and its worker is replaced.
HANGS := -o faulthandler_timeout=1200 -o faulthandler_exit_on_timeout=true

# Tests of one room: a folder of tests/hw, tests/model, tests/system or tests/tools, or one of these.
ROOM ?=
CHECKED = $(firstword $(wildcard $(foreach part,hw model system tools,tests/$(part)/$(ROOM)) tests/$(ROOM)))

check: $(VENV)/dev.stamp
	@test -n "$(ROOM)" -a -n "$(CHECKED)" || { \
		echo "make check needs a room with tests, such as ROOM=core, ROOM=memory or ROOM=cli, not '$(ROOM)'"; \
		exit 2; }
	@failed=0; set -x; \
	$(BIN)/ruff check . || failed=1; \
	$(BIN)/ruff format --check . || failed=1; \
	$(BIN)/python -m pytest -q -n $(WORKERS) tests/tools/packaging/test_import_graph.py $(CHECKED) \
		|| failed=1; \
	{ set +x; } 2>/dev/null; exit $$failed

# A tier with an empty cache, from the start of its command to its record.
define measured
	rm -rf build/durations
	mkdir -p build/durations && date +%s > build/durations/started
	SPICA_CACHE=$(CURDIR)/build/durations/cache $(MAKE) $(2) REPORT=--junitxml=build/durations/tests.xml
	PYTHONPATH=tests $(BIN)/python -m support.durations $(1) build/durations/tests.xml $(WORKERS) \
		$$(cat build/durations/started)
endef

durations: $(VENV)/dev.stamp
	$(call measured,quick,test)
	$(call measured,full,test-full)

test-slow: $(VENV)/dev.stamp
	$(BIN)/python -m pytest -n $(WORKERS) -m slow
	$(BIN)/python -m bench.mutate

mutate: $(VENV)/dev.stamp
	$(BIN)/python -m bench.mutate

formal: $(VENV)/dev.stamp
	$(BIN)/python -m formal --workers $(WORKERS)

bench: $(VENV)/dev.stamp
	$(BIN)/python -m bench

results: $(VENV)/dev.stamp
	$(BIN)/python -m bench.stored
	$(BIN)/python docs/measured.py

lint: $(VENV)/dev.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright

# The simulation's own library. Its link builds the compiler's C++ library, for which all other
# builds would wait; it takes as long as lint.
harness: $(VENV)/dev.stamp
	@$(BIN)/python -c 'from spica.sim.engine.verilator_model import build_harness as build; build()'

# Yosys is compiled for this machine at its first run, for which all first conversions would wait.
yosys: $(VENV)/dev.stamp
	@$(BIN)/python -c 'from spica.base.yosys import yosys_command as compiled; compiled()'

format: $(VENV)/dev.stamp
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(VENV)/dev.stamp
	$(BIN)/python docs/reference.py
	$(BIN)/python docs/tensor_numerics.py
	$(BIN)/python docs/isa.py
	$(BIN)/python docs/pipeline.py
	$(BIN)/python docs/results.py
	$(BIN)/python docs/measured.py
	$(BIN)/python docs/profile_picture.py
	$(BIN)/spica run gemm --preset virgo --size 256 --trace docs/pictures/overview.svg
	$(BIN)/spica run gemm --preset ampere --size 128x128x512 --trace docs/pictures/tensor_cores.svg
	$(BIN)/spica run gemm --preset hopper --size 128x64x512 --trace docs/pictures/shared_operands.svg
	$(BIN)/spica run attention --preset virgo --size 64x64 --keys 640 --trace docs/pictures/attention.svg

$(VENV)/docs.stamp: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --editable '.[docs]'
	@touch $(VENV)/core.stamp $@

docs-site: $(VENV)/docs.stamp
	$(BIN)/python docs/website.py
	@echo "The search needs a server: $(BIN)/python -m http.server --directory build/site"
	@echo "Then open http://localhost:8000"

clean:
	rm -rf $(VENV) build dist spica.egg-info .pytest_cache .ruff_cache .hypothesis
