// How many partitions were without a leader, or under-replicated: a heat strip for each, in all and by topic.
const STRIP = 18;

function stripRows() {
  const rows = [];
  for (const [what, tint] of [["without a leader", "--bad"], ["under-replicated", "--warn"]]) {
    const topics = Object.entries(data.strips[what] ?? {});
    const all = topics.reduce((sum, [, cells]) => sum.map((each, cell) => each + cells[cell]), new Array(data.cells).fill(0));
    rows.push({ label: what, cells: all, tint, what, bold: true });
    const worst = topics.map(([topic, cells]) => ({ label: `  ${topic}`, cells, tint, what, total: cells.reduce((a, b) => a + b, 0) }))
      .filter((row) => row.total > 0).sort((a, b) => b.total - a.total).slice(0, 5);
    if (worst.length > 1) rows.push(...worst);
  }
  return rows;
}

function drawStrip(at, row, top) {
  at.label(top + 13, row.label, { class: row.bold ? "" : "faint" });
  at.bar(data.start, data.end, top + 2, STRIP - 4, { fill: "var(--alive)", opacity: .3, rx: 0 });
  const most = Math.max(...row.cells, 1), wide = (data.end - data.start + 1) / data.cells;
  // Cells of one number are one bar: no seams, and few elements.
  for (let cell = 0; cell < row.cells.length; cell += 1) {
    const number = row.cells[cell], first = cell;
    while (row.cells[cell + 1] === number) cell += 1;
    if (number <= 0) continue;
    const since = data.start + first * wide, until = data.start + (cell + 1) * wide;
    at.bar(since, until, top + 2, STRIP - 4, { fill: `var(${row.tint})`, opacity: .3 + .7 * number / most, rx: 0 },
      `${number} ${row.what}${row.bold ? "" : ` of${row.label.replace("  ", " ")}`}\n${clock(since)} to ${clock(until)}`);
  }
}
