// Timeline of a cluster. A track has series: event rates in bins of cycles, as stacked areas or
// lines, and a strip below with the exact cycles.

const LEFT = 8, TEXT = LEFT + 5, LETTER = 6.7, LINE = 16, FIGURES = 28, CHART = 30, STRIP = 6, GAP = 9, RULER = 36;

const grouped = (number) => Math.round(number).toLocaleString("en-US");
const percent = (share) => `${(100 * share).toFixed(1)} %`;

// Expands values with run lengths: -n stands for n more copies of the value before.
function expanded(told) {
  const values = [];
  for (const one of told) {
    if (one >= 0) values.push(one);
    else for (let k = 0, last = values.at(-1); k < -one; k++) values.push(last);
  }
  return values;
}

// Intervals from the distances between successive bounds.
function intervalsOf(distances, first) {
  const found = [];
  for (let k = 0, at = first; k < distances.length; k += 2) {
    const start = at + distances[k], end = start + distances[k + 1];
    found.push({ start, end });
    at = end;
  }
  return found;
}

// All tracks with their series; `until` holds the sum of a series before each bin.
function tracksOf(data) {
  return data.tracks.map((track) => ({ ...track, series: track.series.map((series) => {
    const sums = expanded(series.sums), until = new Float64Array(sums.length + 1);
    sums.forEach((sum, k) => { until[k + 1] = until[k] + sum; });
    return { ...series, until, intervals: intervalsOf(series.intervals, data.first) };
  }) }));
}

// Sum of a series before a cycle, interpolated linearly within a bin.
function before(series, cycle, { first, end, bin }) {
  const { until } = series, bins = until.length - 1;
  const k = Math.floor((cycle - first) / bin);
  if (k < 0) return 0;
  if (k >= bins) return until[bins];
  const start = first + k * bin, stop = Math.min(end, start + bin);
  return until[k] + (until[k + 1] - until[k]) * Math.min(1, (cycle - start) / (stop - start));
}

// Mean events per cycle in these cycles.
const rate = (series, from, to, data) =>
  from < to ? (before(series, to, data) - before(series, from, data)) / (to - from) : 0;

// Text with a series' share of the track's maximum, and its bytes per cycle.
function told(series, track, often) {
  const bytes = series.bytes ? `${(often * series.bytes).toFixed(1)} of ` +
    `${series.bytes * track.most} bytes/cycle, ` : "";
  return `${series.label}: ${bytes}${percent(often / track.most)}`;
}

// Bounds of the bins that contain a range of cycles.
function binsAround(from, to, { first, end, bin }) {
  const start = Math.floor((from - first) / bin), stop = Math.max(start + 1, Math.ceil((to - first) / bin));
  return [Math.max(first, first + start * bin), Math.min(end, first + stop * bin)];
}

// Text about a track at the pointer.
function describe(track, cycle, from, to, data) {
  const [start, end] = binsAround(from, to, data);
  const lines = [`${track.title}, cycles ${grouped(start)} to ${grouped(end - 1)}`];
  for (const series of track.series) {
    const often = rate(series, start, end, data);
    if (often && series.drawing !== "mark") lines.push(told(series, track, often));
    const span = series.intervals[firstAfter(series.intervals, cycle)];
    const near = (to - from) / 2;
    if (!span || span.start > cycle + near) continue;
    const joined = series.gap > 1 ? `, gaps below ${series.gap} cycles merged` : "";
    lines.push(`  ${series.label} from ${grouped(span.start)} to ${grouped(span.end - 1)}: ` +
      `${grouped(span.end - span.start)} cycles${joined}`);
  }
  return lines.join("\n");
}

// Places of the colours of a track, in lines after its title and its current figures.
function keysOf(track, width) {
  let x = TEXT + LETTER * (track.title.length + FIGURES), line = 0;
  return track.series.filter((series) => series.until.at(-1)).map((series) => {
    const long = 24 + LETTER * series.label.length;
    if (x + long > width && x > TEXT) [x, line] = [TEXT, line + 1];
    const key = { series, x, line };
    x += long;
    return key;
  });
}

// Description of a track: each of its colours with its meaning, and the page of the manual.
const aboutTrack = (track) => about(track.title, "", track.manual,
  track.series.map(({ colour, label, meaning }) => [colour, label, meaning]));

// One row per series with its totals.
function summaryOf(tracks, data) {
  const cycles = Math.max(1, data.end - data.first), rows = [];
  for (const track of tracks) {
    for (const series of track.series) {
      const total = series.until.at(-1);
      if (!total) continue;
      const bytes = series.bytes ? [grouped(total * series.bytes), (total * series.bytes / cycles).toFixed(2)]
        : ["", ""];
      rows.push([track.title, series.label, grouped(total), ...bytes,
        series.drawing === "mark" ? "" : percent(total / cycles / track.most)]);
    }
  }
  return rows;
}

