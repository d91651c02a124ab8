// Times are milliseconds of the brokers' own clocks, in UTC; the summary names the zone that they were read as.
const two = (number) => String(number).padStart(2, "0");

// Logs of more than one day need the day with each time.
const severalDays = () => data.start !== null && day(data.start) !== day(data.end);
const severalYears = () => severalDays() && day(data.start).slice(0, 4) !== day(data.end).slice(0, 4);
const shortDay = (ms) => (severalYears() ? day(ms) : day(ms).slice(5));

function clock(ms, fine = true, dated = severalDays()) {
  if (ms === null || ms === undefined) return "";
  const at = new Date(ms);
  const base = `${dated ? `${shortDay(ms)} ` : ""}${two(at.getUTCHours())}:${two(at.getUTCMinutes())}:${two(at.getUTCSeconds())}`;
  return fine ? `${base}.${String(at.getUTCMilliseconds()).padStart(3, "0")}` : base;
}

function day(ms) {
  return new Date(ms).toISOString().slice(0, 10);
}

function span(ms) {
  if (ms === null || ms === undefined) return "";
  const sign = ms < 0 ? "-" : "", size = Math.abs(ms);
  if (size < 1000) return `${sign}${Math.round(size)} ms`;
  if (size < 60000) return `${sign}${(size / 1000).toFixed(1)} s`;
  const minutes = Math.floor(size / 60000), seconds = Math.round((size % 60000) / 1000);
  if (minutes < 60) return `${sign}${minutes} min ${seconds} s`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${sign}${hours} h ${minutes % 60} min` : `${sign}${(hours / 24).toFixed(1)} days`;
}

const STEPS = [
  1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 15e3, 3e4, 6e4, 12e4, 3e5, 6e5, 9e5, 18e5, 36e5, 72e5,
  144e5, 216e5, 432e5, ...[1, 2, 7, 28, 91, 182, 365, 1826].map((days) => days * 864e5),
];

// About `wanted` round times between two.
function ticks(from, to, wanted) {
  const step = STEPS.find((each) => (to - from) / each <= wanted) ?? STEPS[STEPS.length - 1];
  const times = [];
  let shown = null;
  for (let at = Math.ceil(from / step) * step; at <= to; at += step) {
    const time = step >= 6e4 ? clock(at, false, false).slice(0, 5) : clock(at, step < 1000, false);
    const begins = severalDays() && day(at) !== shown;
    times.push({ at, text: step >= 864e5 ? day(at) : begins ? `${shortDay(at)} ${time}` : time });
    shown = day(at);
  }
  return times;
}
