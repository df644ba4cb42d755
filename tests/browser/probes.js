// Looks at the page that is open. Each function returns plain data, which the tests judge.

const SKIPPED = "script, style, mjx-container";

// Parts of the page that should not scroll sideways as a whole.
const FRAME = "body, main, article";

function describe(element) {
  const words = element.textContent.trim().replace(/\s+/g, " ").slice(0, 40);
  return `${element.tagName.toLowerCase()} "${words}"`;
}

function visible(element) {
  const box = element.getBoundingClientRect();
  return (
    box.width > 1 &&
    box.height > 1 &&
    element.checkVisibility({ opacityProperty: true, visibilityProperty: true })
  );
}

// Elements that have text of their own.
function* textElements() {
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const seen = new Set();
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.nodeValue.trim() || seen.has(element)) continue;
    seen.add(element);
    if (!element.closest(SKIPPED)) yield element;
  }
}

function ownText(element) {
  return [...element.childNodes]
    .filter((node) => node.nodeType === Node.TEXT_NODE)
    .map((node) => node.nodeValue)
    .join(" ")
    .replace(/\s+/g, " ");
}

// What was rendered: headings, equations, words.
function rendering() {
  const prose = [...textElements()].filter((element) => !element.closest("code, pre"));
  return {
    h1: [...document.querySelectorAll("h1")].filter(visible).map(describe),
    equations: document.querySelectorAll(".math").length,
    rendered: document.querySelectorAll(".math mjx-container").length,
    faulty: document.querySelectorAll("mjx-merror").length,
    prose: prose.map(ownText).join("\n"),
    text: document.body.innerText,
  };
}

// Pixels by which the page is wider than the window, and elements that end outside of it, other than
// those in a box that scrolls by itself.
function layout() {
  const page = document.scrollingElement;
  const scrolls = (element) => ["auto", "scroll"].includes(getComputedStyle(element).overflowX);
  const boxed = (element) => {
    const box = element.parentElement;
    return box && !box.matches(FRAME) && (scrolls(box) || boxed(box));
  };
  const outside = [...document.body.querySelectorAll("*")].filter((element) => {
    const box = element.getBoundingClientRect();
    const out = box.right > innerWidth + 1 || box.left < -1;
    return out && visible(element) && !element.closest("mjx-assistive-mml") && !boxed(element);
  });
  return { excess: page.scrollWidth - page.clientWidth, outside: outside.slice(0, 3).map(describe) };
}

const painter = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
const colours = new Map();

// A CSS colour as red, green, blue and opacity.
function colour(text) {
  if (!colours.has(text)) {
    painter.clearRect(0, 0, 1, 1);
    painter.fillStyle = text;
    painter.fillRect(0, 0, 1, 1);
    const [red, green, blue, alpha] = painter.getImageData(0, 0, 1, 1).data;
    colours.set(text, [red, green, blue, alpha / 255]);
  }
  return colours.get(text);
}

function over(top, ground, alpha = top[3]) {
  return [0, 1, 2].map((i) => alpha * top[i] + (1 - alpha) * ground[i]).concat(1);
}

function luminance(rgb) {
  const linear = (value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
  const [red, green, blue] = rgb.map((value) => linear(value / 255));
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function contrast(one, other) {
  const [dark, light] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (light + 0.05) / (dark + 0.05);
}

// Text whose contrast with its ground (WCAG 2) is below the limit, once for each pair of colours.
function faint(limit) {
  const grounds = new Map([[null, [255, 255, 255, 1]]]);
  const opacities = new Map([[null, 1]]);
  const look = (element) => {
    if (grounds.has(element)) return;
    look(element.parentElement);
    const style = getComputedStyle(element);
    grounds.set(element, over(colour(style.backgroundColor), grounds.get(element.parentElement)));
    opacities.set(element, Number(style.opacity) * opacities.get(element.parentElement));
  };
  const found = new Map();
  for (const element of textElements()) {
    if (!visible(element)) continue;
    look(element);
    const ground = grounds.get(element);
    const ink = colour(getComputedStyle(element).color);
    const ratio = contrast(over(ink, ground, ink[3] * opacities.get(element)), ground);
    if (ratio < limit) found.set(`${ink} ${ground}`, `${ratio.toFixed(2)} in ${describe(element)}`);
  }
  return [...found.values()];
}

function theme(name) {
  document.documentElement.dataset.mode = document.documentElement.dataset.theme = name;
}

// Show what a click would, and change colours at once.
function unfold() {
  document.querySelectorAll("details").forEach((box) => (box.open = true));
  const style = document.createElement("style");
  style.textContent = "* { animation: none !important; transition: none !important; }";
  document.head.append(style);
}
