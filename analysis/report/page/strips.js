// How many partitions were without a leader, or under-replicated: a heat strip for each, in all and by topic. Zoomed in,
// the numbers come from the files of the shown time, moment by moment.
const STRIP = 18, ALL = "", MOST_CHUNKS = 8, SHOWN_TOPICS = 5;
const TINTS = [["without a leader", "--bad"], ["under-replicated", "--warn"]];

// The most at once in each of `count` equal parts of a time, from steps [time, number].
function cellsOf(steps, from, to, count) {
  const cells = new Array(count).fill(0), wide = (to - from) / count;
  steps.forEach(([since, number], index) => {
    const until = index + 1 < steps.length ? steps[index + 1][0] : Infinity;
    if (number <= 0 || since >= to || until <= from) return;
    const first = Math.max(Math.floor((since - from) / wide), 0);
    const last = Math.min(Math.ceil((until - from) / wide) - 1, count - 1);
    for (let cell = first; cell <= Math.max(last, first) && cell < count; cell += 1) cells[cell] = Math.max(cells[cell], number);
  });
  return cells;
}

// The files that hold the shown time; none where the overview is as good, or there are too many.
function chunksOf([from, to]) {
  const found = data.steps.map(([since, until], index) => [since, until, index])
    .filter(([since, until]) => since <= to && until > from).map((each) => each[2]);
  return found.length <= MOST_CHUNKS ? found : [];
}

// The cells of a trouble and a topic over the shown time, and their resolution.
function stripCells(what, topic) {
  const [from, to] = view.shown, found = chunksOf(view.shown).map((index) => details.get(`steps-${index}`));
  if (found.length === 0 || found.some((each) => !each)) {
    return { cells: data.strips[what]?.[topic] ?? new Array(data.cells).fill(0), from: data.start, to: data.end + 1 };
  }
  const steps = found.flatMap((chunk) => chunk.rows[what]?.[topic] ?? [[chunk.from, 0]]);
  return { cells: cellsOf(steps, from, to, data.cells * 2), from, to };
}

function stripRows() {
  const rows = [];
  for (const [what, tint] of TINTS) {
    const topics = Object.keys(data.strips[what] ?? {}).filter((topic) => topic !== ALL);
    if (!view.filter.topic) rows.push({ label: what, what, tint, bold: true, ...stripCells(what, ALL) });
    const wanted = topics.filter((topic) => !view.filter.topic || topic === view.filter.topic);
    const worst = wanted.map((topic) => ({ label: view.filter.topic ? what : `  ${topic}`, topic, what, tint, bold: Boolean(view.filter.topic), ...stripCells(what, topic) }))
      .filter((row) => row.cells.some((each) => each > 0) || unendedOf(row)).slice(0, SHOWN_TOPICS);
    if (worst.length > 1 || view.filter.topic) rows.push(...worst);
  }
  return rows;
}

// Since when, and of how many partitions, no line shows the end of the trouble; what follows is not known.
const unendedOf = (row) => data.unended[row.what]?.[row.topic ?? (view.filter.topic || ALL)];

function drawStrip(at, row, top) {
  at.label(top + 13, row.label, { class: row.bold ? "" : "faint" });
  at.bar(data.start, data.end, top + 2, STRIP - 4, { fill: "var(--alive)", opacity: .3, rx: 0 });
  const unended = unendedOf(row);
  if (unended) at.bar(unended[0], data.end, top + 4, STRIP - 8, { class: "unseen", fill: UNKNOWN }, `No line shows until when ${unended[1]} ${unended[1] === 1 ? "partition was" : "partitions were"} ${row.what}, from ${clock(unended[0])} or later on.`);
  const most = Math.max(...row.cells, 1), wide = (row.to - row.from) / row.cells.length;
  // Cells of one number are one bar: no seams, and few elements.
  for (let cell = 0; cell < row.cells.length; cell += 1) {
    const number = row.cells[cell], first = cell;
    while (row.cells[cell + 1] === number) cell += 1;
    if (number <= 0) continue;
    const since = row.from + first * wide, until = row.from + (cell + 1) * wide;
    at.bar(since, until, top + 2, STRIP - 4, { class: "cell", fill: `var(${row.tint})`, opacity: .3 + .7 * number / most, rx: 0 },
      `${number} ${row.what}${row.topic ? ` of ${row.topic}` : ""}\n${clock(since)} to ${clock(until)}`);
  }
}

// Load what the shown time needs, then draw it.
async function refine() {
  const missing = chunksOf(view.shown).filter((index) => !details.has(`steps-${index}`));
  if (missing.length === 0) return;
  const shown = view.shown;
  await Promise.all(missing.map((index) => detail(`steps-${index}`)));
  if (shown === view.shown) drawCluster();
}
