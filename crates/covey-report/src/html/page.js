// Makes a page of comparisons answer, each for itself: it sorts the table, takes another baseline, brings out a policy,
// reads values off curves, changes axes, lists coflows, and gives its figures and numbers away as files. Without it the
// page shows the same. What is chosen stands in the fragment of the page's address, so that a view can be shared.
"use strict";
(() => {
  // A name without a value is the place of a comparison in the page.
  const chosen = new Map([...new URLSearchParams(location.hash.slice(1))].filter(([, value]) => value !== ""));
  const SVG = document.querySelector("svg").namespaceURI;
  const WIDTH = 560;
  const MAX_POINTS = 2000;
  const SHOWN = 100;

  // An element with attributes and children.
  function make(name, attributes = {}, ...children) {
    const svg = ["line", "text", "g"].includes(name);
    const made = svg ? document.createElementNS(SVG, name) : document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...children);
    return made;
  }

  const ascending = (values) => values.filter((value) => !Number.isNaN(value)).sort((a, b) => a - b);
  const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const ratio = (base, own) => (base === own ? 1 : base / own);
  // As covey-report's `percentile`.
  function median(values) {
    const rank = (values.length - 1) / 2;
    const [below, above] = [values[Math.floor(rank)], values[Math.ceil(rank)]];
    return below === above ? below : below + (above - below) * (rank % 1);
  }
  // Four digits that say something, or all of a large whole number.
  function digits(value) {
    if (!Number.isFinite(value)) return "–";
    const magnitude = value === 0 ? 0 : Math.floor(Math.log10(Math.abs(value)));
    return value.toFixed(Math.min(Math.max(3 - magnitude, 0), 9));
  }

  // Numbers before texts.
  const number = (text) => {
    const value = parseFloat(text.replaceAll(",", ""));
    return Number.isNaN(value) ? text : value;
  };
  const order = (a, b) => (typeof a === typeof b ? (a < b ? -1 : a > b ? 1 : 0) : typeof a === "number" ? -1 : 1);

  // Axes, as covey-report draws them.

  function roundLog(log, whole) {
    const steps = [0, Math.log10(2), 1 - Math.log10(2)].map((step) => whole(log - step) + step);
    return steps.reduce((best, at) => (Math.abs(at - log) < Math.abs(best - log) ? at : best), Infinity);
  }
  const count = (value) => value.toLocaleString("en");

  function logAxis(values, [left, right]) {
    const positive = values.filter((value) => Number.isFinite(value) && value > 0);
    if (positive.length === 0) positive.push(1, 10);
    const [min, max] = positive.reduce(([a, b], v) => [Math.min(a, v), Math.max(b, v)], [Infinity, 0]);
    let low = roundLog(Math.log10(min), Math.floor);
    const high = roundLog(Math.log10(max), Math.ceil);
    if (low === high) low -= 1;
    low = Math.max(low, Math.ceil(high - 9));
    const at = (value) => {
      const log = Math.min(Math.max(Math.log10(Math.max(value, Number.MIN_VALUE)), low), high);
      return left + ((right - left) * (log - low)) / (high - low);
    };
    const value = (x) => 10 ** (low + ((high - low) * (x - left)) / (right - left));
    const ticks = [];
    const room = (right - left) / (high - low);
    const every = Math.max(1, Math.ceil(76.8 / room));
    for (let power = Math.floor(low); power <= Math.floor(high); power += 1) {
      for (let factor = 1; factor <= 9; factor += 1) {
        const log = power + Math.log10(factor);
        if (log < low - 1e-9 || log > high + 1e-9) continue;
        const named = factor === 1 ? power % every === 0 : [2, 5].includes(factor) && room * Math.log10(2) >= 76.8;
        const name = power < -4 || power >= 5 ? `${factor}e${power}`
          : power < 0 ? (factor * 10 ** power).toFixed(-power) : count(factor * 10 ** power);
        ticks.push([left + ((right - left) * (log - low)) / (high - low), named ? name : ""]);
      }
    }
    return { at, value, ticks };
  }

  function linearAxis(values, [left, right]) {
    const most = values.filter(Number.isFinite).reduce((a, b) => Math.max(a, b), 0) || 1;
    const step = 10 ** roundLog(Math.log10(most / 4), Math.floor);
    const steps = Math.ceil(most / step - 1e-9);
    const decimals = Math.max(0, -Math.floor(Math.log10(step)));
    const at = (value) => left + (right - left) * Math.min(Math.max(value / (step * steps), 0), 1);
    const value = (x) => (step * steps * (x - left)) / (right - left);
    const name = (k) => (decimals > 0 ? (step * k).toFixed(decimals) : count(Math.round(step * k)));
    return { at, value, ticks: Array.from({ length: steps + 1 }, (_, k) => [at(step * k), name(k)]) };
  }

  // Distributions.

  const rounded = (x) => Math.round(x * 10) / 10;
  function steps(values, axis, [top, bottom, right]) {
    const points = Math.min(values.length, MAX_POINTS);
    let path = "";
    for (let point = 1; point <= points; point += 1) {
      const rank = Math.floor((point * values.length) / points);
      const [x, y] = [axis.at(values[rank - 1]), bottom + ((top - bottom) * rank) / values.length].map(rounded);
      path += point === 1 ? `M${x} ${bottom}V${y}` : `H${x}V${y}`;
    }
    return points > 0 ? `${path}H${right}` : path;
  }

  class Distribution {
    constructor(svg, comparison) {
      this.svg = svg;
      this.comparison = comparison;
      this.kind = svg.dataset.plot;
      this.edges = ["left", "right", "top", "bottom"].map((edge) => Number(svg.dataset[edge]));
      this.reading = make("output", { class: "reading", "aria-live": "polite" });
      this.line = make("line", { class: "cursor", visibility: "hidden" });
      svg.append(this.line);
      svg.setAttribute("tabindex", "0");
      this.legend = svg.parentNode.querySelector(".legend");
      comparison.data.labels.forEach((_, run) => this.complete(run));
      const tools = make("p", { class: "tools" });
      const axis = make("button", { type: "button", "aria-pressed": "false" }, "linear axis");
      axis.addEventListener("click", () => comparison.choose(`${this.kind}-axis`, this.isLinear() ? "" : "linear"));
      this.button = axis;
      const file = (name, text) => {
        const button = make("button", { type: "button" }, name);
        button.addEventListener("click", () => download(`${this.kind}.${name.toLowerCase()}`, text()));
        return button;
      };
      tools.append(axis, file("SVG", () => this.drawing()), file("CSV", () => this.numbers()));
      svg.after(this.reading, tools);
      svg.addEventListener("pointermove", (event) => {
        const box = svg.getBoundingClientRect();
        this.read(((event.clientX - box.left) * WIDTH) / box.width);
      });
      svg.addEventListener("pointerleave", () => this.read(undefined));
      svg.addEventListener("keydown", (event) => {
        const move = { ArrowLeft: -4, ArrowRight: 4 }[event.key];
        if (move === undefined) return;
        event.preventDefault();
        this.read((this.x ?? (this.edges[0] + this.edges[1]) / 2) + move);
      });
    }

    // The baseline has no curve and no place in the legend of speed-ups before another takes its place.
    complete(run) {
      const of = `[data-policy="${run}"]`;
      const sample = this.comparison.root.querySelector(`.key${of}`);
      if (!this.svg.querySelector(`path${of}`)) {
        const path = document.createElementNS(SVG, "path");
        path.setAttribute("class", sample.querySelector("line").getAttribute("class"));
        path.dataset.policy = run;
        this.line.before(path);
      }
      if (!this.legend.querySelector(of)) this.legend.append(make("li", {}, sample.cloneNode(true)));
    }

    isLinear() {
      return this.comparison.get(`${this.kind}-axis`) === "linear";
    }

    values(run, base) {
      const { data, ratios } = this.comparison;
      if (this.kind === "cct") return data.cct_s[run];
      if (run === base) return [];
      return this.kind === "seeds" ? data.by_seed[run] : ratios(base, run);
    }

    render(base) {
      const [left, right, top, bottom] = this.edges;
      const { labels } = this.comparison.data;
      this.curves = labels.map((label, run) => ({ label, values: ascending(this.values(run, base)) }));
      const all = this.curves.flatMap((curve) => curve.values);
      const mark = this.svg.querySelector(".mark");
      if (mark) all.push(1);
      this.axis = (this.isLinear() ? linearAxis : logAxis)(all, [left, right]);
      this.curves.forEach((curve, run) => {
        const path = this.svg.querySelector(`path[data-policy="${run}"]`);
        path.setAttribute("d", steps(curve.values, this.axis, [top, bottom, right]));
        this.legend.querySelector(`[data-policy="${run}"]`).closest("li").hidden = curve.values.length === 0;
      });
      const grid = this.svg.querySelector(".x");
      grid.replaceChildren(...this.axis.ticks.flatMap(([x, name]) => [
        make("line", { class: name ? "grid major" : "grid", x1: rounded(x), x2: rounded(x), y1: top, y2: bottom }),
        ...(name ? [make("text", { class: "middle", x: rounded(x), y: bottom + 26 }, name)] : []),
      ]));
      if (mark) ["x1", "x2"].forEach((end) => mark.setAttribute(end, rounded(this.axis.at(1))));
      if (this.kind === "speedup") {
        const label = labels[base];
        const title = `speed-up of a coflow over ${label.length > 20 ? "the baseline" : label}`;
        this.svg.querySelector(":scope > .middle").textContent = title;
      }
      this.button.setAttribute("aria-pressed", `${this.isLinear()}`);
    }

    // Says what share of coflows each curve has up to the value at `x`.
    read(x) {
      const [left, right, top, bottom] = this.edges;
      this.x = x === undefined ? undefined : Math.min(Math.max(x, left), right);
      this.line.setAttribute("visibility", this.x === undefined ? "hidden" : "visible");
      if (this.x === undefined) {
        this.reading.textContent = "";
        return;
      }
      for (const [key, value] of Object.entries({ x1: this.x, x2: this.x, y1: top, y2: bottom })) {
        this.line.setAttribute(key, value);
      }
      const value = this.axis.value(this.x);
      const share = ({ label, values }) => {
        const below = values.reduce((sum, own) => sum + (own <= value ? 1 : 0), 0);
        return `${label} ${((100 * below) / values.length).toFixed(0)} %`;
      };
      const unit = this.kind === "cct" ? " s" : "";
      const curves = this.curves.filter((curve) => curve.values.length > 0);
      this.reading.textContent = `up to ${digits(value)}${unit}: ${curves.map(share).join(", ")}`;
    }

    drawing() {
      const copy = this.svg.cloneNode(true);
      copy.setAttribute("xmlns", SVG);
      const style = make("style");
      style.textContent = [...document.querySelectorAll("style")].map((sheet) => sheet.textContent).join("\n");
      copy.prepend(style);
      return new XMLSerializer().serializeToString(copy);
    }

    numbers() {
      const head = this.kind === "cct" ? "policy,cct_s" : "policy,speedup";
      const each = ({ label, values }) => values.map((value) => [quoted(label), value].join(","));
      return [head, ...this.curves.flatMap(each)].join("\n") + "\n";
    }
  }

  const quoted = (text) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  function download(name, text) {
    const link = make("a", { download: name, href: URL.createObjectURL(new Blob([text])) });
    link.click();
    URL.revokeObjectURL(link.href);
  }

  // Makes a comparison answer. The elements and choices of one of several have names that begin with `data.at`.
  function answer(data) {
    const part = (name) => document.getElementById(data.at + name);
    const root = data.at === "" ? document : part("comparison");
    const table = part("results").querySelector("table");
    const get = (key) => chosen.get(data.at + key);
    function keep(key, value) {
      if (value === "") chosen.delete(data.at + key);
      else chosen.set(data.at + key, value);
      history.replaceState(null, "", "#" + new URLSearchParams([...chosen]));
    }
    function choose(key, value) {
      keep(key, value);
      render();
    }
    const place = (key, otherwise) => {
      const found = data.labels.indexOf(get(key));
      return found < 0 ? otherwise : found;
    };
    const ratios = (base, run) => data.cct_s[base].map((value, k) => ratio(value, data.cct_s[run][k]));

    // The table of policies.

    const heads = [...table.tHead.rows[0].cells];
    const rows = [...table.tBodies[0].rows];
    const printed = rows.map((row) => [...row.cells].map((cell) => cell.textContent));
    heads.forEach((head, column) => {
      const button = make("button", { type: "button" }, ...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const now = get("sort");
        choose("sort", now === `${column}` ? `-${column}` : now === `-${column}` ? "" : `${column}`);
      });
    });

    function renderTable(base) {
      const speedups = { "speed-up of mean": 0, "speed-up median": 1, "speed-up 95 %": 2 };
      rows.forEach((row, run) => {
        [...row.cells].forEach((cell, column) => {
          const kind = speedups[heads[column].dataset.column];
          if (kind === undefined) return;
          const own = base === data.baseline || data.cct_s.length === 0;
          const values = [
            () => ratio(mean(data.cct_s[base]), mean(data.cct_s[run])).toFixed(2),
            () => median(ascending(ratios(base, run))).toFixed(2),
            () => data.intervals[base][run],
          ];
          cell.textContent = own ? printed[run][column] : values[kind]();
        });
      });
      const sort = get("sort");
      const column = Math.abs(parseInt(sort ?? "", 10));
      const sign = sort?.startsWith("-") ? -1 : 1;
      const sorted = Number.isNaN(column) || column >= heads.length
        ? rows
        : [...rows].sort((a, b) =>
            sign * order(number(a.cells[column].textContent), number(b.cells[column].textContent)));
      table.tBodies[0].append(...sorted);
      heads.forEach((head, k) => {
        const direction = sorted !== rows && k === column ? (sign > 0 ? "ascending" : "descending") : "none";
        head.setAttribute("aria-sort", direction);
      });
    }

    // A policy that is brought out: its curve, and its row.

    function listen() {
      for (const key of root.querySelectorAll(".key[data-policy]")) {
        const label = data.labels[key.dataset.policy];
        key.setAttribute("role", "button");
        key.setAttribute("tabindex", "0");
        const toggle = () => choose("policy", get("policy") === label ? "" : label);
        key.addEventListener("click", toggle);
        key.addEventListener("keydown", (event) => {
          if (event.key !== "Enter" && event.key !== " ") return;
          event.preventDefault();
          toggle();
        });
      }
    }

    function renderChoice() {
      const policy = place("policy", -1);
      for (const element of root.querySelectorAll("[data-policy]")) {
        const own = Number(element.dataset.policy) === policy;
        element.classList.toggle("dim", policy >= 0 && !own);
        if (element.classList.contains("key")) element.setAttribute("aria-pressed", `${own}`);
        if (own && element.tagName === "path") element.parentNode.append(element);
      }
    }

    // The coflows.

    const list = part("coflows");
    const columns = [
      ["coflow", (k) => data.id[k]],
      ["arrival, s", (k) => data.arrival_s[k]],
      ["flows", (k) => data.width[k]],
      ["bytes", (k) => data.bytes[k]],
      ...data.labels.map((label, run) => [label, (k) => data.cct_s[run][k]]),
    ];
    let body, told, find;
    if (list) {
      list.hidden = false;
      find = make("input", { type: "search", id: `${data.at}find`, value: get("find") ?? "" });
      find.addEventListener("input", () => choose("find", find.value));
      told = make("output");
      const head = make("tr", {}, ...columns.map(([name], column) => {
        const button = make("button", { type: "button" }, name);
        button.addEventListener("click", () => {
          const now = get("by");
          choose("by", now === `-${column}` ? `${column}` : `-${column}`);
        });
        return make("th", { scope: "col" }, button);
      }));
      body = make("tbody");
      const file = make("button", { type: "button" }, "CSV");
      file.addEventListener("click", () => {
        const line = (k) => columns.map(([, of]) => quoted(`${of(k)}`)).join(",");
        const names = columns.map(([name]) => quoted(name)).join(",");
        download("coflows.csv", [names, ...data.id.map((_, k) => line(k))].join("\n") + "\n");
      });
      const label = make("label", { for: `${data.at}find` }, "Find a coflow by its name: ");
      const scroll = make("div", { class: "scroll", role: "region", tabindex: "0", "aria-label": "Coflows" });
      scroll.append(make("table", {}, make("thead", {}, head), body));
      list.append(make("p", { class: "tools" }, label, find, file, told), scroll);
    }

    function renderList() {
      if (!list) return;
      const wanted = (get("find") ?? "").toLowerCase();
      const found = [...data.id.keys()].filter((k) => data.id[k].toLowerCase().includes(wanted));
      const by = get("by");
      const column = Math.abs(parseInt(by ?? "", 10));
      if (by && column < columns.length) {
        const sign = by.startsWith("-") ? -1 : 1;
        found.sort((a, b) => sign * order(columns[column][1](a), columns[column][1](b)));
      }
      body.replaceChildren(...found.slice(0, SHOWN).map((k) => make("tr", {}, ...columns.map(([, of], column) => {
        const value = of(k);
        const text = column === 0 ? value : column === 2 || column === 3 ? count(value) : digits(value);
        return make(column === 0 ? "th" : "td", column === 0 ? { scope: "row" } : {}, text);
      }))));
      const rest = found.length > SHOWN ? `, the first ${SHOWN} are shown` : "";
      told.textContent = `${count(found.length)} of ${count(data.id.length)} coflows${rest}`;
    }

    // The baseline.

    const options = data.labels.map((label) => make("option", {}, label));
    const select = make("select", { id: `${data.at}baseline` }, ...options);
    select.addEventListener("change", () => {
      const own = select.selectedIndex === data.baseline;
      choose("baseline", own ? "" : data.labels[select.selectedIndex]);
    });
    if (data.cct_s.length > 1) {
      const label = make("label", { for: `${data.at}baseline` }, "Speed-ups over: ");
      table.closest("section").querySelector("h2").after(make("p", { class: "tools" }, label, select));
    }

    // A trace of very many coflows has them drawn, and nothing to draw them from again.
    const isKnown = ({ dataset }) => data.cct_s.length > 0 || dataset.plot === "seeds";
    const drawn = [...root.querySelectorAll("svg[data-plot]")].filter(isKnown);
    const plots = drawn.map((svg) => new Distribution(svg, { data, root, get, choose, ratios }));
    listen();

    function render() {
      const base = data.cct_s.length > 1 ? place("baseline", data.baseline) : data.baseline;
      select.selectedIndex = base;
      for (const name of root.querySelectorAll("[data-base]")) name.textContent = data.labels[base];
      renderTable(base);
      plots.forEach((plot) => plot.render(base));
      renderChoice();
      renderList();
    }
    render();
    return { data, get, keep };
  }

  const answers = JSON.parse(document.getElementById("data").textContent).map(answer);
  // For the script of the timelines, which a page of one comparison has.
  globalThis.page = { ...answers[0], make, digits, count };
})();
