// Who was controller, and which brokers were there: one lane for each broker.
const LANE = 26;

function drawCluster() {
  const brokers = [...brokerOrder.keys()].filter((id) => view.filter.broker === null || id === view.filter.broker), strips = stripRows();
  const lanes = LANE * (brokers.length + 1) + 8;
  const at = picture(byId("lanes"), lanes + STRIP * strips.length);
  drawControllers(at);
  brokers.forEach((broker, index) => drawBroker(at, broker, AXIS + LANE * (index + 1)));
  strips.forEach((row, index) => drawStrip(at, row, AXIS + lanes + STRIP * index));
}

function drawControllers(at) {
  at.label(AXIS + 17, "Controller");
  for (const active of data.controllers) {
    const end = active.next_since ?? data.end, isLast = active.next_since === null;
    const said = `broker ${active.controller} was controller, epoch ${active.controller_epoch}\n`
      + `first line ${clock(active.since)}`
      // KRaft's controllers log no changes: what the analysis keeps of their lines is their beginning.
      + (active.changes ? `, last ${clock(active.until)}\n${active.changes} partition changes` : "");
    // Its last line is the last sign that it acted; what follows is the time until the next one, or unknown.
    const quiet = end > active.until;
    const drawn = at.bar(active.since, quiet ? active.until : end, AXIS + 3, LANE - 8, { fill: colour(active.controller) }, said);
    if (quiet) at.bar(active.until, end, AXIS + 3, LANE - 8, isLast ? { class: "unseen", fill: UNKNOWN } : { fill: colour(active.controller), opacity: .35 }, said);
    const text = `${active.controller} · epoch ${active.controller_epoch}`;
    if (drawn && drawn.right - drawn.left > text.length * 7) {
      at.svg.append(shape("text", { class: "on", x: drawn.left + 6, y: AXIS + 16.5, "pointer-events": "none" }, text));
    }
  }
}

const tooltip = (absence) => inZone(data.incidents[absence.incident].text);

function drawBroker(at, broker, top) {
  at.svg.append(shape("rect", { x: 0, y: top + 6, width: 11, height: 11, rx: 3, fill: colour(broker) }));
  at.label(top + 16, `Broker ${broker}`, { x: 18 });
  // Only its own lines show a broker alive; the rest of the lane is not known.
  const log = data.brokers.find((each) => each.broker === broker);
  at.bar(data.start, data.end, top + 10, 3, { fill: UNKNOWN }, `no line of broker ${broker}`);
  if (log && log.first !== null) at.bar(log.first, log.last, top + 8, 7, { fill: "var(--alive)" });
  for (const each of data.absences.filter((gone) => gone.broker === broker && gone.gone !== null)) {
    if (each.lived !== null) at.bar(each.lived, each.gone, top + 5, 13, { fill: PERHAPS }, tooltip(each));
    if (each.back === null && each.starts === null) {
      at.bar(each.gone, each.gone, top + 5, 13, { fill: "var(--bad)" }, tooltip(each));
      at.bar(each.gone, data.end, top + 7, 9, { fill: UNKNOWN }, `${tooltip(each)}\nWhether it was gone all the time is unknown.`);
      continue;
    }
    // Of a return at a time or before, nothing shows how long the broker was gone at least.
    const surely = each.starts ?? each.gone;
    if (each.back !== null && each.back > surely) at.bar(surely, each.back, top + 5, 13, { fill: PERHAPS }, tooltip(each));
    at.bar(each.gone, surely, top + 5, 13, { fill: "var(--bad)" }, tooltip(each));
  }
  drawElections(at, broker, top);
}

// Elections of the broker as a leader, those of one pixel as one dot.
function drawElections(at, broker, top) {
  const [from, to] = view.shown, dots = new Map();
  for (const partition of wantedPartitions()) {
    for (const led of leadershipsOf(partition)) {
      if (led.leader !== broker || led.since < from || led.since > to) continue;
      if (led.why === "new epoch, same leader") continue;
      const place = Math.round(at.x(led.since) / 7);
      if (!dots.has(place)) dots.set(place, []);
      dots.get(place).push([led.since, `${clock(led.since)} elected leader of ${partition}: ${led.why}`]);
    }
  }
  for (const [place, led] of dots) {
    const said = [...led].sort((a, b) => a[0] - b[0]).map((each) => each[1]);
    const more = said.length > 8 ? `\n… and ${said.length - 8} more` : "";
    const dot = shape("circle", {
      cx: place * 7, cy: top + 11.5, r: Math.min(3.5 + Math.sqrt(led.length), 9),
      fill: colour(broker), stroke: "var(--card)", "stroke-width": 1.5,
    });
    at.svg.append(telling(dot, said.slice(0, 8).join("\n") + more));
  }
}
