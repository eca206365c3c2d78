"use strict";
(() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];

  // tabs: arrow keys, Home and End move; the address remembers
  const tabs = all("[role=tab]");
  const select = (tab, focus) => {
    tabs.forEach((other) => {
      const chosen = other === tab;
      other.setAttribute("aria-selected", chosen);
      other.tabIndex = chosen ? 0 : -1;
      document.getElementById(other.getAttribute("aria-controls")).hidden = !chosen;
    });
    if (focus) tab.focus();
  };
  const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };
  tabs.forEach((tab, i) => {
    tab.addEventListener("click", () => {
      select(tab);
      history.replaceState(null, "", "#show-" + tab.getAttribute("aria-controls"));
    });
    tab.addEventListener("keydown", (event) => {
      let next = null;
      if (event.key in step) next = (i + step[event.key] + tabs.length) % tabs.length;
      if (event.key === "Home") next = 0;
      if (event.key === "End") next = tabs.length - 1;
      if (next === null) return;
      event.preventDefault();
      select(tabs[next], true);
    });
  });
  const asked = tabs.find((tab) => "#show-" + tab.getAttribute("aria-controls") === location.hash);
  if (tabs.length) select(asked || tabs[0]);

  // a list that chooses what is shown
  all("[data-shows]").forEach((list) => {
    const show = () => {
      all(`[data-${list.dataset.shows}]`).forEach((part) => {
        part.hidden = part.dataset[list.dataset.shows] !== list.value;
      });
      all("[data-filters], [data-only]").forEach((input) => input.dispatchEvent(new Event("input")));
    };
    list.addEventListener("input", show);
    list.ready = show;
  });

  // filters: by name, and only what is marked
  const filter = (what) => {
    const text = all(`[data-filters=${what}]`).map((input) => input.value.trim().toLowerCase())[0] || "";
    const only = all(`[data-only=${what}]`).some((input) => input.checked);
    const items = all(`[data-item=${what}]`);
    items.forEach((item) => {
      const named = !text || (item.dataset.name || "").includes(text);
      item.hidden = !(named && (!only || "marked" in item.dataset));
    });
    const here = items.filter((item) => !item.parentElement.hidden);
    const count = `${here.filter((item) => !item.hidden).length} of ${here.length}`;
    all(`[data-counts=${what}]`).forEach((place) => { place.textContent = count; });
  };
  all("[data-filters], [data-only]").forEach((input) => {
    const what = input.dataset.filters || input.dataset.only;
    input.addEventListener("input", () => filter(what));
    filter(what);
  });

  // what a picture shows
  all("[data-toggles]").forEach((box) => {
    const paths = all(`.dots.${box.dataset.toggles}`, box.closest("[data-class]"));
    box.addEventListener("input", () => paths.forEach((path) => { path.style.display = box.checked ? "" : "none"; }));
  });

  all("[data-draws]").forEach((box) => {
    const paths = all(`path.${box.dataset.draws}`, box.closest("[data-curves]"));
    const draw = () => paths.forEach((path) => { path.style.display = box.checked ? "" : "none"; });
    box.addEventListener("input", draw);
    draw();
  });

  // one page of examples at a time
  all(".pager").forEach((pager) => {
    const pages = all("[data-page]", pager);
    const [back, on] = all("[data-step]", pager);
    let at = 0;
    const turn = (by) => {
      at = Math.max(0, Math.min(pages.length - 1, at + by));
      pages.forEach((page, i) => { page.hidden = i !== at; });
      back.disabled = at === 0;
      on.disabled = at >= pages.length - 1;
      pager.querySelector("[role=status]").textContent = `${at + 1} of ${pages.length}`;
    };
    back.addEventListener("click", () => turn(-1));
    on.addEventListener("click", () => turn(1));
    turn(0);
  });
  all("[data-shows]").forEach((list) => list.ready());
})();
