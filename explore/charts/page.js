// Draws the charts of a page. The row of a table under the pointer, and its mark in every chart,
// are marked; so are those of a mark under the pointer.
(function () {
  const views = [];
  function mark(row) {
    document.querySelectorAll("tr.marked").forEach((line) => line.classList.remove("marked"));
    const isKnown = row !== undefined;
    if (isKnown) document.querySelector(`tr[data-row="${row}"]`)?.classList.add("marked");
    views.forEach((view) => view.signal("row", isKnown ? Number(row) : -1).runAsync());
  }
  for (const place of document.querySelectorAll(".chart")) {
    const spec = JSON.parse(place.firstChild.textContent);
    const actions = { export: true, source: false, compiled: false, editor: false };
    vegaEmbed(place, spec, { renderer: "svg", actions }).then(({ view }) => {
      if (!spec.params) return;
      views.push(view);
      view.addEventListener("mousemove", (_, item) => mark(item?.datum?.row));
    });
  }
  document.addEventListener("mouseover", (event) => {
    if (views.length && !event.target.closest(".chart")) {
      mark(event.target.closest("tr[data-row]")?.dataset.row);
    }
  });
})();
