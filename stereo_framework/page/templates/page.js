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
// Every table can be taken along, in the order in which it stands: as CSV, and as LaTeX with the best values in bold.
const written = {
  CSV: table => [...table.rows].map(row => [...row.cells].map(cell => {
    const text = cell.dataset.value ?? (cell.firstChild?.textContent ?? "").trim();
    return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  }).join(",")).join("\n") + "\n",
  LaTeX: table => {
    const plain = cell => (cell.firstChild?.textContent ?? "").trim().replace(/[&%$#_{}]/g, "\\$&").replace(/[~^\\](?![&%$#_{}])/g, "");
    const lines = [...table.rows].map(row => [...row.cells].map(cell => cell.classList.contains("best") ? `\\textbf{${plain(cell)}}` : plain(cell)).join(" & ") + " \\\\");
    const columns = [...table.tHead.rows[0].cells].map(cell => cell.classList.contains("key") ? "l" : "r").join("");
    return [`\\begin{tabular}{${columns}}`, "\\toprule", lines[0], "\\midrule", ...lines.slice(1), "\\bottomrule", "\\end{tabular}"].join("\n") + "\n";
  },
};
for (const table of document.querySelectorAll("table.sortable")) {
  const tools = document.createElement("div");
  tools.className = "tools";
  for (const [kind, text] of Object.entries(written)) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = kind;
    button.title = `save this table as ${kind}`;
    button.addEventListener("click", () => {
      const link = document.createElement("a");
      link.href = `data:text/plain;charset=utf-8,${encodeURIComponent(text(table))}`;
      link.download = `table.${kind === "CSV" ? "csv" : "tex"}`;
      link.click();
    });
    tools.append(button);
  }
  table.parentElement.before(tools);
}
