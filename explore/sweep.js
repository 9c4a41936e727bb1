// Page of a sweep: charts, table, and the values of the point under the pointer.

// Text of a value; a missing one is empty.
function shown(value) {
  if (value === null || value === undefined) return "";
  if (typeof value !== "number") return String(value);
  if (Number.isInteger(value) || Math.abs(value) >= 1000) return Math.round(value).toLocaleString("en");
  return value.toPrecision(4);
}

// Numbers of the columns in which a row has a value.
function filledColumns(rows) {
  return [...rows[0].keys()].filter((column) => rows.some((row) => shown(row[column]) !== ""));
}

// Values of a row, a line for each column.
function describeRow(columns, row) {
  return columns.map((name, k) => [name, shown(row[k])]).filter(([, text]) => text !== "")
    .map(([name, text]) => `${name}: ${text}`).join("\n");
}

// Text for HTML.
function escaped(text) {
  return text.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);
}

// Table of all rows as HTML.
function tableOf(columns, rows) {
  const used = filledColumns(rows);
  const head = used.map((k) => `<th>${escaped(columns[k])}</th>`).join("");
  const body = rows.map((row, number) =>
    `<tr data-row="${number}">${used.map((k) => `<td>${escaped(shown(row[k]))}</td>`).join("")}</tr>`);
  return `<tr>${head}</tr>${body.join("")}`;
}

function startSweep(document, window) {
  const get = (id) => document.getElementById(id), tip = get("tip");
  const { charts, columns, rows } = JSON.parse(get("data").textContent);
  get("charts").innerHTML = charts.join("");
  get("table").innerHTML = tableOf(columns, rows);
  // The text under the pointer replaces the titles of the marks.
  document.querySelectorAll("circle title").forEach((title) => title.remove());
  const mark = (number, isMarked) => document.querySelectorAll(`[data-row="${number}"]`)
    .forEach((element) => element.classList.toggle("marked", isMarked));
  let current = [];
  document.addEventListener("mousemove", (event) => {
    const places = document.elementsFromPoint(event.clientX, event.clientY)
      .map((element) => element.closest("[data-row]")?.dataset.row);
    const numbers = [...new Set(places.filter((number) => number !== undefined))];
    current.forEach((number) => mark(number, false));
    numbers.forEach((number) => mark(number, true));
    current = numbers;
    tip.style.display = numbers.length ? "block" : "none";
    tip.textContent = numbers.map((number) => describeRow(columns, rows[number])).join("\n\n");
    tip.style.left = `${Math.min(event.clientX + 14, window.innerWidth - tip.offsetWidth - 4)}px`;
    tip.style.top = `${Math.max(0, Math.min(event.clientY + 14, window.innerHeight - tip.offsetHeight - 4))}px`;
  });
}

if (typeof document !== "undefined") startSweep(document, window);
else module.exports = { shown, describeRow, tableOf };
