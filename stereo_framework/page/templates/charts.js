// Charts for choosing among methods. They are drawn already; here their parts are moved, hidden and set off.
for (const group of document.querySelectorAll(".charts")) {
  const { measures, methods } = JSON.parse(group.querySelector("script").textContent);
  const make = (tag, given = {}, ...parts) => {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(given)) node.setAttribute(name, value);
    node.append(...parts);
    return node;
  };
  const show = value => value === null ? "no score" : Math.abs(value) < 0.1 ? String(Number(value.toPrecision(2))) : value.toFixed(2);
  const chip = (colour, dash) => {
    const line = make("span", { class: "chip", "aria-hidden": "true" });
    line.style.borderTop = dash === undefined ? `.8rem solid ${colour}` : `3px ${dash ? "dashed" : "solid"} ${colour}`;
    return line;
  };
  const chart = kind => {
    const figure = group.querySelector(`[data-chart=${kind}]`), drawing = figure.querySelector(".drawing");
    return { add: (...nodes) => drawing.before(...nodes), after: (...nodes) => drawing.after(...nodes), parts: name => [...drawing.querySelectorAll(`[data-part="${name}"]`)] };
  };
  const ofMethod = (one, k) => one.parts(`method-${k}`);

  const bars = chart("stacked_bars"), weights = measures.map(measure => measure.weight), sliders = [];
  const first = make("p", { class: "note", "aria-live": "polite" });
  const frame = bars.parts("frame")[0].querySelector("path").getBBox(), most = 1.1;
  const rows = methods.map((_, i) => {
    const own = measures.map((_, j) => bars.parts(`bar-${i}-${j}`)[0].querySelector("path"));
    const numbers = own[0].getAttribute("d").match(/-?[\d.]+/g).map(Number).filter((_, k) => k % 2);
    return { bars: own, top: Math.min(...numbers), bottom: Math.max(...numbers), name: bars.parts(`name-${i}`)[0], total: bars.parts(`total-${i}`)[0] };
  });
  rows.forEach(row => { row.end = row.total.getBBox().x; });
  const places = rows.map(row => row.top).sort((a, b) => a - b);
  const weigh = () => {
    const sum = weights.reduce((a, b) => a + b, 0);
    const parts = methods.map(m => m.shares.map((share, j) => sum ? share * weights[j] / sum : 0));
    const totals = parts.map(own => own.reduce((a, b) => a + b, 0));
    const order = methods.map((_, i) => i).sort((a, b) => totals[a] - totals[b] || a - b);
    order.forEach((i, place) => {
      const row = rows[i], down = places[place] - row.top;
      let left = frame.x;
      row.bars.forEach((bar, j) => {
        const width = frame.width * parts[i][j] / most;
        bar.setAttribute("d", `M ${left} ${row.top + down} h ${width} V ${row.bottom + down} h ${-width} z`);
        left += width;
      });
      row.name.setAttribute("transform", `translate(0 ${down})`);
      row.total.setAttribute("transform", `translate(${left - row.end} ${down})`);
      row.total.querySelector("text").textContent = sum ? `\u00a0${totals[i].toFixed(3)}` : "-";
    });
    sliders.forEach(([slider, output], j) => { slider.value = weights[j]; output.textContent = weights[j].toFixed(1); });
    first.textContent = sum ? `Best first: ${order.slice(0, 3).map(i => methods[i].name).join("; ")}` : "All weights are 0: nothing decides.";
  };
  const controls = make("div", { class: "weights", role: "group", "aria-label": "Weights of the measures" });
  measures.forEach((measure, j) => {
    const slider = make("input", { type: "range", min: 0, max: Math.max(5, measure.weight), step: 0.1, "aria-label": `weight of ${measure.label}` });
    const output = make("output");
    slider.addEventListener("input", () => { weights[j] = Number(slider.value); weigh(); });
    sliders.push([slider, output]);
    controls.append(make("label", {}, chip(measure.colour), make("span", {}, measure.label), slider, output));
  });
  const reset = make("button", { type: "button", "data-do": "reset" }, "reset the weights");
  reset.addEventListener("click", () => { measures.forEach((measure, j) => { weights[j] = measure.weight; }); weigh(); });
  bars.add(controls, make("div", { class: "tools" }, reset), first);
  weigh();

  const radar = chart("radar"), boxes = make("div", { class: "choices", role: "group", "aria-label": "Methods in the radar charts" });
  methods.forEach((method, k) => {
    const box = make("input", { type: "checkbox" });
    const update = () => ofMethod(radar, k).forEach(part => { part.style.display = box.checked ? "" : "none"; });
    box.checked = method.first;
    box.addEventListener("change", update);
    boxes.append(make("label", {}, box, chip(method.colour, method.dash), method.name));
    update();
  });
  radar.add(boxes);

  const parallel = chart("parallel_coordinates"), told = make("p", { class: "note", "aria-live": "polite" });
  const names = make("div", { class: "tools", role: "toolbar", "aria-label": "Methods in the parallel coordinates" });
  let pinned = -1;
  const highlight = k => {
    methods.forEach((_, i) => ofMethod(parallel, i).forEach(part => part.setAttribute("class", k < 0 ? "" : i === k ? "strong" : "faint")));
    [...names.children].forEach((button, i) => button.setAttribute("aria-pressed", String(i === pinned)));
    told.textContent = k < 0 ? "Point at a line, or at a name; a click keeps it."
      : `${methods[k].name}: ${measures.map((measure, j) => `${measure.symbol} ${show(methods[k].scores[j])}`).join(", ")}`;
  };
  methods.forEach((method, k) => {
    const button = make("button", { type: "button" }, chip(method.colour, method.dash), method.name);
    for (const node of [button, ...ofMethod(parallel, k)]) {
      node.addEventListener("pointerenter", () => highlight(k));
      node.addEventListener("pointerleave", () => highlight(pinned));
      node.addEventListener("click", () => { pinned = pinned === k ? -1 : k; highlight(k); });
    }
    button.addEventListener("focus", () => highlight(k));
    button.addEventListener("blur", () => highlight(pinned));
    names.append(button);
  });
  parallel.add(names);
  parallel.after(told);
  highlight(-1);

  const histogram = chart("histogram"), choice = make("select", {}, ...methods.map((method, k) => make("option", { value: k }, method.name)));
  const mark = () => methods.forEach((_, k) => ofMethod(histogram, k).forEach(part => { part.style.display = k === Number(choice.value) ? "" : "none"; }));
  choice.value = Math.max(0, methods.findIndex(method => method.marked));
  choice.addEventListener("change", mark);
  histogram.add(make("label", { class: "choices" }, "Mark the scores of ", choice));
  mark();
}
