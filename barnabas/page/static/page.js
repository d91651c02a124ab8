// The page: it draws the state at the chosen time, follows the stream of changes, and sends what its buttons ask for.
"use strict";

const MOST_SHOWN = 300; // changes in the list
const MOST_KEPT = 25000; // changes in memory; then the history is read again
const MOST_FIGURES = 900; // readings in memory: a quarter of an hour
const FIGURES_WITHIN_MS = 2500; // a reading is of a moment that is at most this far away
const DENSE_FROM = 200; // partitions from which they are drawn small
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
  cut: "Cut it off from ZooKeeper and the other brokers; clients still reach it",
  heal: "Connect it again",
};
const NOT_WHAT_IT_SAYS = { unregistered: "not in ZooKeeper", cut: "cut off" };

const $ = (id) => document.getElementById(id);
let timeline = new Timeline({ brokers: {}, processes: {}, cut: {}, controller: null, epoch: 0, partitions: {} }, []);
let controls = [];
let position = null; // the number of changes that are shown; null follows the cluster
let figures = { rate: 0, rates: {}, broker_rates: {}, lags: {}, groups: [] };
let readings = []; // the figures since this page was opened, oldest first
let stream = null;
let isDrawn = true;

// Requests.

async function get(path) {
  const answer = await fetch(path);
  const body = await answer.json();
  if (!answer.ok) throw new Error(body.error ?? answer.statusText);
  return body;
}

