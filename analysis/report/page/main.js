const data = JSON.parse(byId("data").textContent);
const ids = new Set([
  ...data.brokers.map((each) => each.broker), ...data.absences.map((each) => each.broker),
  ...data.controllers.map((each) => each.controller),
  ...Object.values(data.leaderships).flatMap((rows) => rows.map((each) => each.leader)),
]);
const brokerOrder = new Map([...ids].filter((id) => id >= 0).sort((a, b) => a - b).map((id, index) => [id, index]));
const view = {
  shown: [data.start ?? 0, data.end ?? 1], all: false, zone: "UTC", incident: null, listed: FIRST,
  filter: { broker: null, topic: "", severity: "", kind: "" },
};

function redraw() {
  const [from, to] = view.shown;
  byId("range").textContent = data.start === null ? "no times" : `${day(from)} ${clock(from, true, false)} to ${day(to) === day(from) ? "" : `${day(to)} `}${clock(to, true, false)} ${view.zone}`;
  drawCluster();
  drawPartitions();
}

// Look at a stretch of time in all pictures.
function look(from, to) {
  const least = 20, middle = (from + to) / 2, half = Math.max((to - from) / 2, least / 2);
  view.shown = [Math.max(middle - half, data.start), Math.min(middle + half, data.end)];
  redraw();
}

function tellAll() {
  const items = (lines) => lines.map((line) => make("li", {}, ...sentence(line)));
  for (const name of ["cost", "read"]) byId(name).replaceChildren(...items(data[name]));
  tellConditions();
  tellIncidents();
  tellTables();
  tellAudit();
}

addEventListener("resize", redraw);
const striped = "repeating-linear-gradient(45deg, var(--bad) 0 2px, var(--card) 2px 4px)";
const dotted = "repeating-linear-gradient(90deg, var(--faint) 0 2px, var(--card) 2px 5px)";
const KEY = [
  ["gone, or no leader", "var(--bad)"], ["gone, or not yet", striped], ["not known", dotted], ["under-replicated", "var(--warn)"],
];
for (const [name, fill] of KEY) byId("key").append(make("i", { style: `background: ${fill}` }), name);
for (const id of brokerOrder.keys()) byId("key").append(make("i", { style: `background: ${colour(id)}` }), `broker ${id}`);
byId("key").append(make("i", { class: "elected" }), "elected, no line says yet that it leads", make("i", { class: "dot" }), "is elected leader of partitions");
fillControls();
listen();
tellAll();
// The worst incident is looked at first.
if (data.incidents.length) choose(0);
else redraw();
document.documentElement.dataset.ready = "yes";
