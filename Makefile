# The verbs that people and CI both run. `make setup` is idempotent and quick when nothing changed.
.PHONY: setup demo chaos test unit lint proto lock clean

setup:
	@scripts/setup

demo: setup
	@.venv/bin/barnabas demo

# Minutes of mixed faults under load, and the judgement: make chaos MINUTES=60 SEED=7. Needs root, ip and iptables.
MINUTES ?= 8
SEED ?=
chaos: setup
	@scripts/chaos --minutes $(MINUTES) $(if $(SEED),--seed $(SEED))

# Three workers for two cores: half of the time of these tests is spent waiting for sessions to expire.
test: setup lint
	@.venv/bin/python -m pytest -n 3 --no-loadscope-reorder

unit: setup
	@.venv/bin/python -m pytest -m "not spark" tests/unit tests/shape

lint: setup
	@scripts/lint

proto:
	@scripts/proto

lock:
	@scripts/lock

clean:
	rm -rf .venv build *.egg-info cluster/rpc/*_pb2*.py cluster/rpc/*_pb2*.pyi
