// The first lines, the failovers, the audit, the tables, what was not understood, and the words.
// The number of lines of the audit among the first lines that are not folded.
const AUDITED = 2;

function tellSummary() {
  const { mixed, happened, read, audit } = data.first, items = (lines, kind = {}) => lines.map((line) => make("li", kind, ...sentence(line)));
  byId("mixed").replaceChildren(...items(mixed, { class: "bad" }));
  byId("first").replaceChildren(...sentence(happened[0]));
  byId("happened").replaceChildren(...items(happened.slice(1)));
  byId("summary").replaceChildren(...items(read), ...items(audit.slice(0, 1), audit.length > 1 ? { class: "bad" } : {}));
  // The section about the audit has all findings; here they must not push the incidents out of sight.
  const few = audit.slice(1, 1 + AUDITED), rest = audit.slice(1 + AUDITED);
  byId("summary").append(...items(few));
  if (rest.length) byId("summary").append(make("li", {}, make("details", {}, make("summary", {}, `${rest.length} more lines of the audit`), make("ul", {}, ...items(rest)))));
}

function tellStories() {
  const host = byId("stories");
  host.replaceChildren();
  const more = details.get("stories") ?? [];
  [...data.stories, ...more].forEach((story, index) => {
    const show = make("button", { type: "button" }, "show");
    show.onclick = () => { const wide = Math.max(story.end - story.time, 200); look(story.time - wide / 4, story.end + wide / 4); };
    const line = make("summary", {}, `${clock(story.time)}  ${story.headline}`, make("span", { class: "total" }, story.total), " ", show);
    host.append(make("details", index < 3 ? { open: "" } : {}, line, ...incidentOf(story), stepsOf(story.steps)));
  });
  if (data.missingSteps) host.append(make("p", { class: "faint" }, data.missingSteps));
  const rest = data.storiesCount - data.stories.length - more.length;
  if (rest > 0) {
    const button = make("button", { type: "button", id: "more-stories" }, `show ${rest} more`);
    button.onclick = async () => { if (await detail("stories")) tellStories(); };
    host.append(button);
  }
}

// A button that opens the incident of a failover, which has the lines that prove it.
function incidentOf(story) {
  if (story.incident === null) return [];
  const open = make("button", { type: "button", class: "proof" }, "its incident, and the lines that prove it");
  open.onclick = async () => { await allIncidents(); choose(story.incident); byId("incidents").querySelector(".current")?.scrollIntoView(); };
  return [make("p", {}, open)];
}

function tellAudit() {
  const list = make("ul", { class: "checks" });
  byId("audit").replaceChildren();
  for (const [check, meaning] of Object.entries(data.checks)) {
    const found = data.auditCounts[check] ?? 0;
    list.append(make("li", found ? { class: "bad" } : {}, found ? `${found} × ${meaning}` : `never: ${meaning}`));
  }
  byId("audit").append(list);
  for (const finding of data.audit) {
    const where = finding.topic === null ? "" : ` ${finding.topic}-${finding.partition}`;
    const line = make("summary", {}, `${finding.check}:${where} ${finding.detail}`, make("span", { class: "num" }, clock(finding.time)));
    byId("audit").append(make("details", {}, line, ...finding.evidence.map((raw) => make("pre", {}, raw))));
  }
}

function tellTables() {
  byId("tables").replaceChildren();
  for (const [index, table] of data.tables.entries()) {
    const cells = (row) => row.map((value, column) => make("td", {}, cellText(value, table.forms[column])));
    const body = make("tbody", {}, ...table.rows.map((row) => make("tr", {}, ...cells(row))));
    const head = make("thead", {}, make("tr", {}, ...table.columns.map((name) => make("th", {}, name))));
    const more = table.count > table.rows.length ? `, the first ${table.rows.length} of ${table.count}` : ` (${table.count})`;
    const line = make("summary", {}, table.title, make("span", { class: "faint" }, more));
    byId("tables").append(make("details", index === 0 ? { open: "" } : {}, line, make("div", { class: "scroll" }, make("table", {}, head, body))));
  }
}

function cellText(value, form) {
  if (value === null || value === undefined) return "";
  if (typeof value === "string") return value;
  if (form === "time") return clock(value);
  if (form === "span") return spanOrLess(value, "less than 1 ms");
  if (form === "at least") return atLeast(value);
  if (form === "at most") return value === 0 ? "less than 1 ms" : atMost(value);
  if (Array.isArray(value)) return value.join(", ");
  return typeof value === "boolean" ? (value ? "yes" : "perhaps") : String(value);
}

function tellUnknown() {
  const host = byId("unknown");
  host.replaceChildren();
  if (data.unknown.length === 0) host.append(make("p", { class: "faint" }, "Every line was understood."));
  for (const each of data.unknown) {
    host.append(make("div", {}, make("span", { class: "faint" }, `${each.lines} × in ${each.sources} file${each.sources === 1 ? "" : "s"}, such as`), make("pre", {}, each.sample)));
  }
}

function tellTerms() {
  for (const [word, meaning] of Object.entries(data.terms)) byId("terms").append(make("dt", {}, word), make("dd", {}, meaning));
}
