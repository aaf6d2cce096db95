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
// Curves are drawn as wide as their place is, each with a ring around its best point; a point tells its values.
const shape = (kind, attributes, text = "") => {
  const made = document.createElementNS("http://www.w3.org/2000/svg", kind);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.textContent = text;
  return made;
};
const palette = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#767676"], dashes = ["", "6 3", "2 2"];
const number = value => Number(value.toPrecision(4)).toString();
for (const figure of document.querySelectorAll("figure.curves")) {
  const data = JSON.parse(figure.querySelector("script").textContent);
  const heights = data.lines.flatMap(([, points]) => points.map(point => point[1]));
  let low = Math.min(...heights), high = Math.max(...heights);
  // The axis begins at 0 where that leaves at most half of it empty.
  if (low > 0 && low <= high / 2) low = 0;
  const step = [1, 2, 5, 10].map(n => n * 10 ** Math.floor(Math.log10((high - low || Math.abs(high) || 1) / 5))).find(n => (high - low) / n <= 6) || 1;
  low = Math.floor(low / step) * step;
  high = Math.max(low + step, Math.ceil(high / step) * step);
  const legend = document.createElement("p");
  legend.className = "legend";
  const look = k => ({ stroke: palette[k % palette.length], "stroke-dasharray": dashes[Math.floor(k / palette.length) % dashes.length] });
  data.lines.forEach(([name], k) => {
    const entry = document.createElement("span"), sample = shape("svg", { width: 28, height: 8 });
    sample.append(shape("path", { d: "M0 4H28", "stroke-width": 2, ...look(k) }));
    entry.append(sample, name);
    if (name) legend.append(entry);
  });
  const draw = () => {
    figure.querySelector("svg.chart")?.remove();
    const width = Math.min(figure.clientWidth, 760), height = 340, left = 52, right = 14, top = 26, bottom = 44;
    const x = place => left + (place - data.ends[0]) / (data.ends[1] - data.ends[0]) * (width - left - right);
    const y = value => height - bottom - (value - low) / (high - low) * (height - top - bottom);
    const chart = shape("svg", { class: "chart", width, height, role: "img", "aria-label": figure.querySelector("figcaption").textContent });
    for (let n = 0; low + n * step <= high + step / 2; n++) {
      const value = low + n * step;
      chart.append(shape("path", { d: `M${left} ${y(value)}H${width - right}`, class: "grid" }), shape("text", { x: left - 6, y: y(value) + 4, "text-anchor": "end" }, number(value)));
    }
    let free = -Infinity;
    for (const [place, text] of data.ticks) {
      chart.append(shape("path", { d: `M${x(place)} ${height - bottom}v5`, class: "tick" }));
      const half = text.length * 4;
      if (x(place) - half < free) continue;
      chart.append(shape("text", { x: x(place), y: height - bottom + 18, "text-anchor": "middle" }, text));
      free = x(place) + half + 6;
    }
    chart.append(shape("text", { x: (left + width) / 2, y: height - 6, "text-anchor": "middle" }, data.x), shape("text", { x: 4, y: 14 }, data.y));
    data.lines.forEach(([name, points], k) => {
      chart.append(shape("path", { d: points.map(([p, v], i) => `${i ? "L" : "M"}${x(p)} ${y(v)}`).join(""), "stroke-width": 1.6, fill: "none", ...look(k) }));
      const best = Math[data.better === "higher" ? "max" : "min"](...points.map(point => point[1]));
      for (const [p, v] of points) {
        const dot = shape("circle", { cx: x(p), cy: y(v), r: 3, fill: palette[k % palette.length] });
        dot.append(shape("title", {}, [name, `${data.ticks.find(tick => tick[0] === p)[1]}: ${number(v)}`].filter(Boolean).join(", ")));
        chart.append(dot);
        if (v === best) chart.append(shape("circle", { cx: x(p), cy: y(v), r: 7, fill: "none", "stroke-width": 1.5, stroke: palette[k % palette.length] }));
      }
    });
    figure.prepend(chart);
  };
  figure.querySelector("figcaption").before(legend);
  new ResizeObserver(draw).observe(figure);
}
