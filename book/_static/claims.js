// Claims: links that open the claim they lead to, and on the page of all claims filters by verdict and chapter.
"use strict";

function setUp(list) {
  const filters = list.querySelector(".filters");
  const buttons = [...filters.querySelectorAll("button")];
  const chapter = filters.querySelector("select");
  const claims = [...list.querySelectorAll("details")];
  let verdict = "";

  function show() {
    const shown = claims.filter((claim) => {
      claim.hidden =
        (verdict && claim.dataset.verdict !== verdict) ||
        (chapter.value && claim.dataset.chapter !== chapter.value);
      return !claim.hidden;
    });
    buttons.forEach((button) => button.setAttribute("aria-pressed", button.value === verdict));
    filters.querySelector(".shown").textContent = `${shown.length} of ${claims.length} claims`;
  }

  // The address names a verdict, or a claim, which may be filtered out.
  function follow() {
    const name = decodeURIComponent(location.hash.slice(1));
    if (claims.some((each) => each.id === name)) {
      verdict = chapter.value = "";
    } else if (buttons.some((button) => button.value === name)) {
      verdict = name;
    }
    show();
  }

  buttons.forEach((button) =>
    button.addEventListener("click", () => {
      verdict = button.value;
      show();
    }),
  );
  chapter.addEventListener("change", show);
  window.addEventListener("hashchange", follow);
  filters.hidden = false;
  follow();
}

function openNamed() {
  const claim = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (claim?.matches("details.claim")) {
    claim.open = true;
    claim.scrollIntoView();
  }
}

document.addEventListener("DOMContentLoaded", () => {
  document.querySelectorAll(".claim-list").forEach(setUp);
  window.addEventListener("hashchange", openNamed);
  openNamed();
});
