// Timeline of the cores. Spans {start, end, ...} are in rows without overlap, sorted by time, so
// that binary search finds the visible ones.

const LIFE = ["warp", "pc", "text", "mask", "port", "collector", "pending", "requested", "fetched",
  "issued", "collected", "dispatched", "offered", "done", "bus", "register", "place", "holds",
  "stages"];
const GREY = ["rgba(128,128,128,0.2)", "rgba(128,128,128,0.35)", "rgba(128,128,128,0.6)"];
const LABELS = 120, ROW = 15, GAP = 6, RULER = 20;

// Hues of warps and units, from green to purple: yellow to red are those of stalls.
const hue = (number) => 80 + (number * 148.3) % 240;
const warpColour = (warp) => `hsl(${hue(warp)} 55% 60%)`;
const unitColour = (unit, light = 58) => `hsl(${hue(unit + 0.5)} 65% ${light}%)`;
const hex = (number) => (number >>> 0).toString(16).padStart(8, "0");

// Spans in the smallest number of rows.
function inRows(spans) {
  const rows = [], ends = [];
  for (const span of [...spans].sort((a, b) => a.start - b.start || a.end - b.end)) {
    let row = ends.findIndex((end) => end <= span.start);
    if (row < 0) { row = rows.length; rows.push([]); }
    rows[row].push(span);
    ends[row] = span.end;
  }
  return rows;
}

function livesOf(core) {
  return core.lives.map((row) => {
    const life = Object.fromEntries(LIFE.map((name, k) => [name, row[k]]));
    return { ...life, start: life.stages[0][1], end: life.stages.at(-1)[2] };
  });
}

const runsOf = (runs, end, { reasons, colours }, kind) => runs.map(([start, state], k) => ({
  start, end: k + 1 < runs.length ? runs[k + 1][0] : end, colour: colours[state],
  text: state ? reasons[state] : kind })).filter((run) => run.start < run.end);

// Tracks with a name at the left: {kind, title, rows, lives}; `lives` is set if stages are drawn.
function tracksOf(core, data) {
  const lives = livesOf(core), tracks = [], name = data.cores.length > 1 ? `${core.core}: ` : "";
  const add = (kind, title, rows, more = {}) =>
    tracks.push({ kind, title: name + title, rows: rows.length ? rows : [[]], folded: false, ...more });
  core.slots.forEach((runs, k) =>
    add("slot", `slot ${k}`, [runsOf(runs, core.slots_end, data, "issued")]));
  core.warps.forEach((runs, warp) => {
    const waits = runsOf(runs, core.end, data, "").filter((run) => run.text);
    const own = lives.filter((life) => life.warp === warp);
    add("warp", `warp ${warp}`, [waits, ...inRows(own)], { lives: true });
  });
  data.ports.forEach((port, k) => {
    const own = lives.filter((life) => life.port === k && life.dispatched >= 0);
    add("port", port, inRows(own.map((life) => ({ start: life.dispatched, life, colour: warpColour(life.warp),
      end: life.done < 0 ? core.end : life.done + 1, text: `w${life.warp}` }))));
  });
  for (let bus = 0; bus < data.buses; bus++) {
    add("bus", `bus ${bus}`, [lives.filter((life) => life.bus === bus).sort((a, b) => a.done - b.done).map(
      (life) => ({ start: life.done, end: life.done + 1, life, colour: warpColour(life.warp),
        text: `w${life.warp}` }))]);
  }
  add("fetch", "fetch", inRows(core.fetches.map(([start, end, warp, pc]) => ({ start, end: end + 1,
    colour: warpColour(warp), text: `w${warp} ${hex(pc)}` }))));
  add("memory", "memory", inRows(core.transfers.map(([start, end, isStore, address, mask, refused]) => ({ start,
    end: end < 0 ? core.end : end + 1, colour: unitColour(isStore ? 1 : 4),
    text: `${isStore ? "store" : "load"} ${hex(address)} lanes ${mask.toString(2)}` +
      (refused ? " ERROR" : "") }))));
  if (core.faults.length) add("faults", "faults", inRows(core.faults.map(([start, text]) => ({ start,
    end: start + 1, text, colour: "#d7301f" }))));
  return { tracks, lives };
}

