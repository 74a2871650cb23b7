const RANKS = "AKQJT98765432", SUITS = { s: "♠", h: "♥", d: "♦", c: "♣" };
const element = (id) => document.getElementById(id);

function make(tag, text, properties = {}, ...inside) {
  const made = Object.assign(document.createElement(tag), properties);
  if (text !== null) made.textContent = text;
  made.append(...inside);
  return made;
}

const drawing = make("div", null, { innerHTML: "<svg></svg>" }).firstChild.namespaceURI;

function shape(tag, attributes, ...inside) {
  const made = document.createElementNS(drawing, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...inside);
  return made;
}

/** Sends an object to the program; its answer, or { error }. */
async function ask(path, object) {
  try {
    return await (await fetch(path, { method: "POST", body: JSON.stringify(object) })).json();
  } catch {
    return { error: "The program does not answer; is it still running?" };
  }
}

// --- Hands --------------------------------------------------------------------------------------

/** The kind of a cell, such as AKs: suited kinds above the diagonal. */
const kindName = (r, c) => RANKS[Math.min(r, c)] + RANKS[Math.max(r, c)] + (r === c ? "" : r < c ? "s" : "o");

/** Row and column of a hand, by the names of its cards. */
function cellOf(first, second) {
  const [a, b] = [RANKS.indexOf(first[0]), RANKS.indexOf(second[0])].sort((x, y) => x - y);
  return first[1] === second[1] ? [a, b] : [b, a];
}

// --- The table of a game ------------------------------------------------------------------------

function card(name) {
  if (name === "?" || !name) return make("span", "", { className: `card ${name ? "back" : "none"}` });
  const suit = SUITS[name[1]] ?? "";
  return make("span", (suit ? name[0].replace("T", "10") : name) + suit, { className: `card ${suit ? name[1] : ""}` });
}

function cardRow(names) {
  return make("span", null, { className: names.length > 5 && names[0] === "?" ? "cards many" : "cards" }, ...names.map(card));
}

/** The cards of a player, with a name and notes; `pick` makes one of them clickable. */
function seatView({ player, cards, notes }, name, acts, pick = () => {}) {
  const [first, ...others] = notes, line = make("div", null, { className: acts ? "seat acts" : "seat" });
  const said = make("div", null, { className: "who" }, make("span", name)), held = cardRow(cards);
  if (first) said.append(make("div", first, { className: "soft" }));
  [...held.children].forEach((one, k) => pick(one, cards[k]));
  line.append(said, held, ...others.map((note) => make("span", note, { className: "bet" })));
  return line;
}

/** The cards that lie on the table, and the facts. */
function middleView({ rows, facts }) {
  const middle = make("div", null, { className: "middle" });
  for (const one of rows.filter((row) => row.player < 0)) {
    if (one.name !== "Board") middle.append(make("span", `${one.name}: ${one.cards.length || "empty"}`));
    middle.append(cardRow(one.cards));
  }
  middle.append(make("strong", facts.join(" · ")));
  return middle;
}

/** Places of the nodes of a map in a drawing, and its edges. */
function mapView(map, size) {
  const xs = map.places.map((p) => p[0]), ys = map.places.map((p) => p[1]), left = Math.min(...xs), high = Math.max(...ys);
  const at = (k) => [size * (xs[k] - left) + size / 2, size * (high - ys[k]) + size / 2];
  const edges = map.edges.map(([a, b, oneWay]) => {
    const [[x, y], [u, v]] = [at(a), at(b)], short = oneWay ? 26 / Math.hypot(u - x, v - y) : 0;
    return shape("line", { x1: x, y1: y, x2: u - short * (u - x), y2: v - short * (v - y), stroke: "#b5bcc4",
      "stroke-width": 2, ...(oneWay ? { "marker-end": "url(#head)" } : {}) });
  });
  return [at, edges];
}

