// Conditions and incidents, with the evidence behind each, and the post-mortem of an incident to take along.
// FIRST is the number of incidents in the list at first: the pictures are below it. MORE is by how many it grows.
const FIRST = 20, MORE = 100;

const matches = (incident) => (!view.filter.severity || incident.severity === view.filter.severity)
  && (!view.filter.kind || incident.kind === view.filter.kind)
  && (view.filter.broker === null || incident.brokers.includes(view.filter.broker))
  && (!view.filter.topic || incident.topics.includes(view.filter.topic));

// The worst of those that match, in order of time.
const matching = () => data.incidents.map((each, index) => ({ ...each, index })).filter(matches);
const listedNow = () => matching().slice(0, view.listed).sort((a, b) => a.since - b.since);

function evidence(sentence) {
  const more = sentence.more_lines ? [make("p", { class: "faint" }, `and ${sentence.more_lines} lines more`)] : [];
  const lines = sentence.lines.map((line) => make("pre", {}, line));
  return lines.length ? [make("details", {}, make("summary", { class: "faint" }, "lines that prove it"), ...lines, ...more)] : [];
}

function tellConditions() {
  byId("wrong").hidden = data.conditions.length === 0;
  byId("conditions").replaceChildren(...data.conditions.map((each) => make("div", { class: "condition" },
    make("strong", {}, `${each.alarm}: `, ...sentence(each.text)),
    ...[each.detail, `${each.means} ${each.advice}`, each.source].map((line) => make("p", {}, line)), ...evidence(each))));
}

function tellIncidents() {
  const host = byId("incidents"), found = matching();
  host.replaceChildren();
  if (data.incidents.length === 0) host.append(make("p", {}, data.nothing));
  else if (found.length === 0) host.append(make("p", { class: "faint" }, "No incident matches the filters."));
  for (const incident of listedNow()) host.append(incidentNode(incident));
  const rest = found.length - view.listed;
  if (rest > 0) {
    const button = make("button", { type: "button", id: "more-incidents" }, `show ${Math.min(rest, MORE)} of ${rest} more, which are less bad`);
    button.onclick = () => { view.listed += MORE; tellIncidents(); };
    host.append(button);
  }
  for (const line of data.left) host.append(make("p", { class: "faint" }, line));
  byId("shown").textContent = found.length === data.incidentsCount ? `${found.length}` : `${found.length} of ${data.incidentsCount}`;
}

function incidentNode(incident) {
  const show = make("button", { type: "button", class: "show" }, "show"), save = make("button", { type: "button", class: "save" }, "post-mortem");
  show.onclick = (event) => { event.preventDefault(); choose(incident.index); };
  save.onclick = (event) => { event.preventDefault(); exportMarkdown(incident.index); };
  const head = make("summary", {}, make("span", { class: `severity ${incident.severity}` }, incident.severity), " ", ...sentence(incident.text), " ", show, " ", save);
  const items = incident.details.map((each) => make("li", {}, ...sentence(each.text), ...evidence(each)));
  const node = make("details", { class: "incident", "data-index": incident.index }, head, ...evidence(incident), ...(items.length ? [make("ul", {}, ...items)] : []));
  node.open = incident.index === view.incident;
  node.classList.toggle("current", node.open);
  return node;
}

// Look at an incident, with a quarter of its length on both sides. One that no line ends goes on to the end of the logs.
function choose(index) {
  const incident = data.incidents[index];
  view.incident = index;
  const place = matching().findIndex((each) => each.index === index);
  if (place >= view.listed) view.listed = place + MORE;
  tellIncidents();
  const end = incident.until ?? data.end, wide = Math.max(end - incident.since, 200);
  look(incident.since - wide / 4, end + wide / 4);
}

// The next incident of the list that is shown, or the one before.
function step(by) {
  const shown = listedNow().map((each) => each.index);
  if (shown.length === 0) return;
  const at = shown.indexOf(view.incident);
  choose(shown[at < 0 ? 0 : Math.min(Math.max(at + by, 0), shown.length - 1)]);
}

// The post-mortem in the zone that was chosen, but for the lines of logs, which are quoted as they are.
const inChosenZone = (markdown) => markdown.split("\n").map((line) => (line.startsWith("    ") ? line : inZone(line))).join("\n");

function exportMarkdown(index) {
  const text = inChosenZone(data.incidents[index].markdown);
  const link = make("a", { href: URL.createObjectURL(new Blob([text], { type: "text/markdown" })), download: `post-mortem-${index + 1}.md` });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
}
