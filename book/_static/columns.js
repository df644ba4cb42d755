// Wide tables on a phone: one column at a time, chosen from a list. Without this script they scroll.
"use strict";

// What is marked is the box around a table, or an empty one before it.
const tableOf = (mark) => mark.querySelector("table") ?? mark.parentElement.querySelector("table");

function addChoice(mark) {
  const table = tableOf(mark);
  const heads = [...(table?.tHead?.rows[0]?.cells ?? [])];
  const kept = Number(mark.dataset.keep);
  if (heads.length < kept + 2) return;
  const list = document.createElement("select");
  heads.slice(kept).forEach((head, i) => list.add(new Option(head.textContent.trim(), i + kept)));
  const show = () => {
    for (const row of table.rows) {
      [...row.cells].forEach((cell, column) => {
        cell.classList.toggle("not-chosen", column >= kept && column !== Number(list.value));
      });
    }
  };
  list.addEventListener("change", show);
  const label = document.createElement("label");
  label.className = "choice";
  label.append(mark.dataset.choose, " ", list);
  mark.before(label);
  show();
}

document.addEventListener("DOMContentLoaded", () => {
  document.querySelectorAll("[data-choose]").forEach(addChoice);
});
