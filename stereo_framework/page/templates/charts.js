// Charts for choosing among methods. Without this script their static pictures stand.
for (const group of document.querySelectorAll(".charts")) {
  const { measures, methods, scenes } = JSON.parse(group.querySelector("script").textContent);
  const make = (tag, given = {}, ...parts) => {
    const drawn = ["svg", "g", "path", "polyline", "polygon", "circle", "line", "rect", "text", "title"].includes(tag);
    const node = drawn ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
    for (const [name, value] of Object.entries(given)) node.setAttribute(name, value);
    node.append(...parts);
    return node;
  };
  const show = value => value === null ? "no score" : Math.abs(value) < 0.1 ? String(Number(value.toPrecision(2))) : value.toFixed(2);
  const chip = (colour, dash) => {
    const line = make("line", { x1: 0, x2: 26, y1: 6, y2: 6, stroke: colour, "stroke-width": dash === undefined ? 12 : 3, "stroke-dasharray": dash ?? "" });
    return make("svg", { class: "chip", viewBox: "0 0 26 12", "aria-hidden": "true" }, line);
  };
  const label = i => `${measures[i].label}${measures[i].unit ? ` (${measures[i].unit})` : ""}`;
  // Where a line goes through the place of a score that is missing.
  const crosses = (method, places) => places.filter((_, i) => method.scores[i] === null)
    .map(([x, y]) => make("text", { x, y: y + 5, "text-anchor": "middle" }, "\u00d7", make("title", {}, "no score: counts as the worst")));
  // The room of a chart, in place of its picture.
  const room = kind => {
    const figure = group.querySelector(`[data-chart=${kind}]`), found = make("div", { class: "canvas" });
    if (!figure) return null;
    figure.querySelector("img").hidden = true;
    figure.append(found);
    return found;
  };

  const bars = room("stacked_bars");
  if (bars) {
    const weights = measures.map(measure => measure.weight), sliders = [], rows = [];
    const list = make("ol", { class: "bars" }), first = make("p", { class: "note", "aria-live": "polite" });
    const update = () => {
      const sum = weights.reduce((a, b) => a + b, 0);
      const parts = methods.map(m => m.shares.map((share, i) => sum ? share * weights[i] / sum : 0));
      const totals = parts.map(own => own.reduce((a, b) => a + b, 0));
      const order = methods.map((_, i) => i).sort((a, b) => totals[a] - totals[b] || a - b);
      // Sums of the same numbers in another order differ in the last digits.
      const rank = i => sum ? 1 + totals.filter(t => t < totals[i] - 1e-9).length : "-";
      for (const i of order) {
        rows[i].querySelector(".rank").textContent = rank(i);
        rows[i].querySelector(".total").textContent = sum ? totals[i].toFixed(3) : "-";
        [...rows[i].querySelectorAll(".bar i")].forEach((segment, k) => {
          segment.style.width = `${100 * parts[i][k]}%`;
          segment.title = `${label(k)}: ${show(methods[i].scores[k])}, as a share of the worst ${show(methods[i].shares[k])}, weight ${weights[k]}`;
        });
        list.append(rows[i]);
      }
      sliders.forEach(([slider, output], i) => { slider.value = weights[i]; output.textContent = weights[i].toFixed(1); });
      first.textContent = sum ? `Best first: ${order.slice(0, 3).map(i => methods[i].name).join("; ")}` : "All weights are 0: nothing decides.";
    };
    const controls = make("div", { class: "weights", role: "group", "aria-label": "Weights of the measures" });
    measures.forEach((measure, i) => {
      const most = Math.max(5, measure.weight);
      const slider = make("input", { type: "range", min: 0, max: most, step: 0.1, value: measure.weight, "aria-label": `weight of ${measure.label}` });
      const output = make("output");
      slider.addEventListener("input", () => { weights[i] = Number(slider.value); update(); });
      sliders.push([slider, output]);
      controls.append(make("label", {}, chip(measure.colour), make("span", {}, measure.label), slider, output));
    });
    const reset = make("button", { type: "button", "data-do": "reset" }, "reset the weights");
    reset.addEventListener("click", () => { measures.forEach((measure, i) => { weights[i] = measure.weight; }); update(); });
    for (const method of methods) {
      const bar = make("span", { class: "bar" });
      measures.forEach((measure, k) => {
        bar.append(make("i", { style: `background-color:${measure.colour}`, class: method.scores[k] === null ? "missing" : "" }));
      });
      rows.push(make("li", {}, make("span", { class: "rank" }), make("span", { class: "name" }, method.name), bar, make("span", { class: "total" })));
    }
    bars.append(controls, make("div", { class: "tools" }, reset), first, list);
    update();
  }

  const radar = room("radar");
  if (radar) {
    const chosen = methods.map(method => method.first);
    // Room for the longest symbol at both sides.
    const reach = 115, half = Math.max(170, 130 + 6.5 * Math.max(...measures.map(measure => measure.symbol.length))), centre = 170, turn = i => 2 * Math.PI * i / measures.length;
    const at = (i, share) => [half + reach * share * Math.sin(turn(i)), centre - reach * share * Math.cos(turn(i))];
    const chart = (title, rings, most, values) => {
      const drawn = make("svg", { viewBox: `0 0 ${2 * half} 315`, role: "img", "aria-label": title });
      drawn.append(make("text", { x: half, y: 14, "text-anchor": "middle" }, title));
      for (const ring of rings) {
        drawn.append(make("circle", { cx: half, cy: centre, r: reach * ring / most, class: "grid" }));
      }
      measures.forEach((measure, i) => {
        const [x, y] = at(i, 1), [left, up] = at(i, 1.08), side = Math.sin(turn(i));
        drawn.append(make("line", { x1: half, y1: centre, x2: x, y2: y, class: "grid" }));
        const anchor = side > 0.01 ? "start" : side < -0.01 ? "end" : "middle";
        drawn.append(make("text", { x: left, y: up + 4, "text-anchor": anchor, class: "small" }, measure.symbol, make("title", {}, label(i))));
      });
      methods.forEach((method, k) => {
        const places = values(method).map((value, i) => at(i, value / most));
        const line = make("polygon", { points: places.join(" "), class: "line", stroke: method.colour, "stroke-dasharray": method.dash });
        drawn.append(make("g", { "data-method": k }, make("title", {}, method.name), line, ...crosses(method, places)));
      });
      for (const ring of rings) {
        const [x, y] = at(0.5, ring / most);
        drawn.append(make("text", { x, y: y + 4, "text-anchor": "middle", class: "small ring" }, String(ring)));
      }
      return drawn;
    };
    const count = methods.length, step = Math.ceil(count / 4);
    const rings = [...Array(count).keys()].map(i => i + 1).filter(i => i === 1 || i === count || (i % step === 0 && i < count - Math.floor(step / 2)));
    const charts = make("div", { class: "pair" },
      chart(`rank, 1 = best of ${count}`, rings, count, method => method.ranks),
      chart("score, 1 = the worst method's", [0.25, 0.5, 0.75, 1], 1, method => method.shares));
    const update = () => {
      for (const line of charts.querySelectorAll("[data-method]")) line.style.display = chosen[line.dataset.method] ? "" : "none";
    };
    const boxes = make("div", { class: "choices", role: "group", "aria-label": "Methods in the radar charts" });
    methods.forEach((method, i) => {
      const box = make("input", { type: "checkbox" });
      box.checked = chosen[i];
      box.addEventListener("change", () => { chosen[i] = box.checked; update(); });
      boxes.append(make("label", {}, box, chip(method.colour, method.dash), method.name));
    });
    radar.append(boxes, charts);
    update();
  }

  const parallel = room("parallel_coordinates");
  if (parallel) {
    const step = 92, top = 30, tall = 220, wide = step * measures.length;
    const drawn = make("svg", { viewBox: `0 0 ${wide} ${top + tall + 60}`, style: `min-width:${0.7 * wide}px`, role: "img", "aria-label": "scores of every method in every measure; lower is better" });
    const x = i => step * (i + 0.5), y = share => top + tall * (1 - share);
    measures.forEach((measure, i) => {
      drawn.append(make("line", { x1: x(i), x2: x(i), y1: y(0), y2: y(1), class: "grid" }));
      const texts = [[top - 10, show(measure.worst)], [top + tall + 16, show(measure.perfect)], [top + tall + 34, measure.symbol], [top + tall + 50, measure.unit]];
      for (const [height, text] of texts) drawn.append(make("text", { x: x(i), y: height, "text-anchor": "middle", class: "small" }, text));
    });
    const told = make("p", { class: "note", "aria-live": "polite" }), lines = [], buttons = [];
    let pinned = -1;
    const highlight = k => {
      lines.forEach((line, i) => line.setAttribute("class", k < 0 ? "line" : i === k ? "line strong" : "line faint"));
      buttons.forEach((button, i) => button.setAttribute("aria-pressed", String(i === pinned)));
      if (k >= 0) drawn.append(lines[k]);
      told.textContent = k < 0 ? "Point at a line, or at a name; a click keeps it."
        : `${methods[k].name}: ${measures.map((measure, i) => `${measure.symbol} ${show(methods[k].scores[i])}`).join(", ")}`;
    };
    const names = make("div", { class: "tools", role: "toolbar", "aria-label": "Methods in the parallel coordinates" });
    methods.forEach((method, k) => {
      const places = method.shares.map((share, i) => [x(i), y(share)]);
      const line = make("polyline", { points: places.join(" "), class: "line", stroke: method.colour, "stroke-dasharray": method.dash });
      const button = make("button", { type: "button", "aria-pressed": "false" }, chip(method.colour, method.dash), method.name);
      for (const node of [line, button]) {
        node.addEventListener("pointerenter", () => highlight(k));
        node.addEventListener("pointerleave", () => highlight(pinned));
        node.addEventListener("click", () => { pinned = pinned === k ? -1 : k; highlight(k); });
      }
      button.addEventListener("focus", () => highlight(k));
      button.addEventListener("blur", () => highlight(pinned));
      lines.push(line);
      buttons.push(button);
      drawn.append(line, ...crosses(method, places));
      names.append(button);
    });
    parallel.append(names, make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "parallel coordinates" }, drawn), told);
    highlight(-1);
  }

  const histogram = room("histogram");
  if (histogram) {
    const choice = make("select", {}, ...methods.map((method, i) => make("option", { value: i }, method.name)));
    const panels = make("div", { class: "panels" });
    const update = () => {
      const method = methods[Number(choice.value)];
      panels.replaceChildren(...measures.map((measure, i) => {
        const { edges, counts } = measure, high = Math.max(...counts), low = edges[0], width = edges.at(-1) - low;
        const x = value => 10 + 200 * (value - low) / width, y = count => 95 - 75 * count / high;
        const drawn = make("svg", { viewBox: "0 0 220 130", role: "img", "aria-label": `histogram of ${measure.label}` });
        counts.forEach((count, k) => {
          const bin = { x: x(edges[k]), width: x(edges[k + 1]) - x(edges[k]) - 1, y: y(count), height: 95 - y(count), class: "bin" };
          drawn.append(make("rect", bin, make("title", {}, `${count} scores from ${show(edges[k])} to ${show(edges[k + 1])}`)));
        });
        drawn.append(make("line", { x1: 10, x2: 210, y1: 95, y2: 95, class: "grid" }));
        method.raw[i].forEach((value, k) => {
          if (value === null) return;
          drawn.append(make("line", { x1: x(value), x2: x(value), y1: 14, y2: 95, class: "mark" }, make("title", {}, `${scenes[k]}: ${show(value)}`)));
        });
        for (const [place, anchor, text] of [[10, "start", show(low)], [110, "middle", measure.unit], [210, "end", show(edges.at(-1))]]) {
          drawn.append(make("text", { x: place, y: 108, "text-anchor": anchor, class: "small" }, text));
        }
        const every = methods.flatMap(one => one.raw[i]).filter(value => value !== null), mean = method.scores[i];
        const worse = every.filter(value => measure.lower ? value > mean : value < mean).length;
        const text = mean === null ? "no score" : `mean ${show(mean)}: better than ${worse} of ${every.length}`;
        drawn.append(make("text", { x: 110, y: 124, "text-anchor": "middle", class: "small" }, text));
        return make("div", {}, make("p", {}, measure.label), drawn);
      }));
    };
    choice.value = Math.max(0, methods.findIndex(method => method.marked));
    choice.addEventListener("change", update);
    histogram.append(make("label", { class: "choices" }, "Mark the scores of ", choice), panels);
    update();
  }
}
