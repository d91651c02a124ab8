# The verbs that people and CI both run. `make setup` is idempotent and quick when nothing changed.
.PHONY: setup demo test unit lint proto lock clean

setup:
	@scripts/setup

demo: setup
	@.venv/bin/barnabas demo

# Two workers, whole files to each: half of the time of these tests is spent waiting for sessions to expire.
test: setup lint
	@.venv/bin/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder

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
