// Small helpers to make elements; text always goes in as text, never as markup.
const byId = (id) => document.getElementById(id);

function make(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
}

function shape(name, attributes = {}, text = null) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  if (text !== null) node.textContent = text;
  return node;
}

const colour = (broker) => `var(--b${((brokerOrder.get(broker) ?? broker) % 8 + 8) % 8})`;

// What the pointer is over, in words.
function telling(node, text) {
  const tip = byId("tip");
  node.addEventListener("pointermove", (event) => {
    tip.textContent = text;
    tip.hidden = false;
    tip.style.left = `${Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8)}px`;
    tip.style.top = `${Math.min(event.clientY + 16, innerHeight - tip.offsetHeight - 8)}px`;
  });
  node.addEventListener("pointerleave", () => { tip.hidden = true; });
  return node;
}

// From times to places and back.
function scaleOf(from, to, left, right) {
  const perMs = (right - left) / Math.max(to - from, 1);
  return {
    x: (ms) => left + (ms - from) * perMs,
    time: (x) => from + (Math.min(Math.max(x, left), right) - left) / perMs,
  };
}

const LEFT = 128, RIGHT = 8, AXIS = 22;

// A picture over the time that is looked at: an axis on top, `height` below, labels to the left.
function picture(host, height) {
  const width = Math.max(host.clientWidth, 320);
  const svg = shape("svg", { viewBox: `0 0 ${width} ${height + AXIS}`, height: height + AXIS });
  const [from, to] = view.shown;
  const scale = scaleOf(from, to, LEFT, width - RIGHT), x = scale.x;
  for (const tick of ticks(from, to, (width - LEFT - RIGHT) / 105)) {
    svg.append(
      shape("line", { class: "grid", x1: x(tick.at), x2: x(tick.at), y1: AXIS - 5, y2: AXIS + height }),
      shape("text", { class: "faint", x: x(tick.at), y: 12, "text-anchor": "middle" }, tick.text),
    );
  }
  svg.append(hatching(), brushing(svg, scale, width, height));
  host.replaceChildren(svg);
  return {
    svg, x, width,
    // A bar from one time to another, cut off at the edges; null where it lies outside. What is short is still seen.
    bar(since, until, y, tall, attributes, text, least = 1.5) {
      const end = until ?? data.end;
      if (end < from || since > to) return null;
      const left = Math.max(x(since), LEFT), right = Math.min(x(end), width - RIGHT);
      const node = shape("rect", { x: left, y, width: Math.max(right - left, least), height: tall, rx: 2, ...attributes });
      svg.append(text ? telling(node, text) : node);
      return { left, right: Math.max(right, left + least) };
    },
    label(y, text, attributes = {}) {
      // A partition's number, at the end, tells it from its neighbours.
      const short = text.length > 19 ? `${text.slice(0, 11)}…${text.slice(-6)}` : text;
      const node = shape("text", { x: 0, y, ...attributes }, short);
      if (text.length > 19) telling(node, text);
      svg.append(node);
      return node;
    },
  };
}

// What may have been so: red stripes. What nothing shows: grey dots.
const PERHAPS = "url(#perhaps)", UNKNOWN = "url(#unknown)";

function hatching() {
  const pattern = shape("pattern", { id: "perhaps", width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" });
  pattern.append(
    shape("rect", { width: 6, height: 6, fill: "var(--card)" }), shape("rect", { width: 3, height: 6, fill: "var(--bad)", opacity: .75 }),
  );
  const unknown = shape("pattern", { id: "unknown", width: 5, height: 5, patternUnits: "userSpaceOnUse" });
  unknown.append(shape("rect", { width: 5, height: 5, fill: "var(--card)" }), shape("rect", { width: 2, height: 5, fill: "var(--faint)", opacity: .5 }));
  const definitions = shape("defs");
  definitions.append(pattern, unknown);
  return definitions;
}

// Dragging over a picture looks closer.
function brushing(svg, scale, width, height) {
  const x = scale.x;
  const area = shape("rect", { class: "zoomable", x: LEFT, y: 0, width: width - LEFT - RIGHT, height: height + AXIS, fill: "transparent" });
  const time = (event) => {
    const box = svg.getBoundingClientRect();
    return scale.time((event.clientX - box.left) * width / box.width);
  };
  svg.addEventListener("pointerdown", (event) => {
    if (event.target.classList.contains("pick")) return;
    const begun = time(event);
    const brush = shape("rect", { class: "brush", y: 0, height: height + AXIS });
    svg.append(brush);
    svg.setPointerCapture(event.pointerId);
    svg.onpointermove = (moved) => {
      const [one, other] = [begun, time(moved)].sort((a, b) => a - b);
      brush.setAttribute("x", x(one));
      brush.setAttribute("width", x(other) - x(one));
    };
    svg.onpointerup = (ended) => {
      svg.onpointermove = svg.onpointerup = null;
      brush.remove();
      const [one, other] = [begun, time(ended)].sort((a, b) => a - b);
      if (x(other) - x(one) > 6) look(one, other);
    };
  });
  return area;
}
