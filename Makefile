# make run    set up the environment and run a first demonstration
# make test   set up the environment, then lint, type-check and run every test
# make docs   build the documents to out/docs; a warning is an error
# make bench  measure, beside Pinocchio and MuJoCo
# make clean  remove what the others made

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/installed

.PHONY: run test docs bench clean

run: $(STAMP)
	$(BIN)/supple demo --out out

test: $(STAMP)
	$(BIN)/ruff check
	$(BIN)/ruff format --check --quiet
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/supple compile
	$(BIN)/pytest -n 2

docs: $(STAMP)
	$(BIN)/mkdocs build --strict
	@echo "The documents are in out/docs: open out/docs/index.html"

bench: $(STAMP)
	$(BIN)/supple bench

# Again only when pyproject.toml changes: the package itself is installed as a link to src/.
$(STAMP): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[dev]"
	@touch $@

clean:
	rm -rf $(VENV) out build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
