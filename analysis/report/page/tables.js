// The audit and the tables.
function tellAudit() {
  const found = new Map();
  for (const each of data.audit) found.set(each.check, (found.get(each.check) ?? 0) + 1);
  const checks = Object.entries(data.checks).map(([check, meaning]) => make("li", found.has(check) ? { class: "bad" } : {}, found.has(check) ? `${found.get(check)} × ${meaning}` : `never: ${meaning}`));
  byId("audit").replaceChildren(...data.audited.map((line) => make("p", {}, line)), make("ul", { class: "checks" }, ...checks));
  for (const finding of data.audit) {
    const where = finding.topic === null ? "" : ` ${finding.topic}-${finding.partition}`;
    const line = make("summary", {}, `${finding.check}:${where} ${finding.detail}`, make("span", { class: "num" }, clock(finding.time)));
    byId("audit").append(make("details", {}, line, ...finding.evidence.map((raw) => make("pre", {}, raw))));
  }
}

function tellTables() {
  byId("tables").replaceChildren();
  for (const table of data.tables) {
    const cells = (row) => row.map((value, column) => make("td", {}, cellText(value, table.forms[column])));
    const body = make("tbody", {}, ...table.rows.map((row) => make("tr", {}, ...cells(row))));
    const head = make("thead", {}, make("tr", {}, ...table.columns.map((name) => make("th", {}, name))));
    const more = table.total > table.rows.length ? `, the first ${table.rows.length} of ${table.total}` : ` (${table.total})`;
    const line = make("summary", {}, table.title, make("span", { class: "faint" }, more));
    byId("tables").append(make("details", {}, line, make("div", { class: "scroll" }, make("table", {}, head, body))));
  }
}

function cellText(value, form) {
  if (value === null) return "?";
  if (form === "time") return clock(value);
  if (form === "span") return span(value);
  return String(value).slice(0, 300);
}
