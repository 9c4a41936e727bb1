// Page of a comparison: chart, table, notes.

// Text for HTML.
function escaped(text) {
  return text.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);
}

// Table as HTML; a row without cells is the head of a section.
function tableOf(heads, rows) {
  const head = heads.map((text) => `<th>${escaped(text)}</th>`).join("");
  const body = rows.map(([label, cells]) => cells.length
    ? `<tr><td>${escaped(label)}</td>${cells.map((text) => `<td>${escaped(text)}</td>`).join("")}</tr>`
    : `<tr><th class="section">${escaped(label)}</th></tr>`);
  return `<tr>${head}</tr>${body.join("")}`;
}

function startComparison(document) {
  const get = (id) => document.getElementById(id);
  const { chart, heads, rows, notes } = JSON.parse(get("data").textContent);
  get("chart").innerHTML = chart;
  get("table").innerHTML = tableOf(heads, rows);
  get("notes").innerHTML = notes.map((text) => `<p>${escaped(text)}</p>`).join("");
}

if (typeof document !== "undefined") startComparison(document);
else module.exports = { tableOf };
