// Who led each partition: a row for each, the most troubled first, and the one asked for on top.
const ROW = 22, SHOWN = 16;

const rowsFile = (name) => `rows-${Math.floor(data.partitions.indexOf(name) / data.group)}`;
const leadershipsOf = (name) => details.get(rowsFile(name))?.leaderships[name] ?? [];
const stallsOf = (name) => details.get(rowsFile(name))?.stalls[name] ?? [];

// Load the files of partitions.
function loadRows(names) {
  const files = new Set(names.filter((name) => data.partitions.includes(name)).map(rowsFile));
  return Promise.all([...files].map((file) => detail(file)));
}

function wantedPartitions() {
  const topic = view.filter.topic, broker = view.filter.broker;
  return data.partitions.filter((name, index) => (!topic || name.slice(0, name.lastIndexOf("-")) === topic)
    && (broker === null || data.leaders[index].includes(broker)));
}

function drawPartitions() {
  const wanted = wantedPartitions(), names = wanted.filter((name) => name !== view.partition).slice(0, view.all ? undefined : SHOWN - 1);
  if (wanted.includes(view.partition)) names.unshift(view.partition);
  const missing = names.filter((name) => !details.has(rowsFile(name)));
  const at = picture(byId("rows"), Math.max(ROW * names.length, ROW));
  names.forEach((name, index) => drawPartition(at, name, AXIS + ROW * index));
  at.mark(view.moment);
  const hidden = wanted.length - names.length;
  const text = [
    hidden > 0 ? `${hidden} more can be shown or asked for` : "",
    data.others > 0 ? `${data.others} quiet ones are in the table leaders only` : "",
  ].filter(Boolean).join("; ");
  byId("others").textContent = text;
  if (hidden > 0) {
    const button = make("button", { type: "button", id: "all" }, "show all");
    button.onclick = () => { view.all = true; drawPartitions(); };
    byId("rows").append(button);
  }
  if (missing.length) {
    loadRows(missing).then((found) => { if (found.every((each) => each !== null)) { drawPartitions(); drawCluster(); } });
  }
}

// The time up to which lines show who led: until the leader was gone, and of the last one, what it still wrote. Where
// leader epochs jump, only the begin is known.
function ledUntil(led, next) {
  const begun = Math.max(led.since, led.led_at ?? led.since);
  if (next && led.leader_epoch !== null && next.leader_epoch - led.leader_epoch > 1) return begun;
  const last = led.until ?? data.brokers.find((each) => each.broker === led.leader)?.last ?? led.since;
  const gone = data.absences.filter((each) => each.broker === led.leader && each.gone !== null && each.gone >= led.since).map((each) => each.lived ?? each.gone);
  return Math.max(led.since, Math.min(last, Math.max(begun, Math.min(last, ...gone))));
}

function nameLeader(at, led, drawn, top, kind) {
  const text = String(led.leader);
  if (drawn && drawn.right - drawn.left > 12 + text.length * 7) {
    at.svg.append(shape("text", { class: kind, x: drawn.left + 5, y: top + 14.5, "pointer-events": "none" }, text));
  }
}

function drawPartition(at, name, top) {
  const label = at.label(top + 15, name, { class: "pick", "font-weight": name === view.partition ? 700 : 400, tabindex: 0, role: "button" });
  label.addEventListener("click", () => ask(name, null));
  label.addEventListener("keydown", (event) => { if (event.key === "Enter") ask(name, null); });
  const leaderships = leadershipsOf(name);
  for (const [index, led] of leaderships.entries()) {
    if (led.leader < 0) continue;
    const known = ledUntil(led, leaderships[index + 1]);
    const epoch = led.leader_epoch === null ? "" : `, leader epoch ${led.leader_epoch}`;
    const said = `${name}: broker ${led.leader} was elected leader${epoch}\n${clock(led.since)} ${led.why}\n`
      + `${led.led_at === null ? "No line shows when it led." : `It led from ${clock(led.led_at)} on.`}\n`
      + (led.ended ? `${clock(led.until)} ${led.ended}` : "No line shows another leader.");
    if (known < (led.until ?? data.end)) at.bar(known, led.until, top + 6, 9, { class: "unseen", fill: UNKNOWN }, `${said}\nWho led from ${clock(known)} on no line shows.`);
    // An election shows no leader yet: the broker's own line does, which a clock that is behind dates before it.
    const begun = led.led_at === null ? known : Math.min(Math.max(led.led_at, led.since), known);
    if (begun > led.since || led.led_at === null) {
      const elected = at.bar(led.since, begun, top + 5, 11, { class: "elected", fill: colour(led.leader), stroke: colour(led.leader) }, said);
      nameLeader(at, led, elected, top, "elected");
    }
    if (led.led_at !== null) nameLeader(at, led, at.bar(begun, known, top + 4, 13, { class: "led", fill: colour(led.leader) }, said), top, "on");
  }
  for (const stall of stallsOf(name)) {
    const said = `${stall.headline}\n${clock(stall.since)} to ${clock(stall.until) || "an unknown time"}`;
    if (stall.what === "without a leader") {
      if (stall.since < stall.surely) at.bar(stall.since, stall.surely, top + 4, 13, { fill: PERHAPS }, said);
      if (stall.until === null) at.bar(stall.surely, data.end, top + 6, 9, { class: "unseen", fill: UNKNOWN }, `${said}\nNo line shows a later leader; until when it had none is unknown.`);
      at.bar(stall.surely, stall.until ?? stall.surely, top + 2, 17, { class: "lost", fill: "var(--bad)" }, said, 3);
    } else {
      at.bar(stall.since, stall.until, top + 17, 3.5, { fill: "var(--warn)" }, said);
    }
  }
}
