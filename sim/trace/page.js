"use strict";
// Functions common to all pages: visible spans, zoom, ruler, description of a track.

// Index of the first span of a row that ends after a cycle.
function firstAfter(row, cycle) {
  let low = 0, high = row.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (row[middle].end > cycle) high = middle; else low = middle + 1;
  }
  return low;
}

// Spans of a row between two cycles; of the spans that begin within one pixel only the first.
function seen(row, from, to, perPixel) {
  const found = [];
  for (let k = firstAfter(row, from); k < row.length && row[k].start < to;) {
    found.push(row[k]);
    const next = Math.max(row[k].start, from) + perPixel;
    k = row[k].end >= next ? k + 1 : Math.max(k + 1, firstAfter(row, next));
  }
  return found;
}

// View after zooming by a factor, with cycle `at` at a fixed position.
function zoomed(view, at, factor, all) {
  const span = Math.min(Math.max((view.to - view.from) * factor, 8), all * 1.05 + 8);
  const from = at - (at - view.from) * span / (view.to - view.from);
  return [from, from + span];
}

// Cycles of the ruler's lines, at least 80 pixels apart.
function ruler(view, pixels) {
  const least = (view.to - view.from) * 80 / pixels, ten = 10 ** Math.floor(Math.log10(least));
  const step = Math.max(1, [1, 2, 5, 10].map((k) => k * ten).find((one) => one >= least));
  const first = Math.ceil(view.from / step), count = Math.floor(view.to / step) - first + 1;
  return Array.from({ length: Math.max(0, count) }, (_, k) => (first + k) * step);
}

// Text for HTML.
const escaped = (text) => text.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);

// Description of a track: its meaning, the page of the manual, its colours with their meanings.
function about(title, meaning, manual, colours) {
  const rows = colours.map(([colour, label, text]) =>
    `<div><i style="background:${colour}"></i>${escaped(label)} <span>${escaped(text)}</span></div>`);
  return `<b>${escaped(title)}</b> ${escaped(meaning)} (${escaped(manual)})<section>${rows.join("")}</section>`;
}
