// A page that is printed has light colours, and tables no wider than the paper: see print.css.
"use strict";

// The width of the text on A4 in pixels, at the size of type on a screen.
const PAPER = 790;

const page = document.documentElement;
const tables = document.querySelectorAll("article table");
let theme;

addEventListener("beforeprint", () => {
  theme = page.dataset.theme;
  page.dataset.theme = "light";
  tables.forEach((table) => {
    table.style.zoom = Math.min(1, PAPER / table.scrollWidth);
  });
});

addEventListener("afterprint", () => {
  page.dataset.theme = theme;
  tables.forEach((table) => {
    table.style.zoom = "";
  });
});
