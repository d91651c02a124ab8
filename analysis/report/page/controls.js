// Filters, the time zone, and the keys that do what the buttons do.
const FILTERS = ["by-broker", "by-topic", "by-severity", "by-kind"];

function fill(id, values, label = (value) => value) {
  byId(id).append(...values.map((value) => make("option", { value }, label(value))));
}

function fillControls() {
  for (const id of FILTERS) byId(id).replaceChildren(make("option", { value: "" }, "all"));
  fill("by-broker", [...brokerOrder.keys()].map(String), (id) => `broker ${id}`);
  const topics = new Set([...data.incidents.flatMap((each) => each.topics), ...Object.values(data.strips).flatMap((rows) => Object.keys(rows)),
    ...data.partitions.map((name) => name.slice(0, name.lastIndexOf("-")))]);
  topics.delete(ALL);
  // Kafka's own topics come last.
  const internal = (name) => Number(name.startsWith("__"));
  fill("by-topic", [...topics].sort((a, b) => internal(a) - internal(b) || (a < b ? -1 : 1)));
  fill("by-severity", ["critical", "warning", "info"].filter((each) => data.incidents.some((incident) => incident.severity === each)));
  fill("by-kind", [...new Set(data.incidents.map((each) => each.kind))].sort());
  const own = Intl.DateTimeFormat().resolvedOptions().timeZone;
  fill("zone", [...new Set(["UTC", own, ...(Intl.supportedValuesOf?.("timeZone") ?? [])])], (name) => (name === own && own !== "UTC" ? `${name} (this browser's)` : name));
}

function readFilters() {
  const broker = byId("by-broker").value;
  view.filter = { broker: broker === "" ? null : Number(broker), topic: byId("by-topic").value, severity: byId("by-severity").value, kind: byId("by-kind").value };
  view.listed = FIRST;
  tellIncidents();
  redraw();
}

function chooseZone(name) {
  view.zone = name;
  tellAll();
  redraw();
}

// Move by a part of what is shown, or take a part of it.
function pan(part) {
  const [from, to] = view.shown, by = Math.max(Math.min((to - from) * part, data.end - to), data.start - from);
  look(from + by, to + by);
}

function zoom(factor) {
  const [from, to] = view.shown, middle = (from + to) / 2, half = (to - from) * factor / 2;
  look(middle - half, middle + half);
}

const KEYS = {
  j: ["the next incident", () => step(1)],
  k: ["the incident before", () => step(-1)],
  m: ["the incident's post-mortem", () => { if (view.incident !== null) exportMarkdown(view.incident); }],
  ArrowLeft: ["earlier", () => pan(-.25)],
  ArrowRight: ["later", () => pan(.25)],
  "+": ["closer", () => zoom(.5)],
  "-": ["further away", () => zoom(2)],
  0: ["the whole time", () => look(data.start, data.end)],
  "/": ["to the filters", () => byId("by-broker").focus()],
  "?": ["show or hide the keys", () => { byId("keys").open = !byId("keys").open; }],
};

function listen() {
  for (const id of FILTERS) byId(id).onchange = readFilters;
  byId("clear").onclick = () => { for (const id of FILTERS) byId(id).value = ""; readFilters(); };
  byId("zone").onchange = () => chooseZone(byId("zone").value);
  byId("whole").onclick = () => look(data.start, data.end);
  const buttons = [["earlier", -.25], ["later", .25]];
  for (const [id, part] of buttons) byId(id).onclick = () => pan(part);
  byId("closer").onclick = () => zoom(.5);
  byId("further").onclick = () => zoom(2);
  byId("keylist").append(...Object.entries(KEYS).flatMap(([key, [meaning]]) => [make("dt", {}, make("kbd", {}, key.replace("Arrow", ""))), make("dd", {}, meaning)]));
  addEventListener("keydown", (event) => {
    const isTyping = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
    if (isTyping || event.ctrlKey || event.metaKey || event.altKey || !KEYS[event.key] || data.start === null) return;
    event.preventDefault();
    KEYS[event.key][1]();
  });
}
