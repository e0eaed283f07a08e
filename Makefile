# floodmark: everything from a machine with Python 3.10-3.12, Java 17+ and make.

VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.floodmark-setup
PYTHON ?= $(shell for p in python3 python3.12 python3.11 python3.10; do \
	$$p -c 'import sys; sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 12))' 2>/dev/null \
	&& { echo $$p; break; }; done)
ARGS ?=
LOADING := $(addprefix tests/functional/,settings watermark merge files cdc snapshot_diff streaming)
# With --quiet MkDocs passes over dead links.
SITE = said=$$(NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build 2>&1) || { echo "$$said"; exit 1; }

.PHONY: setup demo test test-quick test-offline lint bench docs check-tools

setup: $(STAMP)

# Packages change with pyproject.toml alone: the stamp makes repeated calls quick.
$(STAMP): pyproject.toml dbt_floodmark/versions.py dbt_floodmark/spark/archive.py | check-tools
	@test -x $(BIN)/python || { echo "Making a virtual environment in $(VENV)"; \
		$(PYTHON) -m venv $(VENV) || { echo "Python's venv module does not work here: install it (on Debian: apt install python3-venv)."; exit 1; }; }
	@echo "Installing floodmark and its packages (a few minutes the first time)"
	@$(BIN)/python -m pip install --quiet --quiet --disable-pip-version-check --progress-bar off -e '.[dev]' \
		|| { echo "The packages could not be installed, which needs the network once: connect and run make setup again."; exit 1; }
	@$(BIN)/floodmark setup
	@touch $@

check-tools:
	@test -n "$(PYTHON)" || { echo "Python 3.10, 3.11 or 3.12 is needed and none was found: install one, or run make PYTHON=/path/to/python."; exit 1; }
	@java="$${JAVA_HOME:+$$JAVA_HOME/bin/}java"; \
	major=$$("$$java" -version 2>&1 | sed -n 's/.*version "\(1\.\)\{0,1\}\([0-9]*\).*/\2/p' | head -n 1); \
	test "$${major:-0}" -ge 17 || { echo "Java 17 or newer is needed ($${major:+found }$${major:-none was found}): install it and put it on PATH, or point JAVA_HOME at it."; exit 1; }

demo: setup
	@$(BIN)/floodmark demo $(ARGS)

# Two workers, one for each profile target, on one Spark: what belongs to neither goes to the first that is free (docs/testing.md).
test: setup
	@$(BIN)/floodmark setup --with kafka --with postgresql --with s3
	@$(BIN)/python -m pytest -n 2 $(ARGS)

# Offline tests, and the rules of each way of loading: no edge cases, no labs, no whole processes.
test-quick: setup
	@$(BIN)/floodmark setup --with s3
	@$(BIN)/python -m pytest -n 2 -m 'not lab and not edge' tests/unit $(LOADING) $(ARGS)

# No Spark.
test-offline: setup
	@$(BIN)/python -m pytest tests/unit $(ARGS)

bench: setup
	@$(BIN)/python -m benchmarks $(ARGS)

# The documentation as a site, in site/.
docs: setup
	@$(SITE)
	@echo "site/index.html"

lint: setup
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/sqlfluff lint models
	@$(SITE)
