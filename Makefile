# Each target sets up .venv by itself; a second call re-uses it.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready

# Small matrices: one thread inside each process is faster than several.
export OMP_NUM_THREADS := 1
export OPENBLAS_NUM_THREADS := 1
export MKL_NUM_THREADS := 1

.PHONY: help demo test test-extras check bench clean

help:
	@echo "make demo   SquareCB.G against SquareCB on the inventory problem: a table and a picture"
	@echo "make test   all tests"
	@echo "make test-extras  what needs PyTorch, Vowpal Wabbit, coba or Ray (large downloads)"
	@echo "make check  lint, types, import contract"
	@echo "make bench  benchmarks"
	@echo "make clean  remove .venv, results and caches"

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check \
		--constraint constraints.txt --editable ".[experiments,dev,reference]"
	@touch $@

demo: $(READY)
	$(BIN)/graphcb reproduce inventory-fixed --quick --out results

test: $(READY)
	$(BIN)/python -m pytest --numprocesses auto

test-extras: $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check \
		--constraint constraints.txt ".[torch,vw,coba,ray]"
	$(BIN)/python -m pytest tests/oracles/adapters src/graphcb/oracles/adapters \
		tests/integrations src/graphcb/integrations tests/streams tests/test_examples.py \
		tests/experiments/test_reproduction.py

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

bench: $(READY)
	$(BIN)/python benchmarks/foundation.py
	$(BIN)/python benchmarks/rounds.py
	$(BIN)/python benchmarks/streams.py
	$(BIN)/python benchmarks/solver.py
	$(BIN)/python benchmarks/decisions.py
	$(BIN)/python benchmarks/kill.py --kills 400
	$(BIN)/python benchmarks/evaluation.py
	$(BIN)/python benchmarks/fuzz_solver.py --programs 100000 --least-gamma 1

clean:
	rm -rf .venv results .pytest_cache .mypy_cache .ruff_cache .hypothesis build
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +
