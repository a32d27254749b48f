# The verbs of the repository. `make demo` and `make test` work on a fresh machine with Python 3.11 or newer.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
# Machines differ in cores; the suite is written for two.
WORKERS ?= 2

.PHONY: demo up bench test check lint types house picture format lock clean

$(STAMP): requirements/dev.txt pyproject.toml
	$(PYTHON) -m venv $(VENV)
	@$(BIN)/python requirements/install.py requirements/dev.txt
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@# On all cores, which pip does not; a package's template that is no Python stops nothing.
	@echo "compiling ..."
	@$(BIN)/python -m compileall -qq -j 0 $(VENV)/lib src || true
	@touch $(STAMP)

demo: $(STAMP)
	$(BIN)/ukai demo

up: $(STAMP)
	$(BIN)/ukai serve --workspace examples/harbor-apis

bench: $(STAMP)
	@names=$$($(BIN)/python -c "from ukai.app import bench; print(*bench.names())") || exit 1; \
	trap 'exit 130' INT; failed=; \
	for name in $$names; do echo "== $$name"; $(BIN)/ukai bench $$name || failed="$$failed $$name"; done; \
	test -z "$$failed" || { echo "failed:$$failed"; exit 1; }

test: $(STAMP)
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder

check: lint types house

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP)
	$(BIN)/pyright

house: $(STAMP)
	$(BIN)/lint-imports

picture: $(STAMP)
	$(BIN)/python -m tests.house.picture

format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

lock:
	uv pip compile pyproject.toml --universal --python-version 3.11 --generate-hashes --no-annotate --no-header --all-extras --group dev --group build -o requirements/dev.txt
	uv pip compile pyproject.toml --universal --python-version 3.11 --generate-hashes --no-annotate --no-header --all-extras --group build -o requirements/run.txt
	uv pip compile pyproject.toml --universal --python-version 3.11 --generate-hashes --no-annotate --no-header --extra embedded --group peers --group build -o requirements/peers.txt

clean:
	rm -rf $(VENV)
