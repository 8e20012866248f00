# Every target sets up an environment of its own by itself; a stamp per set of extras makes the second time quick.
PYTHON ?= $(shell command -v python3 || echo python)
VENV := .venv-make
BIN := $(VENV)/bin
JOBS ?= 2
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
# A process that dies ends the run: pytest-xdist starts another, which may wait for a second test of its last file for ever.
PYTEST := $(BIN)/python -m pytest -n $(JOBS) --max-worker-restart=0
INPUTS := $(shell find symslr derivations figures validation -name '*.py' -o -name '*.toml' -o -name '*.bib' -o -name '*.json' -o -name '*.css' -o -name '*.js')

# One thread per process: the parallelism is in the processes, and sums keep their order.
export OMP_NUM_THREADS ?= 1
export OPENBLAS_NUM_THREADS ?= 1
export MKL_NUM_THREADS ?= 1
export NUMBA_NUM_THREADS ?= 1
# glibc returns large arrays to the system and takes them anew: of the tests' 58 s of system time these save 20.
export MALLOC_MMAP_THRESHOLD_ ?= 268435456
export MALLOC_TRIM_THRESHOLD_ ?= 536870912

.PHONY: report report-full test test-all sample lint docs package bench verdicts mutants fuzz clean distclean

report: build/report/.built
	@echo "The report is in build/report ('make clean report' builds it anew)."

build/report/.built: $(VENV)/.report $(INPUTS)
	$(BIN)/symslr report --out build/report
	@touch $@

# Computes again what the report takes from data/ (fits, trained networks, long studies: hours) and compares, checks every
# chain, and writes the report.
report-full: $(VENV)/.full
	$(BIN)/symslr compute --file all
	$(BIN)/symslr report --check-all --out build/report

# All quick tests and a tenth of those of tests/slow.txt, drawn by a seed that is printed; SEED=N repeats it.
SEED ?= $(shell $(PYTHON) -c 'import secrets; print(secrets.randbelow(10**6))')
test: $(VENV)/.test
	$(PYTEST) --sample $(SEED)

# Kept numbers and verdicts, a tenth of each by seeds that are printed: of the numbers the cheap ones, of the verdicts also all
# whose chain has changed.
sample: $(VENV)/.test
	$(BIN)/symslr compute --sample 210
	$(BIN)/symslr check --changed

test-all: $(VENV)/.test
	$(PYTEST)

lint: $(VENV)/.lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/mypy benchmarks/honesty
	$(BIN)/lint-imports

docs: $(VENV)/.docs
	PATH="$(abspath $(BIN)):$$PATH" $(BIN)/python -m sphinx -W --keep-going -q -b html docs build/docs
	@echo "The documentation is in build/docs/index.html."

# What is uploaded passes twine, and the wheel works where nothing but its own dependencies is installed.
package: $(VENV)/.package
	rm -rf dist build/alone
	$(BIN)/python -m build --no-isolation --outdir dist
	$(BIN)/python -m twine check --strict dist/*
	$(PYTHON) -m venv build/alone
	build/alone/bin/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt dist/*.whl
	cd build/alone && bin/python -I ../../tests/alone.py

bench: $(VENV)/.test
	$(BIN)/python benchmarks/run.py
	$(BIN)/python benchmarks/erm_gradient.py
	$(BIN)/python benchmarks/landscape.py
	$(BIN)/python benchmarks/location.py

# Checks every derivation and keeps the verdicts in the list that `symslr derive` prints.
verdicts: $(VENV)/.test
	$(BIN)/python -m tests.derivations.index

# Breaks the rules, the theory and the derivations in small ways and counts what is not caught; EVERY=1 tries all of them.
# What is known in build/mutants is not tried again; a survivor is, where a test that runs its line has changed.
EVERY ?= 4
mutants: SEED = 0
mutants: $(VENV)/.test
	PYTHONHASHSEED=0 $(BIN)/python -m tests.mutants --every $(EVERY) --seed $(SEED) --jobs $(JOBS) --control

# A thousand requests made of odd pieces, each within its budget; FUZZ=100 tries fewer.
FUZZ ?= 1000
fuzz: $(VENV)/.test
	SYMSLR_FUZZ=$(FUZZ) $(BIN)/python -m pytest tests/test_fuzz.py

clean:
	rm -rf build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis .benchmarks

distclean: clean
	rm -rf $(VENV)

# The build backend comes from the constraints too, hence no build isolation.
$(VENV)/.created: constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo "symslr needs Python >= 3.11, but '$(PYTHON)' is $$($(PYTHON) --version 2>&1 | tail -n 1):" \
	    "name another one, as in 'make PYTHON=python3.12 test'" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(PIP) hatchling editables
	@touch $@

$(VENV)/.report: EXTRAS := figures
$(VENV)/.full: EXTRAS := figures,fit,train
$(VENV)/.test: EXTRAS := figures,fit,study,train,test
$(VENV)/.docs: EXTRAS := figures,fit,docs
$(VENV)/.lint: EXTRAS := lint
$(VENV)/.package: EXTRAS := package
$(VENV)/.report $(VENV)/.full $(VENV)/.test $(VENV)/.docs $(VENV)/.lint $(VENV)/.package: $(VENV)/.created pyproject.toml
	$(PIP) --no-build-isolation --editable '.[$(EXTRAS)]'
	@touch $@
