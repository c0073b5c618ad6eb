# Each target sets up .venv by itself. PYTHON may name another interpreter (3.10 or newer; the tests need 3.11).
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
ENGINE := $(VENV)/.engine
JARS := $(VENV)/.jars

# Parts of the bench; all by default.
PARTS ?=

# Tests that each have a Spark of their own, side by side.
WORKERS ?= 2
SEED ?= 1
INPUTS ?= 100000
# How often `make crash` kills a stream, and a run; how many batches `make writers` brings.
TIMES ?= 10
BATCHES ?= 200

.PHONY: help demo demo-visitor test verify nightly lint types imports unit spark installed budget slow sqlfluff dist seeds fuzz fuzz-long fuzz-specs crash writers lowest matrix orchestrators bench docs test-docs site format clean

help:
	@echo "make demo    five releases of real data through scdgen run, then checked and shown"
	@echo "make demo-visitor  page views in steps through scdgen stream"
	@echo "make tpcdi   six tables derived from TPC-DI on local Spark, compared with a second way to compute them; SF=N is the scale factor"
	@echo "make test    lint, types, imports, generated files, most tests without Spark, rows on DuckDB, 20 tests on Spark (5 minutes)"
	@echo "make verify  what a change must pass besides: all tests without Spark, every branch of the templates on Spark, every command of the pages (under 45 minutes)"
	@echo "make test-docs  every page's commands against what they print (3 minutes; a part of make verify)"
	@echo "make nightly everything else: the slow tests, and all targets from here to make orchestrators but make fuzz and make fuzz-long (8 hours); DAY=1 adds 20,000 random histories on DuckDB, and 200 random specs on Spark in 12 environments each (a day)"
	@echo "make sqlfluff  the generated SQL against sqlfluff, as databricks and as sparksql (half a minute)"
	@echo "make budget  how many lines each part of the project has, and may have (a second)"
	@echo "make installed  the wheel in three environments as the README makes them, and the commands of its pages there"
	@echo "make dist    sdist and wheel in dist/, checked by twine and check-wheel-contents, as for a release"
	@echo "make seeds   20 random specs, 20 with two times, and the plans of three, against the reference; SEED=N chooses others"
	@echo "make fuzz    100 random specs against the reference (half an hour on 2 cores); SEED=N chooses others"
	@echo "make fuzz-long  100 random specs with two times, the plans of ten and the full streams (hours)"
	@echo "make fuzz-specs  100,000 hostile specs through the loader and the renderer"
	@echo "make site    the documentation as a site in .build/site, its links checked; open .build/site/index.html"
	@echo "make crash   a stream and a folder of specs, each killed ten times and started again; TIMES=N chooses"
	@echo "make writers four writers bring 200 batches to one table (minutes); BATCHES=N chooses"
	@echo "make lowest  the tests without Spark on the lowest versions that pyproject.toml allows (minutes)"
	@echo "make matrix  the core of the tests on Spark 3.5, 4.0, 4.1 and 4.2 and the pairs of Fabric and EMR, each in an environment of its own (45 minutes)"
	@echo "make orchestrators  the examples for Airflow and Dagster, each in an environment of its own"
	@echo "make docs    fills the pages: files, options, and what their commands print (on Spark)"
	@echo "make bench   measurements, side by side in one run (over an hour on 2 cores); PARTS='history replay' chooses some"

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10) and "Python 3.10 or newer is needed")'
	$(PYTHON) -m venv $(VENV)

$(READY): pyproject.toml | $(BIN)/python
	@$(BIN)/python -c 'import sys; sys.exit(sys.version_info < (3, 11) and "the tests need Python 3.11 or newer, because duckdb does; remove $(VENV) and set PYTHON")'
	@echo "Installing scdgen, Spark, linters and test tools into $(VENV). The first time, this takes some minutes."
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $(ENGINE) $@

# What the demos need: scdgen and Spark. pip shows its progress, because it may be the first thing that a newcomer sees.
$(ENGINE): pyproject.toml | $(BIN)/python
	@echo "Installing scdgen and Spark into $(VENV): 450 MB the first time. Spark then downloads 90 MB when it starts."
	$(BIN)/python -m pip install --disable-pip-version-check -e '.[spark]'
	@touch $@

# The first start of Spark downloads its JARs. Two workers that do so at the same time break each other's downloads.
$(JARS): $(READY)
	$(BIN)/python -c 'from scdgen.engine.session import local_session; local_session(".build/jars").stop()'
	touch $@

demo: $(ENGINE)
	@$(BIN)/python -m tests.tools.demo airports

demo-visitor: $(ENGINE)
	@$(BIN)/python -m tests.tools.demo visitor

# The scale factor, and into how many runs the first batch is cut, on Spark and on DuckDB.
SF ?= 1
SLICES ?= 3
DAYS ?= 30

.PHONY: tpcdi
tpcdi: $(JARS)
	$(BIN)/python -m tests.bench.tpcdi --scale $(SF) --slices $(SLICES) --days $(DAYS)

# The tiers are marks of the tests: docs/decisions/0007-test-tiers.md. Two at a time, the longest first.
test: $(READY)
	@began=$$(date +%s); $(MAKE) --no-print-directory -j 2 spark unit types lint imports installed budget && \
		took=$$(($$(date +%s) - began)) && echo "make test took $$((took / 60)) min $$((took % 60)) s"

