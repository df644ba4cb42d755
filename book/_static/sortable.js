// Tables can be sorted by clicking on a column's head: best-looking first, the other way round, as printed.
"use strict";

function sortKey(row, column) {
  // In a table of scores, our number comes first and the paper's below it.
  const first = row.cells[column]?.firstChild?.textContent ?? "";
  const text = first.trim().replaceAll("\u2212", "-").replaceAll(",", "");
  const number = parseFloat(text.replace(/^[^\d-]*(?=-?\d)/, ""));
  return { text, number: /\d/.test(text) ? number : NaN };
}

function compare(a, b) {
  if (!Number.isNaN(a.number) && !Number.isNaN(b.number)) return b.number - a.number;
  if (Number.isNaN(a.number) !== Number.isNaN(b.number)) return Number.isNaN(a.number) ? 1 : -1;
  return a.text.localeCompare(b.text);
}

function makeSortable(table) {
  const body = table.tBodies[0];
  const heads = [...(table.tHead?.rows[0]?.cells ?? [])];
  const printed = [...(body?.rows ?? [])];
  if (printed.length < 3 || heads.length < 2) return;
  heads.forEach((head, column) => {
    head.tabIndex = 0;
    head.title = "Sort by this column";
    head.setAttribute("aria-sort", "none");
    const sort = () => {
      const next = { none: "descending", descending: "ascending", ascending: "none" }[head.getAttribute("aria-sort")];
      heads.forEach((other) => other.setAttribute("aria-sort", "none"));
      head.setAttribute("aria-sort", next);
      const rows = [...printed];
      if (next !== "none") {
        const keys = new Map(rows.map((row) => [row, sortKey(row, column)]));
        const sign = next === "descending" ? 1 : -1;
        rows.sort((a, b) => sign * compare(keys.get(a), keys.get(b)));
      }
      table.classList.toggle("sorted", next !== "none");
      body.append(...rows);
    };
    head.addEventListener("click", sort);
    head.addEventListener("keydown", (event) => {
      if (event.key === "Enter") sort();
    });
  });
}

document.addEventListener("DOMContentLoaded", () => {
  document.querySelectorAll(".scores table, .cell_output table.table").forEach(makeSortable);
});
