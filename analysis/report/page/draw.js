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

const LEFT = 128, RIGHT = 8, AXIS = 22;

// A picture over the time that is looked at: an axis on top, `height` below, labels to the left.
function picture(host, height) {
  const width = Math.max(host.clientWidth, 320);
  const svg = shape("svg", { viewBox: `0 0 ${width} ${height + AXIS}`, height: height + AXIS });
  const [from, to] = view.shown;
  const x = (ms) => LEFT + (width - LEFT - RIGHT) * (ms - from) / Math.max(to - from, 1);
  for (const tick of ticks(from, to, width / 105)) {
    svg.append(
      shape("line", { class: "grid", x1: x(tick.at), x2: x(tick.at), y1: AXIS - 5, y2: AXIS + height }),
      shape("text", { class: "faint", x: x(tick.at), y: 12, "text-anchor": "middle" }, tick.text),
    );
  }
  svg.append(hatching(), brushing(svg, x, width, height));
  host.replaceChildren(svg);
  return {
    svg, x, width,
    // A bar from one time to another, cut off at the edges; null where it lies outside.
    bar(since, until, y, tall, attributes, text) {
      const end = until ?? data.end;
      if (end < from || since > to) return null;
      const left = Math.max(x(since), LEFT), right = Math.min(x(end), width - RIGHT);
      const node = shape("rect", { x: left, y, width: Math.max(right - left, 1.5), height: tall, rx: 2, ...attributes });
      svg.append(text ? telling(node, text) : node);
      return { left, right: Math.max(right, left + 1.5) };
    },
    label(y, text, attributes = {}) {
      // A partition's number, at the end, tells it from its neighbours.
      const short = text.length > 19 ? `${text.slice(0, 11)}…${text.slice(-6)}` : text;
      const node = shape("text", { x: 0, y, ...attributes }, short);
      if (text.length > 19) telling(node, text);
      svg.append(node);
      return node;
    },
    mark(ms) {
      if (ms !== null && ms >= from && ms <= to) {
        svg.append(shape("line", { class: "chosen", x1: x(ms), x2: x(ms), y1: AXIS - 5, y2: AXIS + height }));
      }
    },
  };
}

// What may have been so, and is not known: red stripes.
const PERHAPS = "url(#perhaps)";

function hatching() {
  const pattern = shape("pattern", { id: "perhaps", width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" });
  pattern.append(
    shape("rect", { width: 6, height: 6, fill: "var(--card)" }), shape("rect", { width: 3, height: 6, fill: "var(--bad)", opacity: .75 }),
  );
  const definitions = shape("defs");
  definitions.append(pattern);
  return definitions;
}

// Dragging over a picture looks closer.
function brushing(svg, x, width, height) {
  const area = shape("rect", { class: "zoomable", x: LEFT, y: 0, width: width - LEFT - RIGHT, height: height + AXIS, fill: "transparent" });
  const [from, to] = view.shown;
  const time = (event) => {
    const box = svg.getBoundingClientRect();
    const across = (event.clientX - box.left) * width / box.width;
    return from + (to - from) * Math.min(Math.max((across - LEFT) / (width - LEFT - RIGHT), 0), 1);
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
