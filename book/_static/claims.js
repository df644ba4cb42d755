// The list of claims: filters by verdict and chapter, and links that open the claim they lead to.
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

  // The address names a verdict, or one claim.
  function follow() {
    const name = decodeURIComponent(location.hash.slice(1));
    const claim = claims.find((each) => each.id === name);
    if (claim) {
      verdict = chapter.value = "";
      claim.open = true;
    } else if (buttons.some((button) => button.value === name)) {
      verdict = name;
    }
    show();
    claim?.scrollIntoView();
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

document.addEventListener("DOMContentLoaded", () => {
  document.querySelectorAll(".claim-list").forEach(setUp);
});
