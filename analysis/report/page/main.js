const data = JSON.parse(byId("data").textContent);
const ids = new Set([
  ...data.brokers.map((each) => each.broker),
  ...data.gone,
  ...data.controllers.map((each) => each.controller),
  ...data.leaders.flat(),
]);
const brokerOrder = new Map([...ids].filter((id) => id >= 0).sort((a, b) => a - b).map((id, index) => [id, index]));
const view = {
  shown: [data.start ?? 0, data.end ?? 1], partition: null, moment: null, all: false, zone: "UTC", folded: true, incident: null, listed: FIRST,
  filter: { broker: null, topic: "", severity: "", kind: "" },
};

function redraw() {
  const [from, to] = view.shown;
  byId("range").textContent = data.start === null ? "no times" : `${day(from)} ${clock(from, true, false)} to ${day(to) === day(from) ? "" : `${day(to)} `}${clock(to, true, false)} ${view.zone}`;
  drawCluster();
  drawPartitions();
  refine();
}

// Look at a stretch of time in all pictures.
function look(from, to) {
  const least = 20, middle = (from + to) / 2, half = Math.max((to - from) / 2, least / 2);
  view.shown = [Math.max(middle - half, data.start), Math.min(middle + half, data.end)];
  redraw();
}

// Answer a question; its partition's file is loaded first. The answer's time is looked at if a moment is asked for.
async function ask(partition, moment, looks = true) {
  view.partition = partition;
  byId("partition").value = partition ?? "";
  byId("moment").value = moment ?? "";
  await Promise.all([loadRows([partition]), allIncidents()]);
  if (view.partition !== partition) return;
  const about = tellAnswer(partition, moment), when = stretch(moment, partition);
  view.moment = when ? when[0] : about ? about[0] : null;
  if (looks && about && moment) look(about[0] - (about[1] - about[0]) / 3, about[1] + (about[1] - about[0]) / 3);
  else redraw();
  document.documentElement.dataset.asked = partition ?? "";
}

// What was asked may have been mangled on its way; it is shown as it came.
function questionOf(hash) {
  try {
    return decodeURIComponent(hash);
  } catch {
    return hash;
  }
}

// The question is in the address, so that it can be sent to somebody. Without one, the worst incident is looked at.
async function asked() {
  const [partition, moment] = questionOf(location.hash.slice(1)).split("@");
  if (!partition && data.incidents.length) choose(0);
  // What nobody asked must not push the incidents off the first screen.
  byId(partition ? "trouble" : "happening").after(byId("answer"));
  await ask(partition || data.asked, moment || null);
}

function tellAll() {
  tellSummary();
  tellIncidents();
  tellStories();
  tellAudit();
  tellTables();
  tellUnknown();
}

byId("ask").addEventListener("submit", (event) => {
  event.preventDefault();
  const moment = byId("moment").value.trim();
  history.replaceState(null, "", `#${encodeURIComponent(byId("partition").value.trim())}${moment ? `@${moment}` : ""}`);
  asked();
});
addEventListener("resize", redraw);
addEventListener("hashchange", asked);
byId("partitions").append(...data.partitions.map((name) => make("option", { value: name })));
const striped = "repeating-linear-gradient(45deg, var(--bad) 0 2px, var(--card) 2px 4px)";
const dotted = "repeating-linear-gradient(90deg, var(--faint) 0 2px, var(--card) 2px 5px)";
const KEY = [
  ["gone, or no leader", "var(--bad)"], ["gone, or not yet", striped], ["not known", dotted], ["under-replicated", "var(--warn)"],
];
for (const [name, fill] of KEY) byId("key").append(make("i", { style: `background: ${fill}` }), name);
for (const id of brokerOrder.keys()) byId("key").append(make("i", { style: `background: ${colour(id)}` }), `broker ${id}`);
byId("key").append(make("i", { class: "elected" }), "elected, no line says yet that it leads", make("i", { class: "dot" }), "is elected leader of partitions");
document.documentElement.classList.toggle("days", severalDays());
document.documentElement.classList.toggle("years", severalYears());
fillControls();
listen();
tellAll();
tellTerms();
asked().then(() => { document.documentElement.dataset.ready = "yes"; });