unit: $(READY)
	$(BIN)/python -m pytest --tier test tests/unit scdgen

# These tests end before Java's second compiler has paid for itself. Without it Java keeps 48 MB of compiled code, and
# compiles what it has thrown away again: a third of the time. Delta sums up each version in a file that nothing reads.
spark: $(JARS)
	SPARK_SUBMIT_OPTS='-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=400m' \
		$(BIN)/python -m pytest --durations=10 --tier test tests/spark \
		--setting spark.databricks.delta.writeChecksumFile.enabled=false

verify: $(JARS)
	$(BIN)/mypy
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal --tier verify tests/unit
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --durations=10 --tier verify tests/spark
	$(MAKE) --no-print-directory test-docs

nightly: INPUTS = 20000
nightly: BATCHES = 50
nightly: sqlfluff dist site slow seeds fuzz-specs crash writers lowest matrix orchestrators
	$(if $(DAY),$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal --tier nightly --day $(TWO) $(HISTORIES))

# The slow tests have more than one partition. With DAY, those of random histories come last, because they take a day.
DAY ?=
TWO := --setting spark.sql.shuffle.partitions=2 --setting spark.default.parallelism=2
HISTORIES := tests/unit/test_duck_random.py tests/unit/test_rewind.py tests/long/test_random_environments.py

slow: $(JARS)
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --durations=10 --tier nightly $(TWO) \
		$(if $(DAY),$(HISTORIES:%=--ignore=%))

RANDOM = $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal --seed $(SEED) $(TWO)
RECORDED_AND_PLANS := tests/spark/test_recorded.py::test_random_histories tests/spark/test_plan.py::test_a_plan_is_what_the_run_does

seeds: $(JARS)
	$(RANDOM) --specs 20 tests/spark/test_random.py $(RECORDED_AND_PLANS)

fuzz: $(JARS)
	$(RANDOM) --specs 100 tests/spark/test_random.py

fuzz-long: $(JARS)
	$(RANDOM) --specs 100 --long $(RECORDED_AND_PLANS) tests/long/test_visitor.py

fuzz-specs: $(READY)
	$(BIN)/python -m tests.tools.fuzz_specs --count $(INPUTS) --seed $(SEED)

crash: $(READY)
	$(BIN)/python tests/tools/crash.py --what stream --times $(TIMES) --seed $(SEED)
	$(BIN)/python tests/tools/crash.py --what batch --times $(TIMES) --seed $(SEED)

writers: $(READY)
	$(BIN)/python tests/tools/writers.py --writers 4 --batches $(BATCHES) --seed $(SEED)

# Created for each run, because the bounds may have changed. uv picks the lowest versions, which pip cannot.
LOWEST := .build/lowest

lowest:
	$(PYTHON) -m venv --clear $(LOWEST)
	$(LOWEST)/bin/python -m pip install --quiet --disable-pip-version-check uv
	$(LOWEST)/bin/python -m uv pip install --quiet --python $(LOWEST) --resolution lowest-direct -e '.[dev]'
	$(LOWEST)/bin/python -m pytest -n $(WORKERS) --dist loadfile -p no:cacheprovider --tier test --tier verify tests/unit scdgen

# Versions of Spark for make matrix; all by default.
SPARK ?=

matrix: $(READY)
	$(BIN)/python -m tests.tools.matrix $(SPARK)

# Orchestrators for make orchestrators; all by default.
TOOL ?=

orchestrators: $(JARS)
	$(BIN)/python -m tests.tools.orchestrators $(TOOL)

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/scdgen generate --check specs

budget: $(READY)
	@$(BIN)/python -m tests.tools.budget

sqlfluff: $(READY)
	rm -rf .build/sql
	$(BIN)/scdgen generate specs --plan --out .build/sql --quiet
	$(BIN)/sqlfluff lint .build/sql --processes 1 --disable-progress-bar --dialect databricks
	$(BIN)/sqlfluff lint .build/sql --processes 1 --disable-progress-bar --dialect sparksql --templater placeholder

types: $(READY)
	$(BIN)/mypy scdgen

imports: $(READY)
	$(BIN)/lint-imports

installed: $(READY)
	$(BIN)/python -m tests.tools.installed

# An environment of its own, because twine brings 30 packages that nothing else needs.
PACKAGING := .build/packaging

$(PACKAGING)/.ready:
	$(PYTHON) -m venv $(PACKAGING)
	$(PACKAGING)/bin/python -m pip install --quiet --disable-pip-version-check 'build>=1.2' 'check-wheel-contents>=0.6' 'twine>=6'
	touch $@

# The wheel is built from the sdist, which must therefore be complete.
dist: $(PACKAGING)/.ready
	rm -rf dist
	$(PACKAGING)/bin/python -m build --quiet
	$(PACKAGING)/bin/twine check --strict dist/*
	$(PACKAGING)/bin/check-wheel-contents dist/*.whl
	@ls dist

bench: $(READY)
	$(BIN)/python -m tests.bench $(PARTS)

docs: $(READY)
	$(BIN)/python -m tests.tools.picture
	$(BIN)/python -m tests.tools.readme
	$(BIN)/python -m tests.tools.sessions

test-docs: $(READY)
	$(BIN)/python -m tests.tools.sessions --check

# A link or an anchor that leads nowhere, or a page missing from the menu, fails it.
site: $(READY)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@echo "site: .build/site/index.html"

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) .build warehouse dist
