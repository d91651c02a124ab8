// The page: it draws the state at the chosen time, follows the stream of changes, and sends what its buttons ask for.
"use strict";

const MOST_SHOWN = 300; // changes in the list
const MOST_KEPT = 25000; // changes in memory; then the history is read again
const MOST_FIGURES = 900; // readings in memory: a quarter of an hour
const FIGURES_WITHIN_MS = 2500; // a reading is of a moment that is at most this far away
const DENSE_FROM = 200; // partitions from which they are drawn small
const COUNT_DOWN_MS = 100; // between two drawings while a session is about to expire
const ACTIONS = {
  kill: ["running", "unregistered", "cut", "paused"],
  stop: ["running", "unregistered", "cut"],
  pause: ["running", "unregistered", "cut"],
  resume: ["paused"],
  expire: ["running"],
  start: ["killed", "stopped", "ended"],
  cut: ["running", "unregistered"],
  heal: [], // whatever is cut off
};
const TITLES = {
  kill: "SIGKILL: it dies at once, and its session expires later",
  stop: "SIGTERM, a controlled shutdown: it gives its leaderships away, then ends its session",
  pause: "SIGSTOP: it hangs",
  resume: "SIGCONT: it goes on",
  expire: "End its ZooKeeper session, as if its pings had not arrived; its process goes on",
  start: "Start its process",
  cut: "Cut it off from ZooKeeper and the other brokers; clients still reach it",
  heal: "Connect it again",
};
const NOT_WHAT_IT_SAYS = { unregistered: "not in ZooKeeper", dead: "not in ZooKeeper", cut: "cut off" };
const SILENT = ["killed", "ended", "paused", "cut"]; // such a broker sends nothing, so its session will expire

const $ = (id) => document.getElementById(id);
let timeline = new Timeline({ brokers: {}, processes: {}, cut: {}, controller: null, epoch: 0, partitions: {} }, []);
let controls = [];
let position = null; // the number of changes that are shown; null follows the cluster
let figures = null; // the newest reading
let readings = []; // the figures since this page was opened, oldest first
let stream = null;
let sessionTimeout = null; // zookeeper.session.timeout.ms, if the page knows it
let ahead = 0; // milliseconds by which the server's clock is ahead of this one
let isDrawn = true;

// Requests.

async function get(path, options) {
  const answer = await fetch(path, options).catch(() => { throw new Error("the page's server does not answer"); });
  const body = await answer.json();
  if (!answer.ok) throw new Error(body.error ?? answer.statusText);
  return body;
}

