// The state of the cluster at any change of the history. It must agree with `apply` in barnabas/page/history.py.
"use strict";

const CHECKPOINT = 500; // changes between two kept snapshots

function applyChange(state, change) {
  switch (change.kind) {
    case "broker":
      put(state.brokers, change.id, change.registered);
      break;
    case "process":
      put(state.processes, change.id, change.state);
      break;
    case "action":
      if (change.action === "cut") put(state.cut, change.id, true);
      if (change.action === "heal") put(state.cut, change.id, null);
      break;
    case "controller":
      state.controller = change.controller;
      state.epoch = change.epoch;
      break;
    case "partition": {
      const topic = (state.partitions[change.topic] ??= {});
      put(topic, change.partition, change.state);
      if (change.state === null && Object.keys(topic).length === 0) delete state.partitions[change.topic];
      break;
    }
  }
}

function put(items, key, value) {
  if (value === null) delete items[key];
  else items[key] = value;
}

// Copy what changes are applied to; brokers and partitions themselves are replaced, never changed.
function copyOf(state) {
  const partitions = {};
  for (const [topic, items] of Object.entries(state.partitions)) partitions[topic] = { ...items };
  return { ...state, brokers: { ...state.brokers }, processes: { ...state.processes }, cut: { ...state.cut }, partitions };
}

class Timeline {
  constructor(base, changes) {
    this.changes = [];
    this.latest = copyOf(base);
    this.checkpoints = [copyOf(base)];
    this.add(changes);
  }

  add(changes) {
    for (const change of changes) {
      applyChange(this.latest, change);
      this.changes.push(change);
      if (this.changes.length % CHECKPOINT === 0) this.checkpoints.push(copyOf(this.latest));
    }
  }

  // The state after the first `count` changes.
  after(count) {
    if (count === this.changes.length) return this.latest;
    const checkpoint = Math.floor(count / CHECKPOINT);
    const state = copyOf(this.checkpoints[checkpoint]);
    for (let at = checkpoint * CHECKPOINT; at < count; at++) applyChange(state, this.changes[at]);
    return state;
  }

  // When the process of a broker got the state that it has after `count` changes, or the broker was cut off.
  fellSilentAt(id, count) {
    for (let at = count - 1; at >= 0; at--) {
      const change = this.changes[at];
      if (change.id === id && (change.kind === "process" || change.action === "cut")) return change.at;
    }
    return 0;
  }

  // How many changes were seen at a time.
  countAt(time) {
    let low = 0;
    let high = this.changes.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.changes[middle].at <= time) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