// Description of a track: its colours with their meanings, and the page of the manual.
function aboutTrack(track, data) {
  const [meaning, manual] = data.about[track.kind], units = data.ports.map((port, k) =>
    [unitColour(k), port, "light: collect, full: execute, dark: write back"]);
  const reasons = data.reasons.map((name, k) => [data.colours[k], k ? name : "issued", data.meanings[k]]);
  const colours = { slot: reasons, memory: [[unitColour(4), "load", ""], [unitColour(1), "store", ""]],
    warp: [...data.stages.slice(0, 3).map((name, k) => [GREY[k], name, ""]), ...units, ...reasons.slice(1)] };
  return about(track.title, meaning, manual, colours[track.kind] ?? []);
}

// Text about an instruction.
function describe(life, data) {
  const times = ["requested", "fetched", "issued", "collected", "dispatched", "offered", "done"];
  const lines = [`${hex(life.pc)}  ${data.texts[life.text]}`,
    `warp ${life.warp}, mask ${life.mask.toString(2)}, ${data.ports[life.port]}, ` +
    `collector ${life.collector}`];
  if (data.places[life.place]) lines.push(data.places[life.place]);
  if (life.register) lines.push(`writes ${life.register} over bus ${life.bus}`);
  if (life.pending) lines.push(`operands over a bus: ${life.pending.toString(2).padStart(3, "0")}`);
  lines.push(times.filter((time) => life[time] >= 0).map((time) => `${time} ${life[time]}`).join(", "));
  for (const [what, start, end] of life.holds) lines.push(`stalled by ${what}: ${start} to ${end - 1}`);
  return lines.join("\n");
}

// Instructions whose text, address, place or warp matches the search text.
function search(lives, wanted, data) {
  const text = wanted.trim().toLowerCase();
  if (!text) return [];
  const inText = data.texts.map((one) => one.toLowerCase().includes(text));
  const inPlace = data.places.map((one) => one.toLowerCase().includes(text));
  return lives.filter((life) => inText[life.text] || inPlace[life.place] ||
    hex(life.pc).includes(text.replace(/^0x/, "")) || `w${life.warp}` === text);
}