function post(path, body = {}) {
  return get(path, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
}

// Show an error until it is closed; the same error is shown once.
function notice(text) {
  const box = $("notice");
  if ([...box.children].some((each) => each.firstChild.textContent === text)) return;
  const item = document.createElement("p");
  const close = Object.assign(document.createElement("button"), { textContent: "Close", title: "Close (Escape closes all)" });
  close.addEventListener("click", () => item.remove());
  item.append(Object.assign(document.createElement("span"), { textContent: text }), close);
  box.append(item);
}

// A button acts on the cluster of now, so it is off while another time is shown, or what is shown may be old.
function allow(button, may) {
  const isNow = position === null && stream?.readyState === EventSource.OPEN;
  button.disabled = button.dataset.busy === "yes" || !isNow || !may;
}

// Run what a button asks for; the button waits, and an error is shown.
async function attempt(button, work) {
  button.dataset.busy = "yes";
  button.disabled = true;
  try {
    await work();
  } catch (error) {
    notice(error.message);
  } finally {
    delete button.dataset.busy;
    button.disabled = false;
    draw();
  }
}

// The stream.

async function load() {
  stream?.close();
  let history;
  try {
    history = await get("/api/history");
  } catch {
    connection("no answer from the page's server; trying again");
    setTimeout(load, 1000);
    return;
  }
  timeline = new Timeline(history.base, history.changes);
  controls = history.controls;
  sessionTimeout = history.session_timeout_ms;
  ahead = history.now - Date.now();
  $("report").hidden = history.no_report !== "";
  if (history.no_report) set($("report-state"), history.no_report);
  else get("/api/report").then(followReport).catch((error) => notice(error.message));
  if (position !== null) position = Math.min(position, timeline.changes.length);
  const last = timeline.changes.at(-1)?.n ?? 0;
  // EventSource connects again by itself, and names the last change that it got.
  stream = new EventSource(`/api/stream?after=${last}`);
  stream.addEventListener("open", () => connection("live"));
  stream.addEventListener("error", () => {
    connection("connection lost; trying again");
    if (stream.readyState === EventSource.CLOSED) setTimeout(load, 1000);
  });
  stream.addEventListener("changes", (event) => {
    const known = timeline.changes.at(-1)?.n ?? 0;
    timeline.add(JSON.parse(event.data).filter((change) => change.n > known));
    if (timeline.changes.length > MOST_KEPT) load();
    tellOn();
    draw();
  });
  stream.addEventListener("figures", (event) => {
    figures = JSON.parse(event.data);
    readings.push(figures);
    if (readings.length > MOST_FIGURES) readings.shift();
    draw();
  });
  stream.addEventListener("reset", load);
  fromLink();
  document.body.dataset.ready = "yes";
  draw();
}

function connection(text) {
  $("connection").textContent = text;
  $("connection").classList.toggle("bad", text !== "live");
  draw();
}

// Drawing. Everything is drawn once a frame at most.

function draw() {
  if (!isDrawn) return;
  isDrawn = false;
  requestAnimationFrame(() => {
    isDrawn = true;
    const count = position ?? timeline.changes.length;
    const state = timeline.after(count);
    const shown = position === null ? figures : readingAt(timeline.changes[count - 1]?.at ?? 0);
    drawHeader(state, shown);
    drawTimeline(count);
    drawBrokers(state, shown, count);
    drawPartitions(state, shown);
    drawWorkload(shown);
    drawGroups(state, shown);
    drawChanges(count);
  });
}

// The figures of a time; null if this page was not open then.
function readingAt(at) {
  const distance = (reading) => Math.abs(reading.at - at);
  const nearest = readings.reduce((best, each) => (best === null || distance(each) < distance(best) ? each : best), null);
  return nearest !== null && distance(nearest) <= FIGURES_WITHIN_MS ? nearest : null;
}

function partitionsOf(state) {
  return Object.values(state.partitions).flatMap((topic) => Object.values(topic));
}

// Why a partition is not whole: "leaderless", "short" of in-sync replicas, or "".
function ailment([leader, , isr, replicas]) {
  if (leader < 0) return "leaderless";
  return isr.length < replicas.length ? "short" : "";
}

function drawHeader(state, shown) {
  const all = partitionsOf(state);
  const leaderless = all.filter((each) => ailment(each) === "leaderless").length;
  const short = all.filter((each) => ailment(each) === "short").length;
  set($("controller"), state.controller === null ? "no controller" : `controller ${state.controller}, epoch ${state.epoch}`);
  $("controller").classList.toggle("bad", state.controller === null);
  const rate = shown ? `, ${perSecond(shown.rate)}` : "";
  set($("totals"), `${counted(all.length)}, ${leaderless} without a leader, ${short} under-replicated${rate}`);
}

function counted(partitions) {
  return partitions === 1 ? "1 partition" : `${partitions} partitions`;
}

function perSecond(rate = 0) {
  return `${Math.round(rate).toLocaleString("en")} records/s`;
}

function set(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

function clock(at) {
  const time = new Date(at);
  return `${time.toLocaleTimeString("en-GB")}.${String(time.getMilliseconds()).padStart(3, "0")}`;
}

function drawTimeline(count) {
  document.body.classList.toggle("past", position !== null);
  $("live").setAttribute("aria-pressed", String(position === null));
  const slider = $("slider");
  slider.max = timeline.changes.length;
  slider.value = count;
  const current = timeline.changes[count - 1];
  const text = current ? clock(current.at) : "";
  set($("moment"), text);
  $("past").hidden = position === null;
  set($("past-moment"), text || "the beginning");
  slider.setAttribute("aria-valuetext", text);
  drawMarks();
}

let marksDrawn = "";
function drawMarks() {
  const canvas = $("marks");
  const width = canvas.clientWidth;
  const key = `${timeline.changes.length}/${width}/${document.documentElement.dataset.theme}`;
  if (key === marksDrawn || width === 0) return;
  marksDrawn = key;
  canvas.width = width * devicePixelRatio;
  canvas.height = 28 * devicePixelRatio;
  const paint = canvas.getContext("2d");
  paint.scale(devicePixelRatio, devicePixelRatio);
  const style = getComputedStyle(document.documentElement);
  const probe = document.createElement("i");
  document.body.append(probe);
  const color = (name) => { probe.style.color = style.getPropertyValue(name); return getComputedStyle(probe).color; };
  const colors = { bad: color("--dead"), broker: color("--leader"), other: color("--line") };
  probe.remove();
  paint.fillStyle = colors.other;
  paint.fillRect(0, 14, width, 1);
  const changes = timeline.changes;
  const step = width / Math.max(1, changes.length);
  changes.forEach((change, at) => {
    paint.fillStyle = change.bad ? colors.bad : change.kind === "partition" ? colors.other : colors.broker;
    const height = change.kind === "partition" ? 6 : 13;
    paint.fillRect(at * step, change.bad ? 14 : 14 - height, Math.max(1, Math.min(3, step - 0.5)), height);
  });
}

// The state that a card shows: what is known of the process, and whether the broker is registered.
function standing(state, id) {
  const process = state.processes[id];
  const isRegistered = id in state.brokers;
  if (["killed", "stopped", "ended"].includes(process)) return process;
  if (process === "paused") return "paused";
  if (id in state.cut) return "cut";
  if (process === undefined && !isRegistered) return "dead";
  return isRegistered ? "running" : "unregistered";
}

// When the session of a broker that fell silent expires, in words; "" if it has expired, or the broker is not silent.
let countingDown = 0;
function expiry(state, id, count) {
  if (!sessionTimeout || !(id in state.brokers) || !SILENT.includes(standing(state, id))) return "";
  const now = position === null ? Date.now() + ahead : timeline.changes[count - 1].at;
  const left = timeline.fellSilentAt(Number(id), count) + sessionTimeout - now;
  // ZooKeeper counts from the last ping, which was earlier, and looks once a tick.
  if (left <= 0) return "session has not expired yet";
  if (position === null) countingDown ||= setTimeout(() => { countingDown = 0; draw(); }, COUNT_DOWN_MS);
  return `session expires within ${(left / 1000).toFixed(1)} s`;
}

function drawBrokers(state, shown, count) {
  const ids = [...new Set([...Object.keys(state.brokers), ...Object.keys(state.processes), ...replicaIds(state)])];
  ids.sort((a, b) => a - b);
  const leads = {};
  const follows = {};
  for (const [leader, , isr, replicas] of partitionsOf(state)) {
    leads[leader] = (leads[leader] ?? 0) + 1;
    for (const replica of replicas) {
      const counts = (follows[replica] ??= [0, 0]);
      counts[1] += 1;
      if (isr.includes(replica)) counts[0] += 1;
    }
  }
  const box = $("brokers");
  for (const card of [...box.children]) if (!ids.includes(card.dataset.id)) card.remove();
  for (const id of ids) {
    const card = box.querySelector(`[data-id="${id}"]`) ?? newBroker(box, id);
    const broker = state.brokers[id];
    card.dataset.state = standing(state, id);
    const [inSync, replicas] = follows[id] ?? [0, 0];
    set(card.querySelector(".state"), NOT_WHAT_IT_SAYS[card.dataset.state] ?? card.dataset.state);
    card.querySelector(".crown").hidden = state.controller !== Number(id);
    set(card.querySelector(".expiry"), expiry(state, id, count));
    set(card.querySelector("p"), [
      `leads ${leads[id] ?? 0}, in sync ${inSync} of ${replicas}`,
      broker ? `${broker.address}, broker epoch ${broker.epoch}` : "",
      broker?.rack ? `rack ${broker.rack}` : "",
      shown && id in shown.broker_rates ? perSecond(shown.broker_rates[id]) : "",
    ].filter(Boolean).join(" · "));
    const now = standing(timeline.latest, id);
    for (const button of card.querySelectorAll("button")) {
      allow(button, button.dataset.action === "heal" ? id in timeline.latest.cut : ACTIONS[button.dataset.action].includes(now));
    }
  }
}

function replicaIds(state) {
  return partitionsOf(state).flatMap(([, , , replicas]) => replicas).map(String);
}

function newBroker(box, id) {
  const card = document.createElement("article");
  card.className = "broker";
  card.dataset.id = id;
  card.innerHTML = '<h3><span class="name"></span><span class="state quiet"></span><span class="crown" hidden>controller</span><span class="expiry bad"></span></h3><p class="quiet"></p><div class="buttons"></div>';
  card.querySelector(".name").textContent = `Broker ${id}`;
  for (const action of Object.keys(ACTIONS).filter((each) => controls.includes(each))) {
    const button = document.createElement("button");
    button.textContent = action;
    button.dataset.action = action;
    button.title = TITLES[action];
    button.setAttribute("aria-label", `${action} broker ${id}`);
    button.addEventListener("click", () => attempt(button, () => post(`/api/brokers/${id}/${action}`)));
    card.querySelector(".buttons").append(button);
  }
  const after = [...box.children].find((each) => Number(each.dataset.id) > Number(id));
  box.insertBefore(card, after ?? null);
  return card;
}

// Partitions. A tile is drawn again only if its partition or a broker of it changed.
const tiles = new Map();

function drawPartitions(state, shownFigures) {
  const box = $("partitions");
  const wanted = $("filter").value.trim().toLowerCase();
  const onlyUnhealthy = $("unhealthy").checked;
  box.classList.toggle("dense", partitionsOf(state).length >= DENSE_FROM);
  const gone = new Set(tiles.keys());
  for (const topic of Object.keys(state.partitions).sort(byTopic)) {
    const numbers = Object.keys(state.partitions[topic]).map(Number).sort((a, b) => a - b);
    const section = topicSection(box, topic);
    const epochs = [];
    const ailments = { leaderless: 0, short: 0, "": 0 };
    let shown = 0;
    let behind = 0;
    for (const number of numbers) {
      const name = `${topic}-${number}`;
      const partition = state.partitions[topic][number];
      const tile = tiles.get(name) ?? newTile(section, name, topic, number);
      gone.delete(name);
      const lags = shownFigures?.lags[name] ?? {};
      drawTile(tile, state, name, partition, lags);
      epochs.push(partition[1]);
      ailments[ailment(partition)] += 1;
      behind += Math.max(0, ...Object.values(lags));
      const isShown = name.toLowerCase().includes(wanted) && !(onlyUnhealthy && ailment(partition) === "");
      if (tile.element.hidden === isShown) tile.element.hidden = !isShown;
      shown += isShown;
    }
    section.hidden = shown === 0;
    const rates = shownFigures?.rates ?? {};
    set(section.querySelector(".quiet"), [
      ` ${counted(numbers.length)}`,
      ailments.leaderless > 0 ? `${ailments.leaderless} without a leader` : "",
      ailments.short > 0 ? `${ailments.short} under-replicated` : "",
      `leader epoch ${span(epochs)}`,
      topic in rates ? perSecond(rates[topic]) : "",
      behind > 0 ? `${behind.toLocaleString("en")} records behind` : "",
    ].filter(Boolean).join(", "));
  }
  for (const name of gone) {
    tiles.get(name).element.remove();
    tiles.delete(name);
  }
  for (const section of [...box.children]) if (!(section.dataset.topic in state.partitions)) section.remove();
}

// The smallest and the largest of numbers, as "0 to 3".
function span(numbers) {
  const [low, high] = numbers.reduce(([least, most], each) => [Math.min(least, each), Math.max(most, each)], [Infinity, -Infinity]);
  return low === high ? `${low}` : `${low} to ${high}`;
}

// The topics of users first, then the internal ones, which are folded.
const isInternal = (topic) => topic.startsWith("__");
function byTopic(a, b) {
  return isInternal(a) - isInternal(b) || (a < b ? -1 : a > b ? 1 : 0);
}

function topicSection(box, topic) {
  for (const section of box.children) if (section.dataset.topic === topic) return section;
  const section = document.createElement("details");
  section.className = "topic";
  section.dataset.topic = topic;
  section.open = !isInternal(topic) || isFiltered();
  section.innerHTML = '<summary><span></span><span class="quiet"></span></summary><div class="grid"></div>';
  section.querySelector("span").textContent = topic;
  const after = [...box.children].find((each) => byTopic(each.dataset.topic, topic) > 0);
  box.insertBefore(section, after ?? null);
  return section;
}

const isFiltered = () => $("filter").value.trim() !== "" || $("unhealthy").checked;

// What a filter finds is not folded.
function filtered() {
  for (const section of $("partitions").children) section.open = !isInternal(section.dataset.topic) || isFiltered();
  draw();
}

function newTile(section, name, topic, number) {
  const element = document.createElement("button");
  element.className = "partition";
  element.type = "button";
  element.dataset.partition = name;
  element.dataset.number = number;
  element.addEventListener("click", () => { $("filter").value = name; filtered(); showLinesAbout(name); });
  const grid = section.querySelector(".grid");
  const after = [...grid.children].find((each) => Number(each.dataset.number) > number);
  grid.insertBefore(element, after ?? null);
  const tile = { element, key: "" };
  tiles.set(name, tile);
  return tile;
}

function drawTile(tile, state, name, partition, lags) {
  const [leader, epoch, isr, replicas, , adding, removing] = partition;
  const chips = replicas.map((id) => {
    const kind = !(id in state.brokers) ? "offline" : id === leader ? "leader" : isr.includes(id) ? "sync" : "behind";
    return [id, kind, lags[id] ?? 0];
  });
  const key = JSON.stringify([leader, epoch, chips]);
  if (tile.key === key) return;
  const isNews = tile.key !== "" && position === null;
  tile.key = key;
  tile.element.className = `partition ${ailment(partition)}`;
  const label = document.createElement("span");
  label.className = "number";
  label.textContent = tile.element.dataset.number;
  const most = Math.max(...chips.map(([, , lag]) => lag));
  const facts = document.createElement("small");
  facts.textContent = `e${epoch}${most > 0 ? ` −${shortened(most)}` : ""}`;
  tile.element.replaceChildren(label, ...chips.map(([id, kind]) => {
    const chip = document.createElement("i");
    chip.className = `chip ${kind}`;
    chip.textContent = id;
    return chip;
  }), facts);
  const words = chips.map(([id, kind, lag]) => `${id} ${{ leader: "leads", sync: "in sync", behind: "catching up", offline: "offline" }[kind]}${lag ? `, ${lag} records behind` : ""}`);
  const moving = adding?.length || removing?.length ? `; being reassigned: +${adding} -${removing}` : "";
  tile.element.title = `${name}, leader epoch ${epoch}: ${words.join("; ")}${moving}`;
  tile.element.setAttribute("aria-label", tile.element.title);
  if (isNews) {
    tile.element.classList.add("changed");
    setTimeout(() => tile.element.classList.remove("changed"), 400);
  }
}

function shortened(count) {
  return count < 10000 ? String(count) : count < 1e7 ? `${Math.round(count / 1e3)}k` : `${Math.round(count / 1e6)}M`;
}

function drawWorkload(shown) {
  const workload = shown?.workload;
  for (const name of ["sent", "acknowledged", "failed", "read"]) set($(name), workload?.[name].toLocaleString("en") ?? "?");
  $("failed").classList.toggle("bad", workload?.failed > 0);
  set($("stall"), workload ? `${(workload.stall_ms / 1000).toFixed(1)} s` : "?");
  set($("workload-error"), workload?.error ?? "");
  allow($("workload-start"), figures?.workload.running === false);
  allow($("workload-stop"), figures?.workload.running === true);
  allow($("create-topic"), true);
}

// A group is known to its coordinator, the leader of a partition of __consumer_offsets, only.
function drawGroups(state, shown) {
  const body = $("groups");
  const rows = (shown?.groups ?? []).map((group) => [group.name, group.state, group.members, group.partitions, group.lag]);
  const coordinators = Object.values(state.partitions.__consumer_offsets ?? {});
  const without = coordinators.filter(([leader]) => !(leader in state.brokers)).length;
  if (shown === null) rows.push([position === null ? "not read yet" : "unknown: this page was not open then"]);
  else if (shown.groups === null) rows.push(["unknown: a coordinator does not answer"]);
  else if (without > 0) rows.push([`unknown: groups of ${without} partitions of __consumer_offsets without a coordinator`]);
  else if (rows.length === 0) rows.push(["none"]);
  const key = JSON.stringify(rows);
  if (body.dataset.key === key) return;
  body.dataset.key = key;
  body.replaceChildren(...rows.map((cells) => {
    const row = document.createElement("tr");
    row.append(...cells.map((cell) => Object.assign(document.createElement("td"), { textContent: cell })));
    if (cells.length === 1) Object.assign(row.firstChild, { colSpan: 5, className: "quiet" });
    return row;
  }));
}

let changesDrawn = "";
function drawChanges(count) {
  const first = Math.max(0, count - MOST_SHOWN);
  const shown = timeline.changes.slice(first, count).reverse();
  const key = `${shown[0]?.n}/${shown.length}`;
  if (key === changesDrawn) return;
  changesDrawn = key;
  const box = $("changes");
  const existing = new Map([...box.children].map((item) => [Number(item.dataset.n), item]));
  box.replaceChildren(...shown.map((change) => existing.get(change.n) ?? newChange(change)));
}

function newChange(change) {
  const item = document.createElement("li");
  item.dataset.n = change.n;
  item.classList.toggle("bad", change.bad);
  const time = document.createElement("time");
  time.textContent = clock(change.at);
  const text = document.createElement("button");
  text.className = "text";
  text.textContent = change.text;
  text.title = "Show the cluster at this time";
  text.addEventListener("click", () => goTo(timeline.changes.findIndex((each) => each.n === change.n) + 1));
  const lines = document.createElement("button");
  lines.className = "lines";
  lines.textContent = "log lines";
  lines.addEventListener("click", () => attempt(lines, () => showLines(item, change)));
  item.append(time, text, lines);
  return item;
}

function subjectOf(change) {
  if (change.kind === "partition") return `${change.topic}-${change.partition}`;
  if (change.kind === "controller") return "Controller";
  return change.id === undefined ? "ZooKeeper" : `broker ${change.id}`;
}

async function showLines(item, change) {
  const open = item.querySelector("pre");
  if (open) { open.remove(); return; }
  const found = await get(`/api/lines?subject=${encodeURIComponent(subjectOf(change))}&at=${change.at}`);
  const block = document.createElement("pre");
  block.textContent = found.map((line) => `broker ${line.broker} ${line.file}: ${line.text}`).join("\n")
    || "no log line names it within three seconds";
  item.append(block);
}

function showLinesAbout(name) {
  const at = timeline.changes.findLastIndex((change) => subjectOf(change) === name);
  if (at < 0) return;
  const item = $("changes").querySelector(`[data-n="${timeline.changes[at].n}"]`);
  item?.scrollIntoView({ block: "nearest" });
}

// Time.

function goTo(count) {
  position = count === null ? null : Math.max(0, Math.min(count, timeline.changes.length));
  const change = timeline.changes[(position ?? 0) - 1];
  history.replaceState(null, "", position === null || !change ? location.pathname : `#at=${new Date(change.at).toISOString()}`);
  draw();
}

function fromLink() {
  const at = Date.parse(new URLSearchParams(location.hash.slice(1)).get("at") ?? "");
  if (!Number.isNaN(at)) position = timeline.countAt(at);
}

async function share() {
  const count = position ?? timeline.changes.length;
  const change = timeline.changes[count - 1];
  if (!change) return;
  const link = `${location.origin}${location.pathname}#at=${new Date(change.at).toISOString()}`;
  await navigator.clipboard.writeText(link);
}

// What happened?

let isTold = false;
let toldAt = 0;
async function tell() {
  const failover = await get("/api/failover");
  isTold = failover !== null && !failover.over;
  const steps = $("steps");
  if (failover === null) {
    $("headline").textContent = "No broker has left since this page began.";
    steps.replaceChildren();
    return;
  }
  $("headline").textContent = failover.headline;
  steps.replaceChildren(...failover.steps.map((step) => {
    const item = document.createElement("li");
    const after = Object.assign(document.createElement("span"), { className: "after", textContent: `+${(step.after_ms / 1000).toFixed(3)} s` });
    after.title = clock(step.at);
    const text = Object.assign(document.createElement("span"), { textContent: step.text });
    item.append(after, text);
    return item;
  }));
}

// Tell on while the failover goes on, twice a second at most.
function tellOn() {
  if (!isTold || toldAt) return;
  toldAt = setTimeout(() => {
    toldAt = 0;
    tell().catch((error) => notice(error.message));
  }, 500);
}

async function report() {
  await followReport(await post("/api/report"));
}

async function followReport(state) {
  while (state.state === "running") {
    $("report-state").textContent = "Spark reads the logs; this takes some seconds";
    await new Promise((resolve) => setTimeout(resolve, 500));
    state = await get("/api/report");
  }
  $("report-state").textContent = state.message;
  $("report-link").hidden = state.state !== "ready";
  $("report-link").href = state.path;
}

// Buttons and keys.

function theme() {
  const root = document.documentElement;
  const isDark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = isDark ? "light" : "dark";
  localStorage.setItem("theme", root.dataset.theme);
  draw();
}

const stepBy = (step) => goTo((position ?? timeline.changes.length) + step);
$("back").addEventListener("click", () => stepBy(-1));
$("forth").addEventListener("click", () => stepBy(1));
$("slider").addEventListener("input", (event) => goTo(Number(event.target.value)));
$("live").addEventListener("click", () => goTo(null));
$("share").addEventListener("click", () => attempt($("share"), share));
$("theme").addEventListener("click", theme);
$("help").addEventListener("click", () => $("keys").showModal());
$("filter").addEventListener("input", filtered);
$("unhealthy").addEventListener("change", filtered);
$("filters").addEventListener("submit", (event) => event.preventDefault());
$("tell").addEventListener("click", () => attempt($("tell"), tell));
$("report").addEventListener("click", () => attempt($("report"), report));
$("workload-start").addEventListener("click", () => attempt($("workload-start"), () => post("/api/workload/start")));
$("workload-stop").addEventListener("click", () => attempt($("workload-stop"), () => post("/api/workload/stop")));
$("create").addEventListener("submit", (event) => {
  event.preventDefault();
  const body = { name: $("topic-name").value, partitions: Number($("topic-partitions").value) };
  attempt($("create-topic"), async () => {
    await post("/api/topics", body);
    $("topic-name").value = "";
  });
});
addEventListener("resize", draw);
addEventListener("hashchange", () => { fromLink(); draw(); });

const KEYS = {
  ArrowLeft: () => stepBy(-1),
  ArrowRight: () => stepBy(1),
  l: () => goTo(null),
  w: () => $("tell").click(),
  "/": () => $("filter").focus(),
  u: () => $("unhealthy").click(),
  c: () => $("share").click(),
  d: theme,
  "?": () => $("keys").showModal(),
  Escape: () => $("notice").replaceChildren(),
};
addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || $("keys").open) return;
  if (event.target.matches("input:not([type=checkbox]):not([type=range])")) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  if (event.target.matches("input[type=range]") && event.key.startsWith("Arrow")) return;
  const broker = /^[1-9]$/.test(event.key) && $("brokers").querySelector(`[data-id="${event.key}"] button:not(:disabled)`);
  if (broker) broker.focus();
  else if (KEYS[event.key]) {
    event.preventDefault();
    KEYS[event.key]();
  }
});

const saved = localStorage.getItem("theme");
if (saved) document.documentElement.dataset.theme = saved;
load();
