// From times to places and back. Quiet stretches that lie in between are folded: each is as wide as FOLD pixels.
const FOLD = 26;

function scaleOf(from, to, left, right, quiet) {
  const wide = Math.max(to - from, 1);
  // A stretch is folded if that makes it narrower than it would be.
  const folds = quiet.map(([since, until]) => [Math.max(since, from), Math.min(until, to)])
    .filter(([since, until]) => (until - since) / wide * (right - left) > 2 * FOLD);
  const folded = folds.reduce((sum, [since, until]) => sum + until - since, 0);
  const perMs = (right - left - FOLD * folds.length) / Math.max(wide - folded, 1);
  const pieces = [];
  let at = from, place = left;
  for (const [since, until] of folds) {
    pieces.push({ since: at, until: since, left: place, right: place + (since - at) * perMs, isFold: false });
    place += (since - at) * perMs;
    pieces.push({ since, until, left: place, right: place + FOLD, isFold: true });
    place += FOLD;
    at = until;
  }
  pieces.push({ since: at, until: to, left: place, right, isFold: false });
  const within = (value, a, b, c, d) => (b === a ? c : c + (d - c) * (value - a) / (b - a));
  return {
    pieces,
    x(ms) {
      const piece = pieces.find((each) => ms <= each.until) ?? pieces[pieces.length - 1];
      return within(ms, piece.since, piece.until, piece.left, piece.right);
    },
    time(x) {
      const piece = pieces.find((each) => x <= each.right) ?? pieces[pieces.length - 1];
      return within(Math.min(Math.max(x, left), right), piece.left, piece.right, piece.since, piece.until);
    },
  };
}
