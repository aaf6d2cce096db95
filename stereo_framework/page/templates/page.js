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
// Columns that tell what a row is about stay in view beside each other; the style sheet keeps the first.
for (const table of document.querySelectorAll("table.sortable")) {
  const keys = [...table.tHead.rows[0].querySelectorAll(".key")];
  if (keys.length < 2) continue;
  const place = () => {
    let left = 0;
    keys.forEach((heading, column) => {
      table.style.setProperty(`--left-${column + 1}`, `${left}px`);
      left += heading.getBoundingClientRect().width;
    });
    // Where they would take half of the room, the first alone stays.
    table.classList.toggle("fixed-keys", left < table.parentElement.clientWidth / 2);
  };
  addEventListener("resize", place);
  place();
}
