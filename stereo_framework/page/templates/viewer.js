// Scenes side by side: small pictures, and a viewer for all of them. A map comes as levels of 16 bits; colours, errors and all else are computed here.
const stored = (() => {
  const NO_VALUE = 0xffb2b2b2, WHITE = 0xffffffff, BLACK = 0xff000000, OCCLUDED = 0xffc8c8c8, MISSING = 0xffa05a8c;
  const bytes = text => Uint8Array.from(atob(text), c => c.charCodeAt(0));
  const colours = name => {
    const table = bytes(name), found = new Uint32Array(256);
    for (let i = 0; i < 256; i++) found[i] = 0xff000000 | table[3 * i + 2] << 16 | table[3 * i + 1] << 8 | table[3 * i];
    return found;
  };
  const VIRIDIS = colours("{{ colours("viridis") }}"), ERRORS = colours("{{ colours("RdBu_r") }}"), GREYS = Uint32Array.from({ length: 256 }, (_, i) => 0xff000000 | i * 0x10101);
  const make = (tag, given = {}, ...parts) => {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(given)) node.setAttribute(name, value);
    node.append(...parts);
    return node;
  };

  // Pictures come from the page itself, or from scripts beside it, which call `stored`.
  const waiting = new Map();
  const fetched = source => {
    const inside = document.getElementById(source);
    if (inside) return Promise.resolve(inside.textContent);
    if (waiting.has(source)) return waiting.get(source).promise;
    const promise = new Promise((done, fail) => {
      waiting.set(source, { done });
      const script = make("script", { src: source });
      // A script that stored its picture is waited for no longer.
      const ended = () => {
        script.remove();
        if (waiting.delete(source)) fail(new Error(`${source} is missing or damaged: the folder assets belongs to this page`));
      };
      script.addEventListener("load", ended);
      script.addEventListener("error", ended);
      document.head.append(script);
    });
    waiting.get(source).promise = promise;
    return promise;
  };
  const decoded = async cell => {
    const image = new Image();
    image.src = await fetched(cell.source);
    await image.decode();
    const canvas = make("canvas", { width: image.naturalWidth, height: image.naturalHeight });
    const context = canvas.getContext("2d", { willReadFrequently: true });
    context.drawImage(image, 0, 0);
    if (cell.step === undefined) return { ...cell, canvas };
    const { width, height } = canvas, pixels = context.getImageData(0, 0, width, height).data;
    const values = new Float32Array(width * height), third = new Uint8Array(width * height);
    for (let i = 0, k = 0; i < values.length; i++, k += 4) {
      const level = pixels[k + 1] << 8 | pixels[k + 2];
      values[i] = level ? cell.base + (level - 1) * cell.step : NaN;
      third[i] = pixels[k];
    }
    return { ...cell, width, height, values, third };
  };
  const confidence = (map, i) => map.confidence[0] + map.third[i] / 255 * (map.confidence[1] - map.confidence[0]);
  // What errors are errors against: the truth or, without one, another map of the scene.
  const has = (layer, map, against) => map.values && (layer === "disparity" || (layer === "confidence" ? map.confidence : against?.values && against !== map));
  const painted = (map, layer, against, { limits, error, threshold }) => {
    const shown = make("canvas", { width: map.width, height: map.height }), context = shown.getContext("2d");
    const picture = context.createImageData(map.width, map.height), pixels = new Uint32Array(picture.data.buffer);
    const { values, third } = map, low = limits[0], scale = 255 / (limits[1] - limits[0] || 1);
    const level = (table, part) => table[part < 0 ? 0 : part > 255 ? 255 : Math.round(part)];
    for (let i = 0; i < pixels.length; i++) {
      const value = values[i];
      if (layer === "confidence") pixels[i] = GREYS[third[i]];
      else if (layer === "disparity") pixels[i] = Number.isNaN(value) ? NO_VALUE : level(VIRIDIS, (value - low) * scale);
      else {
        const off = value - against.values[i], region = against.truth ? against.third[i] : 255;
        if (layer === "error") pixels[i] = Number.isNaN(off) ? NO_VALUE : level(ERRORS, 127.5 * (1 + off / error));
        else if (Math.abs(off) <= threshold || !region || Number.isNaN(against.values[i])) pixels[i] = WHITE;
        else pixels[i] = Number.isNaN(off) ? MISSING : region === 255 ? BLACK : OCCLUDED;
      }
    }
    context.putImageData(picture, 0, 0);
    return shown;
  };
  const bar = layer => {
    const table = { disparity: VIRIDIS, error: ERRORS, confidence: GREYS }[layer], drawn = make("canvas", { width: 256, height: 1, class: "bar", "aria-hidden": "true" });
    const context = drawn.getContext("2d"), picture = context.createImageData(256, 1);
    new Uint32Array(picture.data.buffer).set(table);
    context.putImageData(picture, 0, 0);
    return drawn;
  };
  const number = value => Number.isNaN(value) ? "–" : value.toFixed(2);
  const legend = (layer, row, limits, error, against, shown) => {
    const ends = { disparity: limits, error: [-error, error], confidence: shown?.confidence }[layer];
    if (layer === "bad pixels") {
      const chips = [["black", "bad"], ["#c8c8c8", "bad, but occluded"], ["#8c5aa0", "no estimate"], ["white", "good, or not evaluated"]];
      return chips.map(([colour, text]) => make("span", {}, make("i", { style: `background:${colour}` }), text));
    }
    if (!ends) return [];
    const name = { disparity: "disparity (px)", error: `error (px): red = too near${against && !against.truth ? `, against ${against.name}` : ""}`, confidence: "confidence" }[layer];
    return [make("span", {}, name), make("span", {}, Number(ends[0].toPrecision(4)).toString(), bar(layer), Number(ends[1].toPrecision(4)).toString())];
  };
  const LAYERS = ["disparity", "error", "bad pixels", "confidence"];
  const blocks = [...document.querySelectorAll(".scenes")].map(node => ({ node, rows: JSON.parse(node.querySelector("script").textContent) }));

  // --- small pictures -------------------------------------------------------------------------------------------------
  for (const block of blocks) {
    let layer = block.node.dataset.layer;
    const cells = block.rows.flatMap(row => row.cells.filter(Boolean)), used = new Map();
    const offered = LAYERS.filter(name => cells.some(cell => cell.step !== undefined && !cell.truth && (name === "disparity"
      || (name === "confidence" ? cell.confidence : cells.some(other => other.truth)))));
    const keys = make("p", { class: "legend" });
    const draw = async thumb => {
      const row = block.rows[thumb.dataset.row], cell = row.cells[thumb.dataset.cell], wanted = layer;
      const load = one => used.get(one.source) ?? used.set(one.source, decoded(one)).get(one.source);
      const truth = row.cells.find(one => one?.truth);
      try {
        const [map, against] = await Promise.all([load(cell), truth && wanted !== "disparity" ? load(truth) : null]);
        if (wanted !== layer) return;
        const shown = map.canvas ?? painted(map, has(wanted, map, against) ? wanted : "disparity", against, { limits: row.limits, error: {{ largest_error }}, threshold: row.threshold });
        const target = thumb.querySelector("canvas"), width = Math.min(shown.width, 320);
        target.width = width;
        target.height = Math.round(width * shown.height / shown.width);
        const context = target.getContext("2d");
        context.imageSmoothingQuality = "high";
        context.drawImage(shown, 0, 0, target.width, target.height);
        thumb.dataset.drawn = wanted;
      } catch (error) {
        thumb.title = error.message;
      }
      used.delete(cell.source);
    };
    const thumbs = [...block.node.querySelectorAll(".thumb")];
    const seen = new Set(), watcher = new IntersectionObserver(entries => {
      for (const { isIntersecting, target } of entries) {
        if (isIntersecting && !seen.has(target)) { seen.add(target); draw(target); }
      }
    }, { rootMargin: "300px" });
    thumbs.forEach(thumb => {
      watcher.observe(thumb);
      thumb.addEventListener("click", () => open(block, Number(thumb.dataset.row), Number(thumb.dataset.cell), layer, thumb));
    });
    // Printed pages hold pictures that nobody has looked at.
    addEventListener("beforeprint", () => thumbs.filter(thumb => !seen.has(thumb)).forEach(thumb => { seen.add(thumb); draw(thumb); }));
    if (offered.length) {
      const buttons = offered.map(name => make("button", { type: "button", "aria-pressed": String(name === layer) }, name));
      const told = () => keys.replaceChildren(...(layer === "disparity" ? [make("span", {}, "far"), bar(layer), make("span", {}, "near")]
        : layer === "confidence" ? [make("span", {}, "unsure"), bar(layer), make("span", {}, "sure")] : legend(layer, null, null, {{ largest_error }})));
      buttons.forEach((button, i) => button.addEventListener("click", () => {
        layer = offered[i];
        buttons.forEach((other, k) => other.setAttribute("aria-pressed", String(i === k)));
        told();
        seen.forEach(draw);
      }));
      told();
      block.node.prepend(make("div", { class: "tools", role: "toolbar", "aria-label": "What the pictures show" }, ...buttons, keys));
    }
  }

  // --- viewer ---------------------------------------------------------------------------------------------------------
  const button = (name, keys, text = name) => make("button", { type: "button", "data-do": name, title: keys }, text);
  const slider = (name, given) => make("label", {}, `${name} `, make("input", { type: "range", ...given, "data-do": name }), make("output"));
  const stage = make("canvas", { tabindex: "0", "aria-label": "picture; arrow keys choose method and scene, + and - zoom, Shift and arrow keys move" });
  const title = make("h2"), layerTools = make("div", { class: "tools", role: "toolbar", "aria-label": "Layer" }, ...LAYERS.map((name, i) => button(name, `key ${i + 1}`)));
  const values = make("table", {}), told = make("p", { class: "note", "aria-live": "polite" }), bars = make("p", { class: "legend" });
  const sliders = {
    "error to": slider("error to", { min: -2, max: 6, step: 1, value: 2 }), "bad above": slider("bad above", { min: 0, max: 8, step: 0.25, value: 1 }),
    wipe: slider("wipe", { min: 0, max: 100, value: 100 }), image: slider("image", { min: 0, max: 100, value: 0 }),
  };
  const input = name => sliders[name].querySelector("input"), output = name => sliders[name].querySelector("output");
  const dialog = make("dialog", { class: "viewer", "aria-label": "viewer" },
    make("header", {}, title, button("previous", "key Up", "↑ scene"), button("next", "key Down", "↓ scene"), button("out", "key -", "−"), button("fit", "key 0"), button("in", "key +", "+"), button("close", "key Escape", "close")),
    make("div", { class: "controls" }, layerTools, make("div", { class: "tools" }, button("blink", "key b: A against B", "blink A/B"), button("truth", "key t: A against the truth", "blink A/truth")), ...Object.values(sliders)),
    make("div", { class: "stage" }, stage),
    make("aside", {}, told, values, make("p", { class: "note" }, "Keys: ← → method (A), ↑ ↓ scene, 1–4 layer, b blink A/B, t blink A/truth, s swap A and B, + − 0 zoom, Shift and arrows move, Esc close.")),
    bars);
  if (blocks.length) document.body.append(dialog);
  let view = null, timer = 0, opener = null, request = 0;
  const fit = () => {
    const { row } = view, scale = Math.min(stage.clientWidth / row.width, stage.clientHeight / row.height);
    Object.assign(view, { scale, x: (stage.clientWidth - row.width * scale) / 2, y: (stage.clientHeight - row.height * scale) / 2 });
  };
  const cell = which => view.cells[view[which]];
  const against = () => view.cells.find(one => one?.truth) ?? (cell("a") === cell("b") ? null : cell("b"));
  const look = one => {
    const { row, layer } = view;
    if (one.canvas) return one.canvas;
    // Without truth errors are differences from B, which is then shown as it is.
    const wanted = has(layer, one, against()) ? layer : "disparity";
    const key = `${wanted} ${view.error} ${view.threshold} ${against()?.name}`;
    if (one.key !== key) Object.assign(one, { key, shown: painted(one, wanted, against(), { limits: row.limits, error: view.error, threshold: view.threshold }) });
    return one.shown;
  };
  const draw = () => {
    if (!view?.cells) return;
    const ratio = devicePixelRatio, width = stage.clientWidth, height = stage.clientHeight;
    if (stage.width !== Math.round(width * ratio) || stage.height !== Math.round(height * ratio)) Object.assign(stage, { width: Math.round(width * ratio), height: Math.round(height * ratio) });
    const context = stage.getContext("2d");
    const put = (one, alpha = 1) => {
      context.globalAlpha = alpha;
      context.drawImage(one, view.x, view.y, view.row.width * view.scale, view.row.height * view.scale);
      context.globalAlpha = 1;
    };
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    context.imageSmoothingEnabled = view.scale * ratio < 1;
    put(look(cell(view.blinked ?? "a")));
    const wipe = Number(input("wipe").value), mix = Number(input("image").value), image = view.cells.find(one => one?.name === "image");
    if (wipe < 100) {
      context.save();
      context.beginPath();
      context.rect(width * wipe / 100, 0, width, height);
      context.clip();
      put(look(cell("b")));
      context.restore();
      context.fillStyle = "#d55e00";
      context.fillRect(width * wipe / 100 - 1, 0, 2, height);
    }
    if (mix && image) put(image.canvas, mix / 100);
    const { x, y } = pixel();
    if (inside(x, y) && view.scale >= 4) {
      context.strokeStyle = "#d55e00";
      context.lineWidth = 2;
      context.strokeRect(view.x + x * view.scale, view.y + y * view.scale, view.scale, view.scale);
    }
    dialog.dataset.shown = cell(view.blinked ?? "a").name;
  };
  const pixel = () => {
    const [left, top] = view.pointer ?? [stage.clientWidth / 2, stage.clientHeight / 2];
    return { x: Math.floor((left - view.x) / view.scale), y: Math.floor((top - view.y) / view.scale) };
  };
  const inside = (x, y) => x >= 0 && y >= 0 && x < view.row.width && y < view.row.height;
  const read = () => {
    if (!view?.cells) return;
    const { x, y } = pixel(), there = inside(x, y), i = y * view.row.width + x, truth = view.cells.find(one => one?.truth);
    told.textContent = there ? `column ${x}, row ${y}` : "the pointer is beside the picture";
    for (const line of values.tBodies[0]?.rows ?? []) {
      const one = view.cells[line.dataset.cell], [disparity, error, sure] = [...line.cells].slice(3);
      if (!one.values) continue;
      disparity.textContent = there ? number(one.values[i]) : "";
      if (!one.truth && truth) error.textContent = there ? (value => `${value > 0 ? "+" : ""}${number(value)}`)(one.values[i] - truth.values[i]) : "";
      if (one.confidence) sure.textContent = there ? number(confidence(one, i)) : "";
    }
  };
  const update = () => {
    if (!view?.cells) return;
    title.textContent = `${view.row.name}: ${cell("a").name}`;
    for (const one of layerTools.children) {
      one.setAttribute("aria-pressed", String(one.dataset.do === view.layer));
      one.disabled = !view.cells.some(map => map && !map.truth && has(one.dataset.do, map, against()));
    }
    dialog.querySelector("[data-do=truth]").disabled = !view.cells.some(one => one?.truth);
    dialog.querySelector("[data-do=blink]").setAttribute("aria-pressed", String(timer !== 0));
    const sliding = { "error to": view.layer === "error", "bad above": view.layer === "bad pixels", wipe: true, image: view.cells.some(one => one?.name === "image") };
    for (const [name, there] of Object.entries(sliding)) sliders[name].hidden = !there;
    output("error to").textContent = `±${view.error} px`;
    output("bad above").textContent = `${view.threshold} px`;
    output("wipe").textContent = Number(input("wipe").value) < 100 ? "B at the right" : "";
    for (const line of values.tBodies[0].rows) {
      line.querySelectorAll("input").forEach(radio => { radio.checked = view[radio.name] === Number(line.dataset.cell); });
    }
    bars.replaceChildren(...legend(view.layer, view.row, view.row.limits, view.error, against(), cell("a")));
    draw();
    read();
  };
  const stop = () => { clearInterval(timer); timer = 0; view.blinked = undefined; };
  const blink = () => {
    stop();
    timer = setInterval(() => { view.blinked = view.blinked === "b" ? "a" : "b"; draw(); }, 600);
    view.blinked = "b";
    update();
  };
  const go = async row => {
    const mine = ++request, size = view.row && [view.row.width, view.row.height].join();
    view.row = view.block.rows[row];
    view.place = row;
    view.cells = null;
    told.textContent = "loading";
    view.threshold = view.row.threshold;
    input("bad above").value = view.threshold;
    let cells;
    try {
      cells = await Promise.all(view.row.cells.map(one => one && decoded(one)));
    } catch (error) {
      told.textContent = error.message;
      return;
    }
    if (mine !== request || !dialog.open) return;
    view.cells = cells;
    const known = cells.flatMap((one, i) => one ? [i] : []);
    if (!known.includes(view.a)) view.a = known[0];
    if (!known.includes(view.b) || view.a === view.b) {
      const others = known.filter(i => i !== view.a);
      view.b = others.find(i => cells[i].truth) ?? others.find(i => cells[i].values) ?? others[0] ?? view.a;
    }
    const radio = (which, i, name) => make("td", {}, make("input", { type: "radio", name: which, value: i, "aria-label": `${which.toUpperCase()}: ${name}` }));
    const body = make("tbody", {}, ...known.map(i => make("tr", { "data-cell": i }, radio("a", i, cells[i].name), radio("b", i, cells[i].name), make("th", { scope: "row" }, cells[i].name), make("td"), make("td"), make("td"))));
    values.replaceChildren(make("thead", {}, make("tr", {}, ...["A", "B", "picture", "disparity", "error", cells.some(one => one?.confidence) ? "confidence" : ""].map(text => make("th", { scope: "col" }, text)))), body);
    if (size !== [view.row.width, view.row.height].join()) fit();
    dialog.dataset.ready = view.row.name;
    update();
  };
  const open = (block, row, a, layer, from) => {
    opener = from;
    view = { block, a, b: -1, layer, error: {{ largest_error }}, pointer: null };
    input("error to").value = Math.log2(view.error);
    input("wipe").value = 100;
    input("image").value = 0;
    delete dialog.dataset.ready;
    dialog.showModal();
    stage.focus();
    go(row);
  };
  const zoom = (factor, at = [stage.clientWidth / 2, stage.clientHeight / 2]) => {
    const scale = Math.min(64, Math.max(0.05, view.scale * factor)), change = scale / view.scale;
    Object.assign(view, { scale, x: at[0] - (at[0] - view.x) * change, y: at[1] - (at[1] - view.y) * change });
    draw();
    read();
  };
  const turn = (which, step) => {
    const known = view.cells.flatMap((one, i) => one ? [i] : []);
    stop();
    view[which] = known[(known.indexOf(view[which]) + step + known.length) % known.length];
    update();
  };
  const actions = {
    in: () => zoom(1.5), out: () => zoom(1 / 1.5), fit: () => { fit(); draw(); read(); }, close: () => dialog.close(),
    next: () => go((view.place + 1) % view.block.rows.length), previous: () => go((view.place + view.block.rows.length - 1) % view.block.rows.length),
    blink: () => { if (timer) { stop(); update(); } else blink(); },
    truth: () => {
      const truth = view.cells.findIndex(one => one?.truth), running = timer !== 0 && view.b === truth;
      if (truth < 0) return;
      view.b = truth;
      if (running) { stop(); update(); } else blink();
    },
    swap: () => { [view.a, view.b] = [view.b, view.a]; update(); },
  };
  for (const name of LAYERS) actions[name] = () => { view.layer = name; update(); };
  dialog.addEventListener("click", event => {
    const wanted = event.target.closest("button")?.dataset.do;
    if (wanted === "close" || (wanted && view.cells)) actions[wanted]();
  });
  dialog.addEventListener("input", event => {
    const { name, value, dataset } = event.target;
    if (!view.cells) return;
    if (name === "a" || name === "b") { stop(); view[name] = Number(value); }
    if (dataset.do === "error to") view.error = 2 ** Number(value);
    if (dataset.do === "bad above") view.threshold = Number(value);
    update();
  });
  dialog.addEventListener("close", () => { stop(); request++; view = null; opener?.focus(); });
  const KEYS = { "+": "in", "=": "in", "-": "out", 0: "fit", b: "blink", t: "truth", s: "swap", ArrowUp: "previous", ArrowDown: "next", 1: "disparity", 2: "error", 3: "bad pixels", 4: "confidence" };
  const MOVES = { ArrowLeft: [1, 0], ArrowRight: [-1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
  dialog.addEventListener("keydown", event => {
    // Sliders and choices have arrow keys of their own.
    if (event.ctrlKey || event.metaKey || event.altKey || !view.cells || (event.target.matches("input") && event.key.startsWith("Arrow"))) return;
    const move = MOVES[event.key], wanted = KEYS[event.key];
    if (event.shiftKey && move) {
      view.x += move[0] * stage.clientWidth / 10;
      view.y += move[1] * stage.clientHeight / 10;
      draw();
      read();
    } else if (event.key === "ArrowRight" || event.key === "ArrowLeft") turn("a", event.key === "ArrowRight" ? 1 : -1);
    else if (!wanted || dialog.querySelector(`[data-do="${wanted}"]`)?.disabled) return;
    else actions[wanted]();
    event.preventDefault();
  });
  const at = event => { const box = stage.getBoundingClientRect(); return [event.clientX - box.left, event.clientY - box.top]; };
  stage.addEventListener("wheel", event => { event.preventDefault(); if (view.cells) zoom(event.deltaY < 0 ? 1.25 : 0.8, at(event)); }, { passive: false });
  stage.addEventListener("pointerdown", event => { stage.setPointerCapture(event.pointerId); });
  stage.addEventListener("pointermove", event => {
    if (!view.cells) return;
    view.pointer = at(event);
    if (event.buttons) { view.x += event.movementX; view.y += event.movementY; }
    draw();
    read();
  });
  addEventListener("resize", draw);
  return (source, text) => { waiting.get(source)?.done(text); waiting.delete(source); };
})();
