// The incidents: a list that can be filtered, the evidence behind each, and the post-mortem to take along.
// The number of incidents in the list at first: the pictures are below it. MORE is by how many it grows.
const FIRST = 20, MORE = 100;

const matches = (incident) => (!view.filter.severity || incident.severity === view.filter.severity)
  && (!view.filter.kind || incident.kind === view.filter.kind)
  && (view.filter.broker === null || incident.brokers.includes(view.filter.broker))
  && (!view.filter.topic || incident.topics.includes(view.filter.topic));

const matching = () => data.incidents.map((each, index) => ({ ...each, index })).filter(matches);

// The incidents that the page itself lacks, from the files beside it; what they add is shown when all are loaded.
let loading = null;

function allIncidents() {
  loading ??= loadIncidents();
  return loading;
}

async function loadIncidents() {
  for (const name of data.incidentFiles) {
    const found = await detail(name);
    if (found === null) break;
    data.incidents.push(...found.incidents);
    data.absences.push(...found.absences);
  }
  if (data.incidentFiles.length === 0) return;
  fillFilters();
  tellIncidents();
}

function evidence(sentence) {
  const lines = sentence.lines.map((line) => make("pre", {}, `${line.place}  ${line.raw}`));
  const more = sentence.more_lines ? [make("p", { class: "faint" }, `and ${sentence.more_lines} lines more`)] : [];
  return lines.length ? [make("details", {}, make("summary", { class: "faint" }, "lines that prove it"), ...lines, ...more)] : [];
}

function tellIncidents() {
  const host = byId("incidents"), shown = matching();
  host.replaceChildren();
  if (data.incidents.length === 0) host.append(make("p", { class: "faint" }, "No line of these logs shows a broker lost or a partition without a leader."));
  else if (shown.length === 0) host.append(make("p", { class: "faint" }, "No incident matches the filters."));
  for (const incident of shown.slice(0, view.listed)) host.append(incidentNode(incident));
  const rest = shown.length - view.listed;
  if (rest > 0) {
    const button = make("button", { type: "button", id: "more-incidents" }, rest > MORE ? `show ${MORE} of ${rest} more` : `show ${rest} more`);
    button.onclick = () => { view.listed += MORE; tellIncidents(); };
    host.append(button);
  }
  byId("shown").textContent = shown.length === data.incidentsCount ? `${shown.length}` : `${shown.length} of ${data.incidentsCount}`;
}

function incidentNode(incident) {
  const show = make("button", { type: "button", class: "show" }, "show"), save = make("button", { type: "button", class: "save" }, "post-mortem");
  show.onclick = (event) => { event.preventDefault(); choose(incident.index); };
  save.onclick = async (event) => { event.preventDefault(); exportMarkdown(incident.index); };
  const head = make("summary", {}, make("span", { class: `severity ${incident.severity}` }, incident.severity), " ", ...sentence(incident.text), " ", show, " ", save);
  const node = make("details", { class: "incident", "data-index": incident.index }, head);
  if (incident.index === view.incident) node.classList.add("current");
  node.addEventListener("toggle", () => { if (node.open && node.children.length === 1) tellIncident(node, incident.index); });
  if (incident.index === view.incident) node.open = true;
  return node;
}

async function tellIncident(node, index) {
  const found = await detail(`incident-${index}`);
  if (found === null || node.children.length > 1) return;
  const items = found.details.map((each) => make("li", {}, ...sentence(each.text), ...evidence(each)));
  const values = [
    ...found.absences.flatMap((each) => [
      [`broker ${each.broker} ${each.left}`, certain(each.gone, clock)],
      // A controller that a broker asked to let it go takes its replicas offline before it ends.
      ...(each.missed === null ? [] : [[`the cluster noticed the loss of broker ${each.broker}`, certain(each.missed, clock)]]),
      [`broker ${each.broker} returned`, certain(each.returned, clock)],
    ]),
    ...found.costs.map((each) => [`${each.partitions.length === 1 ? each.partitions[0] : `${each.partitions.length} partitions`} had no leader for`, certain(each.duration_ms, span)]),
  ];
  const table = make("dl", { class: "values" }, ...values.flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, value)]));
  node.append(...evidence(found), ...(items.length ? [make("ul", {}, ...items)] : []), ...(values.length ? [table] : []));
}

// Look at an incident, with a quarter of its length on both sides.
function choose(index) {
  const incident = data.incidents[index];
  if (!incident) return;
  view.incident = index;
  const place = matching().findIndex((each) => each.index === index);
  if (place >= view.listed) {
    view.listed = place + MORE;
    tellIncidents();
  }
  const end = incident.until ?? incident.since, wide = Math.max(end - incident.since, 200);
  for (const node of byId("incidents").querySelectorAll(".incident")) {
    const isIt = Number(node.dataset.index) === index;
    node.classList.toggle("current", isIt);
    if (isIt) node.open = true;
  }
  look(incident.since - wide / 4, end + wide / 4);
}

// The next incident of the list that is shown, or the one before.
function step(by) {
  const shown = matching().map((each) => each.index);
  if (shown.length === 0) return;
  const at = shown.indexOf(view.incident);
  choose(shown[at < 0 ? 0 : Math.min(Math.max(at + by, 0), shown.length - 1)]);
}

// The post-mortem in the zone that was chosen, but for the lines of logs, which are quoted as they are.
const inChosenZone = (markdown) => markdown.split("\n").map((line) => (line.startsWith("    ") ? line : inZone(line))).join("\n");

async function exportMarkdown(index) {
  const found = await detail(`incident-${index}`);
  if (found === null) return;
  const link = make("a", { href: URL.createObjectURL(new Blob([inChosenZone(found.markdown)], { type: "text/markdown" })), download: `post-mortem-${index + 1}.md` });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
}
