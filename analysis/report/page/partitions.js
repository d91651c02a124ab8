// Who led each partition: a row for each, the most troubled first, and the one asked for on top.
const ROW = 22, SHOWN = 16;

function drawPartitions() {
  const names = data.partitions.filter((name) => name !== view.partition).slice(0, view.all ? undefined : SHOWN - 1);
  if (data.partitions.includes(view.partition)) names.unshift(view.partition);
  const at = picture(byId("rows"), Math.max(ROW * names.length, ROW));
  names.forEach((name, index) => drawPartition(at, name, AXIS + ROW * index));
  at.mark(view.moment);
  const hidden = data.partitions.length - names.length;
  const text = [
    hidden > 0 ? `${hidden} more can be shown or asked for` : "",
    data.others > 0 ? `${data.others} quiet ones are in the table leaders only` : "",
  ].filter(Boolean).join("; ");
  byId("others").textContent = text;
  if (hidden > 0) {
    const button = make("button", { type: "button" }, "show all");
    button.onclick = () => { view.all = true; drawPartitions(); };
    byId("rows").append(button);
  }
}

function drawPartition(at, name, top) {
  const label = at.label(top + 15, name, { class: "pick", "font-weight": name === view.partition ? 700 : 400 });
  label.addEventListener("click", () => ask(name, null));
  for (const reign of data.reigns[name] ?? []) {
    if (reign.leader < 0) continue;
    const epoch = reign.leader_epoch === null ? "" : `, leader epoch ${reign.leader_epoch}`;
    const said = `${name}: leader ${reign.leader}${epoch}\n${clock(reign.since)} ${reign.why}\n`
      + `led from ${clock(reign.led_at) || "unknown"}\n${reign.ended ? `${clock(reign.until)} ${reign.ended}` : "to the end of the logs"}`;
    const drawn = at.bar(reign.since, reign.until, top + 4, 13, { fill: colour(reign.leader) }, said);
    const text = String(reign.leader);
    if (drawn && drawn.right - drawn.left > 12 + text.length * 7) {
      at.svg.append(shape("text", { class: "on", x: drawn.left + 5, y: top + 14.5, "pointer-events": "none" }, text));
    }
  }
  for (const stall of data.stalls[name] ?? []) {
    const said = `${stall.headline}\n${clock(stall.since)} to ${clock(stall.until) || "the end of the logs"}`;
    if (stall.what === "without a leader") {
      if (stall.since < stall.noticed) at.bar(stall.since, stall.noticed, top + 4, 13, { fill: PERHAPS }, said);
      at.bar(stall.noticed, stall.until, top + 2, 17, { fill: "var(--bad)" }, said);
    } else {
      at.bar(stall.since, stall.until, top + 17, 3.5, { fill: "var(--warn)" }, said);
    }
  }
}