async function post(path, body = {}) {
  const answer = await fetch(path, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  const said = await answer.json();
  if (!answer.ok) throw new Error(said.error ?? answer.statusText);
  return said;
}

let noticeTimer = 0;
function notice(text) {
  $("notice").textContent = text;
  clearTimeout(noticeTimer);
  noticeTimer = setTimeout(() => { $("notice").textContent = ""; }, 8000);
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
    for (const note of document.querySelectorAll(".as-of-now")) note.hidden = shown !== null;
    drawHeader(state, shown);
    drawTimeline(count);
    drawBrokers(state, shown);
    drawPartitions(state, shown);
    drawWorkload(shown ?? figures);
    drawGroups(shown ?? figures);
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
  set($("totals"), `${all.length} partitions, ${leaderless} without a leader, ${short} under-replicated${rate}`);
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
  const changes = timeline.changes;
  const step = width / Math.max(1, changes.length);
  changes.forEach((change, at) => {
    paint.fillStyle = change.bad ? colors.bad : change.kind === "partition" ? colors.other : colors.broker;
    const height = change.kind === "partition" ? 8 : 20;
    paint.fillRect(at * step, (28 - height) / 2, Math.max(1, Math.min(3, step - 0.5)), height);
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

function drawBrokers(state, shown) {
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
    set(card.querySelector("p"), [
      `leads ${leads[id] ?? 0}, in sync ${inSync} of ${replicas}`,
      broker ? `${broker.address}, broker epoch ${broker.epoch}` : "",
      broker?.rack ? `rack ${broker.rack}` : "",
      shown && id in shown.broker_rates ? perSecond(shown.broker_rates[id]) : "",
    ].filter(Boolean).join(" · "));
    const now = standing(timeline.latest, id);
    for (const button of card.querySelectorAll("button")) {
      const may = button.dataset.action === "heal" ? id in timeline.latest.cut : ACTIONS[button.dataset.action].includes(now);
      button.disabled = button.dataset.busy === "yes" || !may;
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
  card.innerHTML = '<h3><span class="name"></span><span class="state quiet"></span><span class="crown" hidden>controller</span></h3><p class="quiet"></p><div class="buttons"></div>';
  card.querySelector(".name").textContent = `Broker ${id}`;
  for (const action of Object.keys(ACTIONS).filter((each) => controls.includes(each))) {
    const button = document.createElement("button");
    button.textContent = action;
    button.dataset.action = action;
    button.title = TITLES[action] ?? "";
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
      behind += Math.max(0, ...Object.values(lags));
      const isShown = name.toLowerCase().includes(wanted) && !(onlyUnhealthy && ailment(partition) === "");
      if (tile.element.hidden === isShown) tile.element.hidden = !isShown;
      shown += isShown;
    }
    section.hidden = shown === 0;
    const rates = shownFigures?.rates ?? {};
    set(section.querySelector(".quiet"), [
      ` ${numbers.length} partitions`,
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

// The topics of users first, then Kafka's own.
function byTopic(a, b) {
  const isOwn = (topic) => topic.startsWith("__");
  return isOwn(a) - isOwn(b) || (a < b ? -1 : a > b ? 1 : 0);
}

function topicSection(box, topic) {
  for (const section of box.children) if (section.dataset.topic === topic) return section;
  const section = document.createElement("section");
  section.className = "topic";
  section.dataset.topic = topic;
  section.style.cssText = "border:0;padding:0";
  section.innerHTML = '<h3><span></span><span class="quiet"></span></h3><div class="grid"></div>';
  section.querySelector("span").textContent = topic;
  const after = [...box.children].find((each) => byTopic(each.dataset.topic, topic) > 0);
  box.insertBefore(section, after ?? null);
  return section;
}

function newTile(section, name, topic, number) {
  const element = document.createElement("button");
  element.className = "partition";
  element.type = "button";
  element.dataset.partition = name;
  element.dataset.number = number;
  element.addEventListener("click", () => { $("filter").value = name; draw(); showLinesAbout(name); });
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
    const kind = !(id in state.brokers) ? "dead" : id === leader ? "leader" : isr.includes(id) ? "sync" : "behind";
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
  const words = chips.map(([id, kind, lag]) => `${id} ${{ leader: "leads", sync: "in sync", behind: "catching up", dead: "dead" }[kind]}${lag ? `, ${lag} records behind` : ""}`);
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

function drawWorkload({ workload }) {
  if (!workload || !figures.workload) return;
  for (const name of ["sent", "acknowledged", "failed", "read"]) set($(name), workload[name].toLocaleString("en"));
  $("failed").classList.toggle("bad", workload.failed > 0);
  set($("stall"), `${(workload.stall_ms / 1000).toFixed(1)} s`);
  set($("workload-error"), workload.error);
  const isRunning = figures.workload.running;
  for (const [id, isOff] of [["workload-start", isRunning], ["workload-stop", !isRunning]]) {
    $(id).disabled = isOff || $(id).dataset.busy === "yes";
  }
}

function drawGroups({ groups = [] }) {
  const body = $("groups");
  const rows = groups.length === 0 ? [["none"]]
    : groups.map((group) => [group.name, group.state, group.members, group.partitions, group.lag]);
  const key = JSON.stringify(rows);
  if (body.dataset.key === key) return;
  body.dataset.key = key;
  body.replaceChildren(...rows.map((cells) => {
    const row = document.createElement("tr");
    row.append(...cells.map((cell) => Object.assign(document.createElement("td"), { textContent: cell })));
    if (groups.length === 0) Object.assign(row.firstChild, { colSpan: 5, className: "quiet" });
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
    $("headline").textContent = "No broker was lost since this page began.";
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
$("filter").addEventListener("input", draw);
$("unhealthy").addEventListener("change", draw);
$("filters").addEventListener("submit", (event) => event.preventDefault());
$("tell").addEventListener("click", () => attempt($("tell"), tell));
$("report").addEventListener("click", () => attempt($("report"), report));
$("workload-start").addEventListener("click", () => attempt($("workload-start"), () => post("/api/workload/start")));
$("workload-stop").addEventListener("click", () => attempt($("workload-stop"), () => post("/api/workload/stop")));
$("create").addEventListener("submit", (event) => {
  event.preventDefault();
  const body = { name: $("topic-name").value, partitions: Number($("topic-partitions").value) };
  attempt(event.target.querySelector("button"), async () => {
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
