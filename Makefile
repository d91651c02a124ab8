# The verbs that people and CI both run. The comment behind `##` is the line that `make help` prints.
.DEFAULT_GOAL := help
.PHONY: help setup demo chaos truth test quick every-line clients unit packaging lint proto diagrams lock clean

help:  ## print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup:  ## install everything into .venv; a matter of seconds when nothing has changed
	@scripts/setup

demo: setup  ## three brokers under load; kill -9 of a leader, then of the controller
	@.venv/bin/barnabas demo

MINUTES ?= 8
SEED ?=
chaos: setup  ## mixed faults under load for MINUTES=8, with SEED=…, and the verdict (Linux, root, ip, iptables)
	@scripts/chaos --minutes $(MINUTES) $(if $(SEED),--seed $(SEED))

SCENARIOS ?= 100
truth: setup  ## SCENARIOS=100 random failures of three brokers from SEED=1 on, and whether the story of their logs is true
	@.venv/bin/python -m barnabas.bench.truth build/truth --scenarios $(SCENARIOS) $(if $(SEED),--seed $(SEED))

test:  ## everything that CI runs, chaos excepted: lint, tests, branches of the cores
	@scripts/test

quick: setup  ## the tests that belong to FILES=…, or to what changed since the last commit, in under a minute
	@scripts/quick $(FILES)

every-line: setup  ## each line of each golden incident left out once: for a change in analysis/story (minutes)
	@EVERY_LINE=1 .venv/bin/python -m pytest -q -n 3 tests/unit/analysis/story/test_missing_lines.py

clients: setup  ## other projects' clients and their own tests, from PyPI and Maven Central (Java, Maven, kcat)
	@.venv/bin/python -m tests.clients.run

unit: setup  ## the quick tests: unit tests and the shape of the source
	@.venv/bin/python -m pytest -q -n 2 -m "not spark" tests/unit tests/shape

packaging: setup  ## build the distributions; install them in a fresh venv of every Python at hand, and run them
	@EVERY_PYTHON=1 .venv/bin/python -m pytest -v tests/packaging

lint: setup  ## format, style, import contracts, dead code, types
	@scripts/lint

proto:  ## generate the gRPC code after a change in proto/
	@scripts/proto

diagrams: setup  ## draw the packages and state machines in docs/architecture.md again
	@.venv/bin/python -P scripts/diagrams

lock:  ## write requirements.lock after a change of the dependencies in pyproject.toml
	@scripts/lock

clean:  ## delete .venv and everything generated
	rm -rf .venv build *.egg-info cluster/rpc/*_pb2*.py cluster/rpc/*_pb2*.pyi
