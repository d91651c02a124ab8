# The verbs that people and CI both run. The comment behind `##` is the line that `make help` prints.
.DEFAULT_GOAL := help
.PHONY: help setup demo chaos truth test clients unit coverage packaging lint proto diagrams lock clean

help:  ## print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-9s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

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

# Three workers for two cores: half of the time of the slow tests is spent waiting for sessions to expire. Unit tests have
# processes of their own: threads that a client leaves behind would disturb those that draw their inputs. So have the
# recipes: their cluster lives as long as the run. They draw no inputs, and Hypothesis would be imported at their end just to
# say so; on Python 3.11, an import that pytest rewrites fails when garbage of a client warns meanwhile.
UNIT := tests/unit tests/shape tests/simulation
test: setup lint  ## everything that CI runs, chaos excepted
	@failed=0; \
	.venv/bin/python -m pytest -n 3 $(UNIT) || failed=1; \
	.venv/bin/python -m pytest -n 3 --no-loadscope-reorder $(UNIT:%=--ignore=%) || failed=1; \
	.venv/bin/python -m pytest -p no:hypothesispytest docs/testing || failed=1; \
	if [ $$failed = 1 ]; then echo "failed:"; cat .pytest_cache/v/cache/lastfailed; fi; \
	exit $$failed

clients: setup  ## other projects' clients and their own tests, from PyPI and Maven Central (Java, Maven, kcat)
	@.venv/bin/python -m tests.clients.run

unit: setup  ## the quick tests: unit tests and the shape of the source
	@.venv/bin/python -m pytest -m "not spark" tests/unit tests/shape

# What the fast tests of a core do not reach, nothing else tests in every order of events. One seed for Hypothesis:
# a branch that only some draws reach would fail some runs.
coverage: setup  ## branches of the cores that their unit tests and the simulation do not reach
	@.venv/bin/python -m coverage run -m pytest -q -m "not spark" --hypothesis-seed=0 tests/unit/broker/core \
		tests/unit/controller/core tests/unit/cluster/model tests/simulation tests/unit/cluster/zk/schema \
		tests/unit/barnabas/tools/dump tests/unit/barnabas/page tests/unit/analysis/alerting/test_decide.py
	@.venv/bin/python -m coverage report

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