/** Squares or hexagons, row by row, or the nodes of a map; what stands there is written or drawn on them.

  `pick` makes a place clickable; `beliefs` has probabilities of a map's pieces in place of what stands there.
*/
function boardView({ marks, columns, hexagons, map, sought }, pick, beliefs = null) {
  const size = map ? 80 : 60, half = size / 2;
  const [at, edges] = map ? mapView(map, size) : [(k) => [size * (k % columns) + half + (hexagons ? half * Math.floor(k / columns) : 0),
    (hexagons ? 0.87 : 1) * size * Math.floor(k / columns) + half + (hexagons ? 5 : 0)], []];
  const parts = marks.flatMap((mark, k) => {
    const [x, y] = at(k), r = hexagons ? size / Math.sqrt(3) : half;
    const corners = [...Array(6).keys()].map((n) => [x + r * Math.sin(n * Math.PI / 3), y - r * Math.cos(n * Math.PI / 3)].join(","));
    const place = map ? shape("circle", { cx: x, cy: y, r: 22 }) : hexagons ? shape("polygon", { points: corners.join(" ") })
      : shape("rect", { x: x - half + 1, y: y - half + 1, width: size - 2, height: size - 2 });
    place.setAttribute("class", k === map?.goal ? "place goal" : "place");
    place.dataset.place = k;
    place.setAttribute("aria-label", `${map ? "node" : "square"} ${k}${mark ? `: ${mark}` : ""}`);
    pick(place, String(k), true);
    if (!map) return [place, shape("text", { x, y, fill: mark === "x" ? "#2467a8" : "#c0392b" }, mark)];
    if (beliefs) return [place, shape("text", { x, y }, k), ...beliefView(beliefs, place, k, x, y)];
    const pieces = [...mark].flatMap((one, n) => {
      const cx = x + 15 + 16 * n, fill = one === sought ? "#d9622b" : "#2467a8";
      return [shape("circle", { cx, cy: y - 15, r: 11, fill, "pointer-events": "none" }), shape("text", { x: cx, y: y - 15, class: "piece" }, one)];
    });
    return [place, shape("text", { x, y }, k), ...pieces];
  });
  const ends = marks.map((_, k) => at(k)), width = Math.max(...ends.map((p) => p[0])) + half + 10, height = Math.max(...ends.map((p) => p[1])) + half + 5;
  const head = shape("marker", { id: "head", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 5, markerHeight: 5, orient: "auto" }, shape("path", { d: "M0 0 8 4 0 8z", fill: "#b5bcc4" }));
  const drawn = shape("svg", { viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": "The board" }, shape("defs", {}, head), ...edges, ...parts);
  drawn.style.maxWidth = `${Math.min(1.2 * width, 640)}px`;
  return drawn;
}

/** Where the pieces of a map may be: the colour of a node, rings, and their probabilities in percent. */
function beliefView({ belief, pieces, percent }, place, k, x, y) {
  const sought = belief?.[k] ?? 0, drawn = [];
  place.style.fill = `rgb(${[217, 98, 43].map((c) => Math.round(255 + sought * (c - 255)))})`;
  if (sought) drawn.push(shape("text", { x, y: y + 32, class: "share" }, percent(sought)));
  for (const [node, likely] of pieces ?? []) {
    if (node !== k) continue;
    const ring = shape("circle", { cx: x, cy: y, r: 27, fill: "none", stroke: "var(--stone)", "stroke-width": 5, "stroke-opacity": likely, "pointer-events": "none" });
    ring.dataset.piece = k;
    drawn.push(ring, ...(likely < 1 ? [shape("text", { x, y: y - 33, class: "share", fill: "var(--stone)" }, percent(likely))] : []));
  }
  return drawn;
}

// --- Moves that are chosen by clicks on the table --------------------------------------------------

/** The places of a move, less those chosen already; null for a move that does not choose all of it. */
function restOf(picked, chosen) {
  const left = [...(picked ?? [])];
  for (const label of chosen) {
    const at = left.indexOf(label);
    if (at < 0) return null;
    left.splice(at, 1);
  }
  return left;
}

/** Makes a place or a card clickable, and marks it if it is chosen. */
function pickable(part, open, isChosen, choose) {
  if (isChosen) part.classList.add("chosen");
  if (!open) return;
  part.classList.add("pick");
  part.setAttribute("tabindex", 0);
  part.setAttribute("role", "button");
  part.onclick = choose;
  part.onkeydown = (event) => { if (event.key === "Enter") choose(); };
}
