# make demo: the main job, from nothing.   make test: the tests, from nothing.   make bench: against the peers.
# make wheels: for every platform, into dist.   make test-wheels: in use, as far as they can be here.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

# tests start many programs, which must not compile all modules anew, whatever the environment says
export PYTHONDONTWRITEBYTECODE :=

.PHONY: demo test bench wheels test-wheels lint sanitize clean

$(STAMP): pyproject.toml setup.py $(wildcard src/suffice/compiled/*.[ch] src/suffice/spam/*.[ch]) src/suffice/compiled/signatures.py
	$(PYTHON) -m venv $(VENV)
	rm -f src/suffice/*/*.cpython-*  # earlier builds, for one version of Python, which that would load first
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $(STAMP)

demo: $(STAMP)
	@$(BIN)/suffice demo

test: $(STAMP)
	$(BIN)/python -m pytest -q -n 3  # for two cores: tests of servers and commands wait for processes

bench: $(STAMP)
	$(BIN)/python -m benchmarks

wheels: $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check 'suffice[wheels]'
	$(BIN)/python tools/wheels.py $(PLATFORMS)

test-wheels: wheels
	PYTHON=$(PYTHON) tools/test-wheel
	for platform in musllinux_1_2_x86_64 manylinux_2_17_aarch64 win_amd64; do .ci/kernels $$platform || exit; done

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/clang-format --dry-run -Werror src/suffice/compiled/*.[ch] src/suffice/spam/*.[ch]
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo --no-cache
	$(BIN)/python tools/docstrings.py

# the kernels with AddressSanitizer and UndefinedBehaviorSanitizer, apart from the installed ones
sanitize: $(STAMP)
	.ci/kernels sanitize

clean:
	rm -rf $(VENV) .venv-newest .venv-lowest build dist
