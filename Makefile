# make run    set up the environment and run a first demonstration
# make test   set up the environment, then lint, type-check and run every test
# make docs   build the documents to out/docs; a warning is an error
# make bench  measure, beside Pinocchio and MuJoCo
# make lowest the tests with the lowest versions that pyproject.toml allows, in an environment of their own
# make newest the tests with the newest versions there are, likewise
# make lock   choose the versions of requirements.lock anew
# make clean  remove what the others made

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/installed
# Three workers for two cores, as some tests wait; each has files as a whole, but for the last ones, so that what a
# file's tests share is made once.
TESTS := pytest -n 3 --dist worksteal

.PHONY: run test lint kernels docs bench lowest newest lock clean

# Tests start many processes: without bytecode, each would compile what it imports from source. There is a worker for
# each core: threads of NumPy's linear algebra would spend a hundredfold waiting for each other.
test lowest newest: export PYTHONDONTWRITEBYTECODE =
test lowest newest: export OPENBLAS_NUM_THREADS = 1
test lowest newest: export OMP_NUM_THREADS = 1

run: $(STAMP)
	$(BIN)/supple demo --out out

test: $(STAMP)
	$(MAKE) --jobs 2 lint kernels
	$(BIN)/$(TESTS)

lint: $(STAMP)
	$(BIN)/ruff check
	$(BIN)/ruff format --check --quiet
	$(BIN)/mypy
	$(BIN)/lint-imports

kernels: $(STAMP)
	$(BIN)/supple compile

docs: $(STAMP)
	$(BIN)/mkdocs build --strict
	@echo "The documents are in out/docs: open out/docs/index.html"

bench: $(STAMP)
	$(BIN)/supple bench

# The tests alone, without linting: linters of other versions have other opinions.
lowest: RESOLUTION = lowest-direct
newest: RESOLUTION = highest
lowest newest: $(STAMP)
	$(BIN)/uv venv --quiet --clear --seed --python $(PYTHON) $(VENV)-$@
	$(BIN)/uv pip install --quiet --python $(VENV)-$@ --resolution $(RESOLUTION) --editable ".[dev]"
	$(VENV)-$@/bin/supple compile
	$(VENV)-$@/bin/$(TESTS)

lock: $(STAMP)
	$(BIN)/uv pip compile --quiet --upgrade --universal --generate-hashes --python-version 3.11 --extra dev \
		--custom-compile-command "make lock" --output-file requirements.lock pyproject.toml

# Again only when its versions change: the package itself is installed as a link to src/. uv installs in a quarter of the
# time that pip takes, and replaces itself by the version of the lock.
$(STAMP): pyproject.toml requirements.lock
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	$(BIN)/uv pip install --quiet --python $(VENV) --require-hashes --requirement requirements.lock
	$(BIN)/uv pip install --quiet --python $(VENV) --no-deps --editable .
	@touch $@

clean:
	rm -rf $(VENV) $(VENV)-lowest $(VENV)-newest out build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
