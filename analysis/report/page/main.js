const data = JSON.parse(byId("data").textContent);
const ids = new Set([
  ...data.brokers.map((each) => each.broker),
  ...data.departures.map((each) => each.broker),
  ...data.controllers.map((each) => each.controller),
  ...Object.values(data.reigns).flat().map((each) => each.leader),
]);
const brokerOrder = new Map([...ids].filter((id) => id >= 0).sort((a, b) => a - b).map((id, index) => [id, index]));
const view = { shown: [data.start ?? 0, data.end ?? 1], partition: null, moment: null, all: false };

function redraw() {
  const [from, to] = view.shown;
  byId("range").textContent = data.start === null ? "no times" : `${day(from)} ${clock(from, true, false)} to ${day(to) === day(from) ? "" : `${day(to)} `}${clock(to, true, false)}`;
  drawCluster();
  drawPartitions();
}

// Look at a stretch of time in all pictures.
function look(from, to) {
  const least = 20, middle = (from + to) / 2, half = Math.max((to - from) / 2, least / 2);
  view.shown = [Math.max(middle - half, data.start), Math.min(middle + half, data.end)];
  redraw();
}

// Answer a question, and remember it in the address so that it can be sent to somebody.
function ask(partition, moment) {
  view.partition = partition;
  const about = tellAnswer(partition, moment), when = stretch(moment, partition);
  view.moment = when ? when[0] : about ? about[0] : null;
  byId("partition").value = partition ?? "";
  byId("moment").value = moment ?? "";
  if (about && moment) look(about[0] - (about[1] - about[0]) / 3, about[1] + (about[1] - about[0]) / 3);
  else redraw();
  document.documentElement.dataset.asked = partition ?? "";
}

function asked() {
  const [partition, moment] = decodeURIComponent(location.hash.slice(1)).split("@");
  ask(partition || data.partitions[0] || null, moment || null);
}

byId("ask").addEventListener("submit", (event) => {
  event.preventDefault();
  const moment = byId("moment").value.trim();
  history.replaceState(null, "", `#${encodeURIComponent(byId("partition").value.trim())}${moment ? `@${moment}` : ""}`);
  asked();
});
byId("whole").onclick = () => look(data.start, data.end);
addEventListener("resize", redraw);
addEventListener("hashchange", asked);
byId("partitions").append(...data.partitions.map((name) => make("option", { value: name })));
const striped = "repeating-linear-gradient(45deg, var(--bad) 0 2px, var(--card) 2px 4px)";
const KEY = [
  ["gone, or no leader", "var(--bad)"], ["perhaps: not noticed yet", striped], ["under-replicated", "var(--warn)"],
];
for (const [name, fill] of KEY) byId("key").append(make("i", { style: `background: ${fill}` }), name);
for (const id of brokerOrder.keys()) byId("key").append(make("i", { style: `background: ${colour(id)}` }), `broker ${id}`);
byId("key").append(make("i", { class: "dot" }), "takes over partitions");
document.documentElement.classList.toggle("days", severalDays());
document.documentElement.classList.toggle("years", severalYears());
tellSummary();
tellStories();
tellAudit();
tellTables();
tellUnknown();
tellTerms();
asked();
document.documentElement.dataset.ready = "yes";