function start(document, window) {
  const get = (id) => document.getElementById(id);
  const data = JSON.parse(get("data").textContent), tracks = tracksOf(data), { first, end } = data;
  const canvas = get("canvas"), pane = get("view"), tip = get("tip"), pen = canvas.getContext("2d");
  let view = { from: first, to: end + 1 }, drag = null, waiting = false, selected = null;

  const ink = (name) => window.getComputedStyle(document.documentElement).getPropertyValue(name);
  const width = () => pane.clientWidth, height = () => pane.clientHeight;
  const scale = () => (width() - LEFT) / (view.to - view.from); // pixels per cycle
  const x = (cycle) => LEFT + (cycle - view.from) * scale();
  const cycleAt = (pixel) => view.from + (pixel - LEFT) / scale();

  function arrange() {
    let y = RULER + GAP;
    for (const track of tracks) {
      const keys = keysOf(track, width()), chart = y + LINE * (1 + (keys.at(-1)?.line ?? 0));
      Object.assign(track, { y, keys, chart });
      y = chart + CHART + STRIP + GAP;
    }
    get("room").style.height = `${Math.max(0, y - height())}px`;
    redraw();
  }

  // Heights of a series in every column of pixels, as fractions of the chart.
  function heights(series, track) {
    const columns = Math.max(0, Math.floor(width() - LEFT)), found = new Float64Array(columns);
    let last = before(series, cycleAt(LEFT), data);
    for (let k = 0; k < columns; k++) {
      const next = before(series, cycleAt(LEFT + k + 1), data);
      found[k] = (next - last) * scale() / track.most;
      last = next;
    }
    return found;
  }

  function fill(low, high, y, colour) {
    pen.fillStyle = colour;
    pen.beginPath();
    for (let k = 0; k < high.length; k++) {
      pen.lineTo(LEFT + k, y + CHART * (1 - high[k]));
      pen.lineTo(LEFT + k + 1, y + CHART * (1 - high[k]));
    }
    for (let k = low.length - 1; k >= 0; k--) {
      pen.lineTo(LEFT + k + 1, y + CHART * (1 - low[k]));
      pen.lineTo(LEFT + k, y + CHART * (1 - low[k]));
    }
    pen.fill();
  }

  function line(high, y, colour) {
    [pen.strokeStyle, pen.lineWidth] = [colour, 1];
    pen.beginPath();
    high.forEach((one, k) => { // draw nothing along the base line
      if (one || high[k - 1] || high[k + 1]) pen.lineTo(LEFT + k + 0.5, y + CHART * (1 - one));
      else pen.moveTo(LEFT + k + 0.5, y + CHART);
    });
    pen.stroke();
  }

  function drawHead(track, y) {
    const main = track.series[0], figures = TEXT + LETTER * (track.title.length + 1);
    const often = rate(main, Math.max(first, view.from), Math.min(end, view.to), data);
    pen.fillStyle = ink(track === selected ? "--mark" : "--ink");
    pen.fillText(track.title, TEXT, y + 11);
    pen.fillStyle = ink("--dim");
    pen.fillText(main.bytes ? `${(often * main.bytes).toFixed(1)} B/cycle, ${percent(often / track.most)}`
      : `${percent(often / track.most)}`, figures, y + 11);
    for (const { series, x, line } of track.keys) {
      pen.fillStyle = series.colour;
      pen.fillRect(x, y + LINE * line + 2, 10, 10);
      pen.fillStyle = ink("--dim");
      pen.fillText(series.label, x + 14, y + LINE * line + 11);
    }
  }

  function drawTrack(track, y) {
    pen.fillStyle = ink("--band");
    pen.fillRect(LEFT, y, width() - LEFT, CHART);
    let low = new Float64Array(Math.max(0, Math.floor(width() - LEFT)));
    // Lines are drawn first: on top they would hide the areas when zoomed out.
    for (const drawing of ["line", "stack"]) {
      for (const series of track.series.filter((one) => one.drawing === drawing)) {
        const high = heights(series, track);
        if (!high.some((one) => one > 0)) continue;
        if (drawing === "line") { line(high, y, series.colour); continue; }
        high.forEach((one, k) => { high[k] = one + low[k]; });
        fill(low, high, y, series.colour);
        low = high;
      }
    }
    for (const series of track.series) {
      if (series.drawing === "line") continue;
      pen.fillStyle = series.colour;
      for (const span of seen(series.intervals, view.from, view.to, 1 / scale())) {
        const left = Math.max(x(span.start), LEFT), right = Math.min(x(span.end), width());
        if (right > left) pen.fillRect(left, y + CHART + 1, Math.max(1, right - left), STRIP - 1);
      }
    }
  }

  // A line through the charts, not through the heads of tracks between them.
  function drawLine(at) {
    for (const track of tracks) {
      const chart = track.chart - pane.scrollTop, top = Math.max(chart, RULER);
      const below = Math.min(chart + CHART + STRIP, height());
      if (below > top) pen.fillRect(at, top, 1, below - top);
    }
  }

  function drawMarks() {
    let free = LEFT;
    for (const [cycle, name] of data.marks) {
      const at = x(cycle);
      if (at < LEFT || at > width()) continue;
      pen.fillStyle = ink("--mark");
      pen.fillRect(at, RULER - 16, 1, 16);
      drawLine(at);
      const long = name.length * 6.6, left = at + long + 6 < width() ? at + 4 : at - long - 4;
      if (left < free) continue;
      pen.fillText(name, left, RULER - 5);
      free = left + long + 6;
    }
  }

  function draw() {
    waiting = false;
    const ratio = window.devicePixelRatio;
    [canvas.width, canvas.height] = [width() * ratio, height() * ratio];
    Object.assign(canvas.style, { width: `${width()}px`, height: `${height()}px` });
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.font = "11px ui-monospace, monospace";
    pen.clearRect(0, 0, width(), height());
    for (const track of tracks) {
      const y = track.y - pane.scrollTop, chart = track.chart - pane.scrollTop;
      if (y > height() || chart + CHART + STRIP < 0) continue;
      drawHead(track, y);
      drawTrack(track, chart);
    }
    const lines = ruler(view, width() - LEFT);
    pen.fillStyle = ink("--line");
    for (const cycle of lines) if (x(cycle) >= LEFT) drawLine(x(cycle));
    pen.fillStyle = ink("--band");
    pen.fillRect(0, 0, width(), RULER);
    pen.fillStyle = ink("--dim");
    for (const cycle of lines) if (x(cycle) >= LEFT) pen.fillText(grouped(cycle), x(cycle) + 3, 13);
    drawMarks();
    get("range").textContent = `cycles ${grouped(Math.max(first, view.from))} to ` +
      `${grouped(Math.min(end, view.to))}, bins of ${data.bin}`;
  }

  function redraw() { if (!waiting) { waiting = true; window.requestAnimationFrame(draw); } }
  const show = (from, to) => { view = { from, to }; redraw(); };
  const zoom = (factor, pixel = (LEFT + width()) / 2) =>
    show(...zoomed(view, cycleAt(pixel), factor, end - first));
  const move = (cycles) => show(view.from + cycles, view.to + cycles);

  function under(event) {
    const edge = canvas.getBoundingClientRect(), y = event.clientY - edge.top + pane.scrollTop;
    const pixel = event.clientX - edge.left;
    return { y, pixel, track: tracks.find((one) => y >= one.y && y < one.chart + CHART + STRIP) };
  }

  function hover(event) {
    const { y, pixel, track } = under(event), cycle = Math.floor(cycleAt(pixel));
    const isSeen = track && y >= track.chart && cycle >= first && cycle < end;
    tip.style.display = isSeen ? "block" : "none";
    if (!isSeen) return;
    tip.textContent = describe(track, cycle, cycleAt(pixel), cycleAt(pixel + 1), data);
    Object.assign(tip.style, {
      left: `${Math.min(event.clientX + 14, window.innerWidth - tip.offsetWidth - 8)}px`,
      top: `${Math.min(event.clientY + 14, window.innerHeight - tip.offsetHeight - 8)}px` });
  }

  function select(track) {
    selected = track;
    get("about").innerHTML = track ? aboutTrack(track) : "";
    arrange();
    if (!track) return;
    if (track.y - pane.scrollTop < RULER) pane.scrollTop = track.y - RULER;
    else if (track.chart + CHART + STRIP > pane.scrollTop + height())
      pane.scrollTop = track.chart + CHART + STRIP - height();
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
      const pixel = event.clientX - canvas.getBoundingClientRect().left;
      zoom(1.2 ** Math.sign(event.deltaY), Math.max(LEFT, pixel));
    } else if (event.deltaX) move(event.deltaX / scale());
  }, { passive: false });
  let clicked = 0;
  canvas.addEventListener("mousedown", (event) => {
    clicked = event.clientX;
    drag = { x: event.clientX, from: view.from };
  });
  canvas.addEventListener("click", (event) => {
    if (Math.abs(event.clientX - clicked) < 4) select(under(event).track ?? null);
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
  get("all").onclick = () => show(first, end + 1);
  const row = (cells, tag) => `<tr>${cells.map((cell) => `<${tag}>${cell}</${tag}>`).join("")}</tr>`;
  get("summary").innerHTML = `<table>${row(["track", "", "events", "bytes", "bytes/cycle", "share"], "th")}` +
    `${summaryOf(tracks, data).map((cells) => row(cells, "td")).join("")}</table>` +
    `<table>${data.marks.map(([cycle, name]) => row([name, grouped(cycle)], "td")).join("")}</table>`;
  arrange();
}

if (typeof document !== "undefined") start(document, window);
else module.exports = { expanded, intervalsOf, tracksOf, before, rate, describe, summaryOf, binsAround,
  keysOf, aboutTrack };