function start(document, window) {
  const get = (id) => document.getElementById(id);
  const data = JSON.parse(get("data").textContent);
  const canvas = get("canvas"), pane = get("view"), tip = get("tip"), pen = canvas.getContext("2d");
  const made = data.cores.map((core) => tracksOf(core, data));
  const tracks = made.flatMap((one) => one.tracks), lives = made.flatMap((one) => one.lives);
  const { first, end } = data;
  let view = { from: first, to: Math.min(end, first + 150) };
  let found = new Set(), order = [], at = -1, drag = null, waiting = false, dark = "", selected = null;

  const ink = (name) => window.getComputedStyle(document.documentElement).getPropertyValue(name);
  const width = () => pane.clientWidth, height = () => pane.clientHeight;
  const scale = () => (width() - LABELS) / (view.to - view.from); // pixels per cycle
  const x = (cycle) => LABELS + (cycle - view.from) * scale();
  const cycleAt = (pixel) => view.from + (pixel - LABELS) / scale();
  const shown = (track) => track.folded ? track.rows.slice(0, 1) : track.rows;

  function arrange() {
    let y = RULER + GAP;
    for (const track of tracks) [track.y, y] = [y, y + shown(track).length * ROW + GAP];
    get("room").style.height = `${Math.max(0, y - height())}px`;
    redraw();
  }

  function box(start, stop, y, colour, text) {
    const left = Math.max(x(start), LABELS), right = Math.min(x(stop), width());
    if (right <= left) return;
    pen.fillStyle = colour;
    pen.fillRect(left, y + 1, Math.max(right - left - (right - left > 4 ? 1 : 0), 1), ROW - 2);
    if (text && right - left > 22) {
      pen.fillStyle = colour.startsWith("rgba") ? dark : "#101418";
      pen.fillText(text.slice(0, Math.floor((right - left - 4) / 6.2)), left + 3, y + ROW - 4);
    }
  }

  function drawStages(life, y) {
    const colours = [...GREY, ...[75, 58, 45].map((light) => unitColour(life.port, light))];
    const longest = Math.max(...life.stages.map(([, from, to]) => to - from));
    for (const [stage, from, to] of life.stages) {
      box(from, to, y, colours[stage], to - from === longest ? data.texts[life.text] : data.stages[stage]);
    }
  }

  function drawLife(life, y) {
    if ((life.end - life.start) * scale() > 5) drawStages(life, y);
    else box(life.start, life.end, y, unitColour(life.port));
    if (!found.has(life)) return;
    [pen.strokeStyle, pen.lineWidth] = [ink("--mark"), life === order[at] ? 3 : 1.5];
    pen.strokeRect(Math.max(x(life.start), LABELS), y, Math.max(2, x(life.end) - x(life.start)), ROW - 1);
  }

  function draw() {
    waiting = false;
    const ratio = window.devicePixelRatio;
    [canvas.width, canvas.height] = [width() * ratio, height() * ratio];
    Object.assign(canvas.style, { width: `${width()}px`, height: `${height()}px` });
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.font = "11px ui-monospace, monospace";
    pen.clearRect(0, 0, width(), height());
    const marks = ruler(view, width() - LABELS);
    dark = ink("--ink");
    pen.fillStyle = ink("--line");
    for (const cycle of marks) pen.fillRect(x(cycle), RULER, 1, height());
    for (const track of tracks) {
      const rows = shown(track), y = track.y - pane.scrollTop;
      if (y > height() || y + rows.length * ROW < 0) continue;
      pen.fillStyle = ink(track === selected ? "--mark" : "--dim");
      pen.fillText(`${track.lives ? (track.folded ? "+ " : "- ") : "  "}${track.title}`, 6, y + ROW - 4);
      rows.forEach((row, k) => {
        for (const span of seen(row, view.from, view.to, 1 / scale())) {
          if (track.lives && k) drawLife(span, y + k * ROW);
          else box(span.start, span.end, y + k * ROW, span.colour, span.text);
        }
      });
    }
    pen.fillStyle = ink("--band");
    pen.fillRect(0, 0, width(), RULER);
    pen.fillStyle = dark;
    for (const cycle of marks) pen.fillText(String(cycle), x(cycle) + 3, RULER - 6);
    get("range").textContent = `cycles ${Math.max(first, Math.floor(view.from))} to ${Math.ceil(view.to)}`;
  }

  function redraw() { if (!waiting) { waiting = true; window.requestAnimationFrame(draw); } }
  const zoom = (factor, pixel = (LABELS + width()) / 2) =>
    show(...zoomed(view, cycleAt(pixel), factor, end - first));
  const show = (from, to) => { view = { from, to }; redraw(); };
  const move = (cycles) => show(view.from + cycles, view.to + cycles);

  function under(event) {
    const edge = canvas.getBoundingClientRect(), y = event.clientY - edge.top + pane.scrollTop;
    const pixel = event.clientX - edge.left, cycle = cycleAt(pixel);
    const track = tracks.find((one) => y >= one.y && y < one.y + shown(one).length * ROW);
    if (!track) return { pixel };
    const row = shown(track)[Math.floor((y - track.y) / ROW)];
    const span = row[firstAfter(row, cycle)];
    return { track, pixel, span: span && span.start <= cycle && pixel >= LABELS ? span : null };
  }

  function hover(event) {
    const { span } = under(event);
    tip.style.display = span ? "block" : "none";
    if (!span) return;
    const life = span.life || (span.stages ? span : null);
    tip.textContent = life ? describe(life, data) : `${span.text}: ${span.start} to ${span.end - 1}`;
    Object.assign(tip.style, {
      left: `${Math.min(event.clientX + 14, window.innerWidth - tip.offsetWidth - 8)}px`,
      top: `${Math.min(event.clientY + 14, window.innerHeight - tip.offsetHeight - 8)}px` });
  }

  function jump(step) {
    if (!order.length) return;
    at = (at + step + order.length) % order.length;
    const life = order[at], half = (view.to - view.from) / 2, middle = (life.start + life.end) / 2;
    const track = tracks.find((one) => one.lives && one.rows.some((row) => row.includes(life)));
    pane.scrollTop = track.y - height() / 3;
    get("found").textContent = `${at + 1} of ${order.length}`;
    show(middle - half, middle + half);
  }

  get("search").addEventListener("input", (event) => {
    order = search(lives, event.target.value, data).sort((a, b) => a.start - b.start);
    [found, at] = [new Set(order), -1];
    get("found").textContent = event.target.value ? `${order.length} found` : "";
    redraw();
  });
  get("search").addEventListener("keydown", (event) => {
    event.stopPropagation();
    if (event.key === "Enter") jump(event.shiftKey ? -1 : 1);
  });
  function select(track) {
    selected = track;
    get("about").innerHTML = track ? aboutTrack(track, data) : "";
    arrange();
    if (!track) return;
    if (track.y - pane.scrollTop < RULER) pane.scrollTop = track.y - RULER;
    else if (track.y + ROW > pane.scrollTop + height()) pane.scrollTop = track.y + ROW - height();
  }
  const step = (by) => select(tracks[Math.min(Math.max(tracks.indexOf(selected) + by, 0), tracks.length - 1)]);

  const keys = { "+": () => zoom(1 / 1.5), "-": () => zoom(1.5),
    ArrowLeft: () => move((view.from - view.to) / 5), ArrowRight: () => move((view.to - view.from) / 5),
    ArrowUp: () => step(-1), ArrowDown: () => step(1), Escape: () => select(null) };
  window.addEventListener("keydown", (event) => {
    if (!keys[event.key] || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    keys[event.key]();
  });
  canvas.addEventListener("wheel", (event) => {
    if (event.ctrlKey || event.altKey) {
      event.preventDefault();
      zoom(1.2 ** Math.sign(event.deltaY), Math.max(LABELS, under(event).pixel));
    } else if (event.deltaX) move(event.deltaX / scale());
  }, { passive: false });
  let clicked = 0;
  canvas.addEventListener("mousedown", (event) => {
    clicked = event.clientX;
    drag = { x: event.clientX, from: view.from };
  });
  canvas.addEventListener("click", (event) => {
    if (Math.abs(event.clientX - clicked) > 3) return;
    const { track, pixel } = under(event);
    if (track?.lives && pixel < LABELS) track.folded = !track.folded;
    select(track ?? null);
  });
  window.addEventListener("mouseup", () => { drag = null; });
  window.addEventListener("mousemove", (event) =>
    drag && move(drag.from - (event.clientX - drag.x) / scale() - view.from));
  canvas.addEventListener("mousemove", hover);
  canvas.addEventListener("mouseleave", () => { tip.style.display = "none"; });
  pane.addEventListener("scroll", redraw);
  window.addEventListener("resize", arrange);
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  [get("in").onclick, get("out").onclick] = [keys["+"], keys["-"]];
  get("all").onclick = () => show(first, end);
  get("summary").innerHTML = data.summary;
  get("missing").textContent = data.cores.map((core) => core.missing).filter(Boolean).join("; ");
  arrange();
}

if (typeof document !== "undefined") start(document, window);
else module.exports = { firstAfter, seen, inRows, livesOf, tracksOf, aboutTrack, describe, search, zoomed, ruler };
