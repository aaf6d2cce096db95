"use strict";
// Tables: a click on a heading sorts by it, numbers by value, a second click the other way round; cells without a value stay last.
for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0];
  [...table.tHead.rows[0].cells].forEach((heading, column) => {
    heading.querySelector("button").addEventListener("click", () => {
      const down = heading.getAttribute("aria-sort") === "ascending";
      for (const other of table.tHead.rows[0].cells) other.setAttribute("aria-sort", "none");
      heading.setAttribute("aria-sort", down ? "descending" : "ascending");
      const key = row => {
        const cell = row.cells[column];
        return cell.dataset.value !== undefined ? Number(cell.dataset.value) : cell.textContent.trim();
      };
      const rows = [...body.rows];
      const numeric = rows.some(row => row.cells[column].dataset.value !== undefined);
      const order = (a, b) => {
        const x = key(a), y = key(b);
        if (numeric && typeof x !== typeof y) return typeof x === "number" ? -1 : 1;
        const sign = typeof x === "number" ? x - y : x.localeCompare(y, undefined, { numeric: true });
        return down ? -sign : sign;
      };
      body.append(...rows.sort(order));
    });
  });
}
// Pictures that stand on the page before are not stored again.
for (const picture of document.querySelectorAll("img[data-same]")) {
  picture.src = document.getElementById(`picture-${picture.dataset.same}`).src;
}
// Viewers: one picture at a time; blinking alternates between the last two that were chosen.
for (const viewer of document.querySelectorAll(".viewer")) {
  const stage = viewer.querySelector(".stage"), pictures = [...stage.querySelectorAll("img")];
  const buttons = [...viewer.querySelectorAll("[data-layer]")], blink = viewer.querySelector("[data-do=blink]");
  let shown = 0, before = Math.min(1, pictures.length - 1), zoom = 1, timer = 0;
  const show = index => {
    pictures.forEach((picture, i) => { picture.hidden = i !== index; });
    buttons.forEach((button, i) => button.setAttribute("aria-pressed", String(i === index)));
    if (index !== shown) [before, shown] = [shown, index];
  };
  const stop = () => { clearInterval(timer); timer = 0; blink.setAttribute("aria-pressed", "false"); };
  const scale = factor => {
    zoom = Math.min(8, Math.max(0.25, zoom * factor));
    for (const picture of pictures) picture.style.width = `${picture.naturalWidth * zoom}px`;
  };
  buttons.forEach((button, i) => button.addEventListener("click", () => { stop(); show(i); }));
  blink.addEventListener("click", () => {
    if (timer) { stop(); return; }
    blink.setAttribute("aria-pressed", "true");
    timer = setInterval(() => show(before), 600);
  });
  viewer.querySelector("[data-do=in]").addEventListener("click", () => scale(2));
  viewer.querySelector("[data-do=out]").addEventListener("click", () => scale(0.5));
  stage.addEventListener("keydown", event => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (event.key === "+" || event.key === "-") scale(event.key === "+" ? 2 : 0.5);
    else if (step && zoom <= 1) { stop(); show((shown + step + pictures.length) % pictures.length); }
    else return;
    event.preventDefault();
  });
}
