// Times are milliseconds in UTC, shown in the zone that is chosen; the summary names the zone that they were read as.
const two = (number) => String(number).padStart(2, "0");
const formats = new Map();

// The milliseconds by which the chosen zone is ahead of UTC at a time.
function ahead(ms) {
  if (view.zone === "UTC") return 0;
  if (!formats.has(view.zone)) {
    formats.set(view.zone, new Intl.DateTimeFormat("en-US", {
      timeZone: view.zone, hourCycle: "h23", year: "numeric", month: "numeric", day: "numeric",
      hour: "numeric", minute: "numeric", second: "numeric",
    }));
  }
  const parts = Object.fromEntries(formats.get(view.zone).formatToParts(ms).map((each) => [each.type, Number(each.value)]));
  const local = Date.UTC(parts.year, parts.month - 1, parts.day, parts.hour, parts.minute, parts.second);
  return local - Math.floor(ms / 1000) * 1000;
}

const local = (ms) => new Date(ms + ahead(ms));
const utcDay = (ms) => new Date(ms).toISOString().slice(0, 10);

// Logs of more than one day need the day with each time.
const severalDays = () => data.start !== null && day(data.start) !== day(data.end);
const severalYears = () => severalDays() && day(data.start).slice(0, 4) !== day(data.end).slice(0, 4);
const shortDay = (ms) => (severalYears() ? day(ms) : day(ms).slice(5));

function clock(ms, fine = true, dated = severalDays()) {
  if (ms === null || ms === undefined) return "";
  const at = local(ms);
  const base = `${dated ? `${shortDay(ms)} ` : ""}${two(at.getUTCHours())}:${two(at.getUTCMinutes())}:${two(at.getUTCSeconds())}`;
  return fine ? `${base}.${String(at.getUTCMilliseconds()).padStart(3, "0")}` : base;
}

function day(ms) {
  return local(ms).toISOString().slice(0, 10);
}

// A span of time.
function span(ms) {
  const rounded = Math.round, sign = ms < 0 ? "-" : "", size = Math.abs(ms);
  if (rounded(size) < 1000) return `${sign}${rounded(size)} ms`;
  if (rounded(size / 100) < 600) return `${sign}${(rounded(size / 100) / 10).toFixed(1)} s`;
  // Round before dividing: 37 min 59.7 s are 38 min.
  const whole = rounded(size / 1000), minutes = Math.floor(whole / 60);
  if (minutes < 60) return `${sign}${minutes} min ${whole % 60} s`;
  const round = rounded(size / 60000), hours = Math.floor(round / 60);
  return hours < 48 ? `${sign}${hours} h ${round % 60} min` : `${sign}${(rounded(size / 8.64e6) / 10).toFixed(1)} days`;
}

const STEPS = [
  1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 15e3, 3e4, 6e4, 12e4, 3e5, 6e5, 9e5, 18e5, 36e5, 72e5,
  144e5, 216e5, 432e5, ...[1, 2, 7, 28, 91, 182, 365, 1826].map((days) => days * 864e5),
];

// About `wanted` round times between two.
function ticks(from, to, wanted) {
  const step = STEPS.find((each) => (to - from) / each <= wanted) ?? STEPS[STEPS.length - 1];
  const times = [], shift = ahead(from);
  let shown = null;
  for (let at = Math.ceil((from + shift) / step) * step - shift; at <= to; at += step) {
    const time = step >= 6e4 ? clock(at, false, false).slice(0, 5) : clock(at, step < 1000, false);
    const begins = severalDays() && day(at) !== shown;
    times.push({ at, text: step >= 864e5 ? day(at) : begins ? `${shortDay(at)} ${time}` : time });
    shown = day(at);
  }
  return times;
}
