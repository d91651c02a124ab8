// Facts, bounds and unknowns, marked in a sentence, in a value and by a word for those who do not see the marks.
const TIME = String.raw`(?:\d{4}-\d\d-\d\d )?\d\d:\d\d:\d\d\.\d{3}`;
const SPAN = String.raw`\d[\d.]* (?:ms|s|min \d+ s|h \d+ min|days)(?![a-z])`;
const MARKS = new RegExp([
  String.raw`(?<bound>between ${TIME} and ${TIME}|${TIME} or before|(?:after|by) ${TIME}|at least ${SPAN}(?: and at most ${SPAN})?|at most ${SPAN})`,
  String.raw`(?<unknown>(?:at|for) an unknown time|(?:why|which|whether|who)[^,;:.()]* (?:is|was) unknown(?:[^,;:.()]|\.(?=\w))*|no line shows[^,;.()]*|unknown)`,
  String.raw`(?<fact>${TIME}|for ${SPAN})`,
].join("|"), "g");

// A sentence as parts, each with its certainty; null for the words in between.
function partsOf(text) {
  const parts = [];
  let at = 0;
  for (const found of text.matchAll(MARKS)) {
    if (found.index > at) parts.push([text.slice(at, found.index), null]);
    parts.push([found[0], Object.keys(found.groups).find((name) => found.groups[name] !== undefined)]);
    at = found.index + found[0].length;
  }
  if (at < text.length) parts.push([text.slice(at), null]);
  return parts;
}

// The words of a sentence, with its times in the zone that was chosen.
function sentence(text) {
  return partsOf(text).map(([words, certainty]) => (certainty === null ? inZone(words)
    : make("span", { class: certainty, title: certainty }, inZone(words))));
}

// The times in a text are UTC, as the summary says, and without a day if the logs are of one day.
function inZone(text) {
  if (view.zone === "UTC" || data.start === null) return text;
  return text.replace(/^(- )?Times are UTC;/, `$1Times are in ${view.zone};`).replace(new RegExp(TIME, "g"), (time) => {
    const dated = time.length > 12, utc = Date.parse(`${dated ? time.slice(0, 10) : utcDay(data.start)}T${time.slice(-12)}Z`);
    return Number.isNaN(utc) ? time : `${dated || day(utc) !== utcDay(data.start) ? `${day(utc)} ` : ""}${clock(utc, true, false)}`;
  });
}
