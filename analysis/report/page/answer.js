// The answer to "why did writes to … stall at …?"
function stepsOf(steps) {
  const list = make("ol", { class: "steps" });
  for (const step of steps) {
    const after = step.after === null ? "" : `+${spanOrLess(step.after, "< 1 ms")}`;
    list.append(make("li", {}, make("time", {}, clock(step.time)), make("span", { class: "after" }, after), make("span", {}, step.text)));
  }
  return list;
}

const MOMENT = /^(?:(?:\d{4}-)?((?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01]))[ T])?(\d|[01]\d|2[0-3]):([0-5]\d)(?::([0-5]\d)(?:[.,](\d{3}))?)?$/;

// The time asked for, as a stretch: 03:12 is a minute, 03:12:08 a second, 11-21 03:12 a minute of that day.
// Without a day it is the first one on which something kept writes to the partition waiting then. Null if the text is
// no time, or none of these logs.
function stretch(text, partition) {
  const found = MOMENT.exec(text ?? "");
  if (!found || data.start === null) return null;
  const inDay = ((Number(found[2]) * 60 + Number(found[3])) * 60 + Number(found[4] ?? 0)) * 1000 + Number(found[5] ?? 0);
  const long = found[5] !== undefined ? 1 : found[4] !== undefined ? 1000 : 60000, choices = [];
  const first = Math.floor((data.start + ahead(data.start)) / 864e5) * 864e5;
  for (let midnight = first; midnight - 864e5 <= data.end; midnight += 864e5) {
    const from = midnight + inDay - ahead(midnight + inDay);
    if (from + long > data.start && from <= data.end && (!found[1] || day(from).endsWith(found[1]))) choices.push([from, from + long]);
  }
  return choices.find((each) => stallsIn(partition, each).length > 0) ?? choices[0] ?? null;
}

function stallsIn(partition, [from, to]) {
  return stallsOf(partition).filter((each) => each.since < to && (each.until ?? Infinity) >= from);
}

function leaderAt(partition, ms) {
  return leadershipsOf(partition).findLast((each) => each.since <= ms && (each.until ?? data.end) >= ms);
}

// An election shows no leader yet: only the broker's own line shows that it led, and since when.
function leaderText(partition, led, ms) {
  const all = leadershipsOf(partition), last = led.leader < 0 ? led.until ?? led.since : ledUntil(led, all[all.indexOf(led) + 1]);
  const epoch = led.leader_epoch === null ? "" : `, leader epoch ${led.leader_epoch}`;
  const elected = `Broker ${led.leader} was elected its leader by ${clock(led.since)}${epoch}`;
  if (led.leader >= 0 && led.led_at === null) return `${elected}; no line shows when it led.`;
  const who = led.leader < 0 ? `It had no leader from ${clock(led.since)} on` : `${elected}, and led it from ${clock(led.led_at)} on`;
  return last < ms ? `${who}; until when no line shows.` : `${who}.`;
}

function tellOthers(card, stalls) {
  if (stalls.length === 0) return;
  const list = make("ul", {}, ...stalls.slice(0, 50).map((each) => make("li", {}, `${clock(each.since)}  ${each.headline}`)));
  card.append(make("details", {}, make("summary", { class: "faint" }, `At other times (${stalls.length})`), list));
}

// Clocks may differ by this much, in milliseconds.
const CLOCKS = 2000;

// The incidents that went on in a stretch of time, of which one that no line ends goes on; without a time those that are
// about the partition's topic, or stopped everything.
function incidentsOf(partition, when) {
  const topic = partition.slice(0, partition.lastIndexOf("-"));
  return data.incidents.map((each, index) => ({ ...each, index })).filter((each) => (when === null
    ? each.topics.includes(topic) || each.kind === "the whole cluster stopped"
    : each.since - CLOCKS < when[1] && (each.until ?? data.end) + CLOCKS >= when[0]));
}

function listIncidents(card, found, title) {
  if (found.length === 0) return;
  const items = found.slice(0, 6).map((each) => {
    const show = make("button", { type: "button", class: "show" }, "show");
    show.onclick = () => choose(each.index);
    return make("li", {}, ...sentence(each.text), " ", show);
  });
  card.append(make("p", { class: "faint" }, title), make("ul", { class: "at" }, ...items));
}

// The incidents that began in a stretch of time, or went on, and apart from them those before it that may have gone on.
function listTimely(card, found, when) {
  const isBefore = (each) => each.until === null && each.since < when[0] - CLOCKS;
  listIncidents(card, found.filter((each) => !isBefore(each)), "Incidents at that time:");
  listIncidents(card, found.filter(isBefore), "Incidents before it, of which no line shows an end:");
}

// What is wrong with a time that was asked for, and what is expected; nothing if it is a time of these logs.
function refused(text, when) {
  if (!text || when !== null || data.start === null) return [];
  const why = MOMENT.test(text) ? `These logs have no line at ${text}` : `'${text}' is no time`;
  const from = clock(data.start, true, false), to = clock(data.end, true, false);
  return [make("p", { class: "refused" }, `${why}: expected 03:12, 03:12:08, 03:12:08.010 or 11-21 03:12, `
    + `from ${day(data.start)} ${from} to ${day(data.end)} ${to} ${view.zone}.`)];
}

// Draws the answer, and gives the stretch of time that it is about.
function tellAnswer(partition, text) {
  const card = byId("answer"), when = stretch(text, partition), stalls = stallsOf(partition);
  card.className = "card";
  if (!data.partitions.includes(partition)) {
    card.replaceChildren(make("p", {}, partition
      ? `${partition} is not one of the ${data.partitions.length} partitions in this report. The tables leaders and unavailability hold all.`
      : "No partition is known from these logs."));
    return null;
  }
  const touched = when === null ? stalls : stallsIn(partition, when);
  // Without a leader first, those of incidents before others, the longest first; unasked for a time, that one says enough.
  const long = (each) => (each.until ?? Infinity) - each.since;
  const worse = (a, b) => b.is_in_incident - a.is_in_incident || long(b) - long(a);
  const shown = [...touched].sort((a, b) => (a.what === b.what ? worse(a, b) : a.what === "without a leader" ? -1 : 1))
    .slice(0, when === null ? 1 : 6);
  card.replaceChildren(...refused(text, when));
  if (shown.length === 0) {
    const at = when ? when[0] : data.end, led = leaderAt(partition, at), incidents = incidentsOf(partition, when);
    // Where brokers were gone, no line need say which of their partitions that kept waiting.
    const said = incidents.length ? `No line about ${partition} itself shows that writes to it waited`
      : `Nothing in these logs kept writes to ${partition} waiting`;
    card.append(make("h3", {}, `${said}${when ? ` at ${text}` : ""}.`));
    if (led && incidents.length === 0) card.append(make("p", { class: "faint" }, leaderText(partition, led, at)));
    if (when) listTimely(card, incidents, when);
    else listIncidents(card, incidents, "Incidents of its topic:");
    tellOthers(card, stalls);
    return when;
  }
  if (shown[0].what === "without a leader") card.classList.add("offline");
  for (const stall of shown) card.append(make("h3", {}, `${stall.headline}.`), stepsOf(stall.steps));
  const first = shown[0];
  // Of a stall that no line ends, only the begin has a time: all that came later would be at that time.
  const around = when ?? [first.since, first.until ?? first.surely];
  listTimely(card, incidentsOf(partition, around), around);
  tellOthers(card, stalls.filter((each) => !shown.includes(each)));
  return [first.since, first.until ?? data.end];
}
