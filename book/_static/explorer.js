// A soft tree in the browser: its posterior was fitted when the book was made, its functions are drawn here.
"use strict";

const FARTHEST = 3, HEIGHT = 2.6, DRAWS = 14, POINTS = 161;
const SVG = "http://www.w3.org/2000/svg";
const VIEW = { width: 640, height: 300, left: 34, right: 14, bottom: 26 };
const WIDTH = VIEW.width - VIEW.left - VIEW.right;

// Without a sign before a zero.
const rounded = (number) => (Math.round(100 * number) / 100 + 0).toFixed(2);

function normal() {
  const u = 1 - Math.random(), v = Math.random();
  return Math.sqrt(-2 * Math.log(u)) * Math.cos(2 * Math.PI * v);
}

// One parameter vector from N(mean, diag(scale^2) + V V^T).
function sample([mean, scale, ...columns]) {
  const shared = columns.map(normal);
  return mean.map((m, i) => {
    const along = columns.reduce((sum, column, k) => sum + column[i] * shared[k], 0);
    return m + scale[i] * normal() + along;
  });
}

// The probability of each leaf at x, and the mean of each.
function leaves(theta, depth, beta, x) {
  const affine = (i) => theta[2 * i] * x + theta[2 * i + 1];
  let probabilities = [1];
  for (let level = 0, node = 0; level < depth; level++) {
    probabilities = probabilities.flatMap((p) => {
      const right = 1 / (1 + Math.exp(-beta * affine(node++)));
      return [p * (1 - right), p * right];
    });
  }
  const gates = 2 ** depth - 1;
  return probabilities.map((p, i) => [p, affine(gates + i)]);
}

const value = (theta, depth, beta, x) =>
  leaves(theta, depth, beta, x).reduce((sum, [p, mean]) => sum + p * mean, 0);

function element(name, attributes, parent, text) {
  const made = document.createElementNS(SVG, name);
  Object.entries(attributes).forEach(([key, v]) => made.setAttribute(key, v));
  if (text !== undefined) made.textContent = text;
  parent.append(made);
  return made;
}

function setUpExplorer(root) {
  const data = JSON.parse(root.querySelector("script").textContent);
  const inputs = Object.fromEntries(
    [...root.querySelectorAll("input")].map((input) => [input.dataset.setting, input]),
  );
  const picture = root.querySelector(".picture"), said = root.querySelector(".said");
  const across = (x) => VIEW.left + ((x + FARTHEST) / (2 * FARTHEST)) * WIDTH;
  const up = (y) => (1 - (y + HEIGHT) / (2 * HEIGHT)) * (VIEW.height - VIEW.bottom);
  let thetas = [];

  const chosen = (name) => data.choices[name][inputs[name].value];
  const settings = () => ["depth", "beta", "rank", "kl_weight"].map(chosen);

  function drawAgain() {
    const posterior = data.fits[settings().join(" ")];
    thetas = Array.from({ length: DRAWS }, () => sample(posterior));
    show();
  }

  function show() {
    const [depth, beta] = settings().map(Number), x = Number(inputs.x.value);
    Object.entries(inputs).forEach(([name, input]) => {
      input.nextElementSibling.textContent = name === "x" ? x.toFixed(2) : chosen(name);
    });
    const svg = document.createElementNS(SVG, "svg");
    svg.setAttribute("viewBox", `0 0 ${VIEW.width} ${VIEW.height + 70}`);
    svg.setAttribute("role", "img");
    svg.setAttribute("aria-label", "functions drawn from the posterior of a soft tree");
    for (const tick of [-3, -2, -1, 0, 1, 2, 3]) {
      element("text", { x: across(tick), y: VIEW.height - 6, "text-anchor": "middle" }, svg, tick);
    }
    for (const tick of [-2, 0, 2]) {
      element("text", { x: VIEW.left - 8, y: up(tick) + 4, "text-anchor": "end" }, svg, tick);
    }
    element("line", { x1: across(x), x2: across(x), y1: 0, y2: VIEW.height - VIEW.bottom, class: "probe" }, svg);
    thetas.forEach((theta) => {
      const path = Array.from({ length: POINTS }, (_, i) => {
        const at = -FARTHEST + (2 * FARTHEST * i) / (POINTS - 1);
        const y = Math.max(-HEIGHT, Math.min(HEIGHT, value(theta, depth, beta, at)));
        return `${i ? "L" : "M"}${across(at).toFixed(1)} ${up(y).toFixed(1)}`;
      });
      element("path", { d: path.join(""), class: "draw" }, svg);
    });
    data.x.forEach((at, i) => element("circle", { cx: across(at), cy: up(data.y[i]), r: 2.2 }, svg));
    // Below: the mean probability of each leaf at the place to look at.
    const shares = Array(2 ** depth).fill(0);
    const values = thetas.map((theta) => {
      const found = leaves(theta, depth, beta, x);
      found.forEach(([p], i) => (shares[i] += p / thetas.length));
      return found.reduce((sum, [p, mean]) => sum + p * mean, 0);
    });
    element("text", { x: VIEW.left, y: VIEW.height + 18 }, svg, `the leaves that a row at x = ${x.toFixed(2)} reaches`);
    let from = VIEW.left;
    shares.forEach((share, i) => {
      const width = share * WIDTH;
      const bar = element("rect", { x: from, y: VIEW.height + 26, width, height: 30, class: `leaf leaf-${i % 2}` }, svg);
      element("title", {}, bar, `leaf ${i + 1}: ${(100 * share).toFixed(0)} %`);
      if (width > 60) {
        element("text", { x: from + width / 2, y: VIEW.height + 46, "text-anchor": "middle" }, svg,
          `${i + 1}: ${(100 * share).toFixed(0)} %`);
      }
      from += width;
    });
    picture.replaceChildren(svg);
    const mean = values.reduce((a, b) => a + b, 0) / values.length;
    const spread = Math.sqrt(values.reduce((sum, v) => sum + (v - mean) ** 2, 0) / values.length);
    said.textContent = `At x = ${x.toFixed(2)} the functions have mean ${rounded(mean)} and spread ${rounded(spread)}.`;
    root.dataset.spread = spread;
  }

  // The place to look at follows a finger or a mouse on the picture.
  function look(event) {
    if (event.type === "pointermove" && !event.buttons) return;
    const box = picture.querySelector("svg").getBoundingClientRect();
    const at = ((event.clientX - box.left) / box.width) * VIEW.width;
    inputs.x.value = ((at - VIEW.left) / WIDTH) * 2 * FARTHEST - FARTHEST;
    show();
  }

  Object.entries(inputs).forEach(([name, input]) => input.addEventListener("input", name === "x" ? show : drawAgain));
  ["pointerdown", "pointermove"].forEach((kind) => picture.addEventListener(kind, look));
  root.querySelector("button").addEventListener("click", drawAgain);
  root.querySelector(".controls").hidden = false;
  drawAgain();
}

document.addEventListener("DOMContentLoaded", () => {
  document.querySelectorAll(".explorer").forEach(setUpExplorer);
});
