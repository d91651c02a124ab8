// How many partitions were without a leader, or under-replicated: a strip for each, in all and by topic.
const STRIP = 18, ALL = "", SHOWN_TOPICS = 5;
const TINTS = [["without a leader", "--bad"], ["under-replicated", "--warn"]];

function stripRows() {
  const rows = [], topic = view.filter.topic;
  for (const [what, tint] of TINTS) {
    const strips = data.strips[what];
    rows.push({ label: what, what, tint, steps: strips[topic || ALL] ?? [] });
    const topics = Object.keys(strips).filter((each) => each !== ALL);
    if (!topic && topics.length > 1) rows.push(...topics.slice(0, SHOWN_TOPICS).map((each) => ({ label: `  ${each}`, topic: each, what, tint, steps: strips[each] })));
  }
  return rows;
}

function drawStrip(at, row, top) {
  at.label(top + 13, row.label, { class: row.topic ? "faint" : "" });
  at.bar(data.start, data.end, top + 2, STRIP - 4, { fill: "var(--alive)", opacity: .3, rx: 0 });
  const unended = data.unended[row.what][row.topic ?? (view.filter.topic || ALL)];
  if (unended !== undefined) at.bar(unended, data.end, top + 4, STRIP - 8, { class: "unseen", fill: UNKNOWN }, `No line shows until when some were ${row.what}, from ${clock(unended)} on.`);
  const most = Math.max(...row.steps.map((each) => each[1]), 1);
  row.steps.forEach(([since, number], index) => {
    const until = row.steps[index + 1]?.[0] ?? data.end;
    if (number > 0) {
      at.bar(since, until, top + 2, STRIP - 4, { class: "cell", fill: `var(${row.tint})`, opacity: .3 + .7 * number / most, rx: 0 },
        `${number} ${row.what}${row.topic ? ` of ${row.topic}` : ""}\n${clock(since)} to ${clock(until)}`);
    }
  });
}
