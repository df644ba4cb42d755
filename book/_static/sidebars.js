// The buttons of the list of chapters (left) and of the contents of a page (right). In a wide window they
// show and hide a column; in a narrow one the theme opens it over the page, in a dialog of its own to which
// it moves all that the column holds. Here the buttons are told what they do, and the focus where to go.
"use strict";

const SIDEBARS = [
  { side: "primary", name: "Chapters", wide: "(min-width: 992px)" },
  { side: "secondary", name: "Contents of this page", wide: "(min-width: 1200px)" },
];

function closeButton(dialog) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "btn sidebar-close";
  button.title = button.ariaLabel = "Close";
  button.textContent = "\u00d7";
  button.addEventListener("click", () => dialog.close());
  return button;
}

function setUpSidebar({ side, name, wide }) {
  const button = document.querySelector(`.bd-header-article .${side}-toggle`);
  const column = document.getElementById(`pst-${side}-sidebar`);
  const dialog = document.getElementById(`pst-${side}-sidebar-modal`);
  if (!button || !column || !dialog) return; // a page without sections has no contents
  const isWide = window.matchMedia(wide);

  const is = (state) => column.classList.contains(state);
  // Beside a wide cell the theme folds the contents ("hide"), unless the reader has asked for them.
  const isShown = () =>
    isWide.matches ? !is("pst-sidebar-hidden") && (!is("hide") || is("asked-for")) : dialog.open;

  const describe = () => {
    button.setAttribute("aria-expanded", isShown());
    button.setAttribute("aria-controls", isWide.matches ? column.id : dialog.id);
    if (isWide.matches) button.removeAttribute("aria-haspopup");
    else button.setAttribute("aria-haspopup", "dialog");
  };

  button.type = "button";
  button.title = button.ariaLabel = dialog.ariaLabel = name;
  button.removeAttribute("data-bs-toggle"); // the theme's tooltip stays as long as the focus does
  column.prepend(closeButton(dialog));
  describe();

  // Before the theme, which would open the contents over the page and take the focus from the button.
  const toggle = (event) => {
    if (!isWide.matches || !button.contains(event.target)) return;
    event.stopPropagation();
    const shown = isShown();
    column.classList.toggle("pst-sidebar-hidden", shown);
    column.classList.toggle("asked-for", !shown);
  };
  document.addEventListener("click", toggle, { capture: true });
  const onChange = () => {
    if (is("asked-for") && !is("hide")) column.classList.remove("asked-for");
    describe();
  };
  new MutationObserver(onChange).observe(column, { attributeFilter: ["class"] });

  const onOpen = () => {
    describe();
    if (!dialog.open) return;
    // The theme's script for wide cells looks for the column by its class, which went with the rest.
    column.classList.add(`bd-sidebar-${side}`);
    const here = dialog.querySelector("a.current, .current > a, a.active") ?? dialog.querySelector("nav a");
    here?.focus();
  };
  new MutationObserver(onOpen).observe(dialog, { attributeFilter: ["open"] });

  // A link has been followed: the page behind is wanted, also when the reader comes back to it.
  dialog.addEventListener("click", (event) => {
    if (event.target.closest("a[href]")) dialog.close("followed");
  });
  dialog.addEventListener("close", () => {
    if (dialog.returnValue !== "followed") button.focus();
    dialog.returnValue = "";
  });
  isWide.addEventListener("change", () => {
    dialog.close();
    describe();
  });
}

SIDEBARS.forEach(setUpSidebar); // deferred: the page is there, and the theme has not begun
