// Who led each partition: a row for each, the most troubled first.
const ROW = 22, SHOWN = 16;

const leadershipsOf = (name) => data.leaderships[name] ?? [];

function wantedPartitions() {
  const topic = view.filter.topic, broker = view.filter.broker;
  return data.partitions.filter((name) => (!topic || name.slice(0, name.lastIndexOf("-")) === topic)
    && (broker === null || leadershipsOf(name).some((each) => each.leader === broker)));
}

function drawPartitions() {
  const wanted = wantedPartitions(), names = wanted.slice(0, view.all ? undefined : SHOWN);
  const at = picture(byId("rows"), Math.max(ROW * names.length, ROW));
  names.forEach((name, index) => drawPartition(at, name, AXIS + ROW * index));
  byId("others").textContent = data.others > 0 ? `${data.others} quiet ones are in the table leaders only` : "";
  if (wanted.length > names.length) {
    const button = make("button", { type: "button", id: "all" }, `show ${wanted.length - names.length} more`);
    button.onclick = () => { view.all = true; drawPartitions(); };
    byId("rows").append(button);
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
  at.label(top + 15, name);
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
  for (const each of data.stretches[name] ?? []) {
    const said = `${name} ${each.what}\n${clock(each.since)} to ${each.until === null ? "an unknown time" : clock(each.until)}`;
    const [place, tall, kind, fill] = each.what === "under-replicated" ? [17, 3.5, "short", "var(--warn)"] : [2, 17, "lost", "var(--bad)"];
    if (each.earliest !== null) at.bar(each.earliest, each.since, top + 4, 13, { fill: PERHAPS }, said);
    if (each.until === null) at.bar(each.since, data.end, top + place, Math.min(tall, 9), { class: "unseen", fill: UNKNOWN }, said);
    at.bar(each.since, each.until ?? each.since, top + place, tall, { class: kind, fill }, said, 3);
  }
}
