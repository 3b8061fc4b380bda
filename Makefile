# Each target sets up .venv first; later calls reuse it.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
PAGES := .venv/.pages
RIVALS := .venv/.rivals
OLDEST := .venv-oldest/.ready

# Small matrices: one thread inside each process is faster than several.
export OMP_NUM_THREADS := 1
export OPENBLAS_NUM_THREADS := 1
export MKL_NUM_THREADS := 1
# Tests start many processes: each would compile the package to bytecode again.
unexport PYTHONDONTWRITEBYTECODE

# What is given to a study or a benchmark, as in: make study-limits OPTIONS=--quick
OPTIONS ?=

.PHONY: help demo demo-service docs pictures test test-slow test-oldest test-extras check bench clean

help:
	@echo "make demo   a review of spam, where deciding pays; then the paper's inventory panel"
	@echo "make demo-service  the decision service with simulated clients, and a page to watch it"
	@echo "make test   all tests but the slow ones"
	@echo "make test-slow  tests that start servers, many processes or benchmarks; properties on more examples"
	@echo "make test-oldest  the kernels with the oldest numba that is allowed"
	@echo "make test-extras  what needs PyTorch, Vowpal Wabbit, coba or Ray (large downloads)"
	@echo "make check  lint, types, import contract"
	@echo "make docs   the documentation site, into site/index.html"
	@echo "make bench  all benchmarks, into benchmarks/RESULTS.md; make bench-NAME for one part"
	@echo "make bench-faults  kills, interrupts, damage, full disks: is anything lost or confused?"
	@echo "make pictures  all pictures of the documentation, for which GRAPHCB_DATA must name the data"
	@echo "make study-NAME  bakeoff, limits, unknown-graphs, auctions, coverage, obd or routing, into results; OPTIONS=--quick needs no data"
	@echo "make clean  remove .venv, results and caches"

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check \
		--constraint constraints.txt --editable ".[experiments,dev,reference]"
	@touch $@

demo: $(READY)
	$(BIN)/python docs/examples/spam_review.py
	$(BIN)/graphcb reproduce inventory-fixed --quick --out results

demo-service: $(READY)
	$(BIN)/graphcb serve --demo

test: $(READY)
	$(BIN)/python -m pytest --numprocesses auto --dist worksteal -m "not slow"

test-slow: $(READY)
	$(BIN)/python -m pytest --numprocesses auto --dist worksteal \
		-m "slow or hypothesis" --hypothesis-profile thorough

$(OLDEST): pyproject.toml
	$(PYTHON) -m venv .venv-oldest
	.venv-oldest/bin/python -m pip install --quiet --disable-pip-version-check \
		--editable . numba==0.61.0 hypothesis pytest
	@touch $@

# Machine code of one numba would replace that of the other.
test-oldest: $(OLDEST)
	NUMBA_CACHE_DIR=$(CURDIR)/.venv-oldest/compiled .venv-oldest/bin/python -m pytest tests/compilation tests/exploration

test-extras: $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check \
		--constraint constraints.txt --editable ".[torch,vw,coba,ray]"
	$(BIN)/python -m pytest tests/oracles/adapters src/graphcb/oracles/adapters \
		tests/integrations src/graphcb/integrations tests/streams tests/test_examples.py \
		tests/experiments/test_reproduction.py

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

# The site is built by tools that nothing else needs.
$(PAGES): $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check \
		--constraint constraints.txt --editable ".[docs]"
	@touch $@

docs: $(PAGES)
	$(BIN)/zensical build --clean
	@echo "site/index.html"

# What graphcb is compared with is installed here only.
$(RIVALS): $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check \
		--constraint constraints.txt --editable ".[bench]"
	@touch $@

# System calls that fail, for the fault campaign.
build/sabotage.so: benchmarks/faults/sabotage.c
	@mkdir -p $(@D)
	gcc -O1 -Wall -Wextra -Werror -shared -fPIC -o $@.$$$$ $< -ldl && mv $@.$$$$ $@

bench: $(RIVALS) build/sabotage.so
	$(BIN)/python benchmarks/report.py

bench-%: $(RIVALS)
	$(BIN)/python benchmarks/report.py $* $(if $(OPTIONS),--options='$(OPTIONS)')

pictures: $(READY)
	$(BIN)/python benchmarks/pictures.py

study-bakeoff: $(RIVALS)
study-%: $(READY)
	$(BIN)/python benchmarks/study.py $* $(OPTIONS)

clean:
	rm -rf .venv .venv-oldest results site .pytest_cache .mypy_cache .ruff_cache .hypothesis build
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +
