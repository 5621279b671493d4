// The timelines of a comparison's page: who sends when at each port, under two policies above each other. A row is a
// port in one direction, and its height is the port's capacity. Only what is in view is drawn, pixel by pixel. A coflow
// that is chosen is brought out, and explained below.
"use strict";
(() => {
  const { data, get, keep, make, digits, count } = globalThis.page;
  const all = data.timelines;
  const section = document.getElementById("timelines");
  const ROWS = Math.min(14, all.links.length);
  const ROW = 17;
  const AXIS = 22;
  const NARROW = 600;
  // A pointer that moves less than this many pixels has clicked.
  const STILL = 4;
  // Most names offered in the field that finds a coflow.
  const OFFERED = 1000;

  // What a row holds: covey-report's `packed` describes it.

  const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  const VALUE = new Uint8Array(128);
  [...DIGITS].forEach((digit, value) => (VALUE[digit.charCodeAt(0)] = value));
  const WHOLE = 31;

  function unpacked(text) {
    const numbers = [];
    let [number, shift] = [0, 1];
    for (let k = 0; k < text.length; k += 1) {
      const digit = VALUE[text.charCodeAt(k)];
      number += (digit % 32) * shift;
      shift *= 32;
      if (digit >= 32) continue;
      numbers.push(number);
      [number, shift] = [0, 1];
    }
    const length = numbers.length / 4;
    const pieces = { length };
    for (const name of ["from", "until", "share"]) pieces[name] = new Float64Array(length);
    pieces.coflow = new Int32Array(length);
    let ticks = 0;
    for (let k = 0; k < length; k += 1) {
      ticks += numbers[4 * k];
      pieces.from[k] = ticks * all.tick_s;
      pieces.until[k] = (ticks + numbers[4 * k + 1]) * all.tick_s;
      pieces.coflow[k] = numbers[4 * k + 2];
      pieces.share[k] = numbers[4 * k + 3] / WHOLE;
    }
    return pieces;
  }
  const known = all.rows.map((run) => run.map(() => undefined));
  const pieces = (run, row) => (known[run][row] ??= unpacked(all.rows[run][row]));

  // What is in view: seconds, and rows from the first one on.

  const place = (key, otherwise) => {
    const found = data.labels.indexOf(get(key));
    return found < 0 ? otherwise : found;
  };
  const number = (key, otherwise) => {
    const value = parseFloat(get(key) ?? "");
    return Number.isFinite(value) ? value : otherwise;
  };
  const shortest = Math.min(20 * all.tick_s, all.until_s);
  const lower = data.labels.length > 1 && get("lower") !== "none" ? 1 : -1;
  const shown = [place("upper", 0), place("lower", lower)];
  const view = { from: number("from", 0), until: number("until", all.until_s), first: 0, coflow: -1 };
  if (!(view.until > view.from)) Object.assign(view, { from: 0, until: all.until_s });
  const orders = {
    "by number": () => all.links.map((_, row) => row),
    "busiest first": () => all.busiest,
    "of the coflow": () => all.links.map((_, row) => row).filter((row) => view.coflow < 0 || sends(view.coflow, row)),
  };
  let order = orders["by number"]();

  const sends = (coflow, row) => shown.some((run) => run >= 0 && pieces(run, row).coflow.includes(coflow));

  // Where and when a coflow sends: its rows, and its first and last second.
  function extent(coflow) {
    const found = { rows: [], from: Infinity, until: 0 };
    for (const row of all.links.keys()) {
      for (const run of shown.filter((run) => run >= 0)) {
        const { length, coflow: of, from, until } = pieces(run, row);
        for (let k = 0; k < length; k += 1) {
          if (of[k] !== coflow) continue;
          if (found.rows.at(-1) !== row) found.rows.push(row);
          found.from = Math.min(found.from, from[k]);
          found.until = Math.max(found.until, until[k]);
        }
      }
    }
    return found;
  }

  function look(from, until) {
    const length = Math.min(Math.max(until - from, shortest), all.until_s);
    view.from = Math.min(Math.max((from + until - length) / 2, 0), all.until_s - length);
    view.until = view.from + length;
    later();
  }
  const pan = (seconds) => look(view.from + seconds, view.until + seconds);
  const zoom = (factor, at = (view.from + view.until) / 2) =>
    look(at - (at - view.from) * factor, at + (view.until - at) * factor);
  function scroll(rows) {
    view.first = Math.min(Math.max(view.first + rows, 0), Math.max(order.length - ROWS, 0));
    later();
  }

  // Colours.

  const dark = matchMedia("screen and (prefers-color-scheme: dark)");
  const parsed = (hex) => {
    const [r, g, b] = [1, 3, 5].map((k) => parseInt(hex.slice(k, k + 2), 16));
    return (255 << 24) | (b << 16) | (g << 8) | r;
  };
  // Hues that follow each other are far apart.
  function hue(coflow) {
    const lightness = dark.matches ? 0.52 : 0.62;
    const [h, range] = [(coflow * 137.508) % 360, 0.5 * Math.min(lightness, 1 - lightness)];
    const channel = (n) => {
      const k = (n + h / 30) % 12;
      return Math.round(255 * (lightness - range * Math.max(-1, Math.min(k - 3, 9 - k, 1))));
    };
    return (255 << 24) | (channel(4) << 16) | (channel(8) << 8) | channel(0);
  }
  let theme;
  function paint() {
    const style = getComputedStyle(document.documentElement);
    const named = (name) => style.getPropertyValue(name).trim();
    const plain = Object.fromEntries(["text", "quiet", "line", "page"].map((name) => [name, named(`--${name}`)]));
    theme = {
      ...plain,
      empty: parsed(named("--faint")),
      quiets: dark.matches ? ["#5a5a5a", "#666666"].map(parsed) : ["#b4b4b4", "#a4a4a4"].map(parsed),
      own: parsed(named("--c2")),
      hues: Uint32Array.from(data.id, (_, coflow) => hue(coflow)),
    };
  }
  function colour(coflow) {
    if (view.coflow < 0) return theme.hues[coflow];
    return coflow === view.coflow ? theme.own : theme.quiets[coflow % 2];
  }

  // Drawing.

  function ticks() {
    const aim = (view.until - view.from) / 5;
    const power = 10 ** Math.floor(Math.log10(aim));
    const step = power * [1, 2, 5, 10].find((factor) => factor * power >= aim);
    const decimals = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
    const first = Math.ceil(view.from / step - 1e-9);
    const last = Math.floor(view.until / step + 1e-9);
    return Array.from({ length: last - first + 1 }, (_, k) => [(first + k) * step, decimals]);
  }

  class Panel {
    constructor(which) {
      this.which = which;
      this.canvas = make("canvas", {
        tabindex: "0",
        role: "application",
        "aria-roledescription": "timeline",
        "aria-describedby": "timelines-keys",
      });
      this.box = make("div", { class: "timeline" }, this.canvas);
    }

    get run() {
      return shown[this.which];
    }

    measure() {
      this.width = Math.max(this.box.clientWidth, 200);
      this.left = this.width < NARROW ? 82 : 120;
      this.scale = globalThis.devicePixelRatio || 1;
      const height = AXIS + ROWS * ROW;
      this.canvas.style.height = `${height}px`;
      this.canvas.width = Math.round(this.width * this.scale);
      this.canvas.height = Math.round(height * this.scale);
      this.columns = Math.max(Math.floor((this.width - this.left) * this.scale), 1);
      this.line = Math.round(ROW * this.scale);
      this.image = new ImageData(this.columns, ROWS * this.line);
      this.pixels = new Uint32Array(this.image.data.buffer);
      this.sum = new Float32Array(this.columns);
      this.top = new Float32Array(this.columns);
    }

    // Calls `each` with the pieces of a row that are in view, and their columns.
    inView(row, each) {
      const perSecond = this.columns / (view.until - view.from);
      const { length, from, until, coflow, share } = pieces(this.run, row);
      for (let k = 0; k < length && from[k] < view.until; k += 1) {
        if (until[k] <= view.from) continue;
        const begin = Math.max((from[k] - view.from) * perSecond, 0);
        const end = Math.min((until[k] - view.from) * perSecond, this.columns);
        each(coflow[k], share[k], begin, end);
      }
    }

    // The columns of a row: coflows stand on each other, as high as their shares of the port.
    row(row, offset) {
      const { columns, line, pixels, sum, top } = this;
      const height = line - 1;
      sum.fill(0);
      top.fill(0);
      this.inView(row, (_, share, begin, end) => {
        for (let x = Math.floor(begin); x < end; x += 1) sum[x] += share * (Math.min(x + 1, end) - Math.max(x, begin));
      });
      this.inView(row, (coflow, share, begin, end) => {
        const own = colour(coflow);
        const least = coflow === view.coflow ? 3 * this.scale : 0;
        for (let x = Math.floor(begin); x < end; x += 1) {
          const part = (share * (Math.min(x + 1, end) - Math.max(x, begin))) / Math.max(sum[x], 1);
          const low = Math.round(top[x] * height);
          top[x] += part;
          // What is chosen can always be seen.
          const high = Math.min(Math.max(Math.round(top[x] * height), low + least), height);
          for (let y = Math.min(low, height - least); y < high; y += 1) {
            pixels[(offset + height - 1 - y) * columns + x] = own;
          }
        }
      });
    }

    draw() {
      this.box.hidden = this.run < 0;
      if (this.run < 0) return;
      if (this.box.clientWidth !== this.width || (globalThis.devicePixelRatio || 1) !== this.scale) this.measure();
      const { canvas, columns, line, pixels, left, scale, width } = this;
      const context = canvas.getContext("2d");
      const visible = order.slice(view.first, view.first + ROWS);
      pixels.fill(0);
      visible.forEach((row, k) => {
        const offset = k * line;
        pixels.fill(theme.empty, offset * columns, (offset + line - 1) * columns);
        this.row(row, offset);
      });
      context.setTransform(1, 0, 0, 1, 0, 0);
      context.clearRect(0, 0, canvas.width, canvas.height);
      context.putImageData(this.image, canvas.width - columns, Math.round(AXIS * scale));
      context.scale(scale, scale);
      context.font = `${width < NARROW ? 11 : 12}px system-ui, sans-serif`;
      context.textBaseline = "middle";
      context.fillStyle = theme.text;
      visible.forEach((row, k) => {
        let name = all.links[row];
        while (name.length > 2 && context.measureText(name).width > left - 8) {
          name = `${name.replace(/…$/, "").slice(0, -1)}…`;
        }
        context.fillText(name, 0, AXIS + (k + 0.5) * ROW);
      });
      context.strokeStyle = theme.line;
      context.fillStyle = theme.quiet;
      const bottom = AXIS + visible.length * ROW;
      for (const [at, decimals] of ticks()) {
        const x = left + ((at - view.from) / (view.until - view.from)) * (width - left);
        const name = `${decimals > 0 ? at.toFixed(decimals) : count(Math.round(at))} s`;
        const half = context.measureText(name).width / 2;
        context.fillText(name, Math.min(Math.max(x - half, left), width - 2 * half), AXIS / 2);
        context.globalAlpha = 0.6;
        context.beginPath();
        context.moveTo(x, AXIS - 4);
        context.lineTo(x, bottom);
        context.stroke();
        context.globalAlpha = 1;
      }
      const what = view.coflow < 0 ? "" : `, coflow ${data.id[view.coflow]} brought out`;
      const when = `from ${second(view.from)} s to ${second(view.until)} s`;
      canvas.setAttribute("aria-label", `Who sends when under ${data.labels[this.run]}, ${when}${what}`);
    }

    // What is at a point of the canvas: row, time, and the coflows that send, from the bottom up.
    at(event) {
      const box = this.canvas.getBoundingClientRect();
      const [x, y] = [event.clientX - box.left - this.left, event.clientY - box.top - AXIS];
      const row = order[view.first + Math.floor(y / ROW)];
      if (x < 0 || y < 0 || row === undefined || y >= ROWS * ROW) return undefined;
      const column = Math.min(Math.floor(x * this.scale), this.columns - 1);
      const stack = new Map();
      this.inView(row, (coflow, share, begin, end) => {
        const part = Math.min(column + 1, end) - Math.max(column, begin);
        if (part > 0) stack.set(coflow, (stack.get(coflow) ?? 0) + share * part);
      });
      const sum = Math.max([...stack.values()].reduce((a, b) => a + b, 0), 1);
      const time = view.from + (x / (this.width - this.left)) * (view.until - view.from);
      const height = 1 - (y % ROW) / ROW;
      let [top, hit] = [0, -1];
      for (const [coflow, share] of stack) {
        top += share / sum;
        if (hit < 0 && top >= height) hit = coflow;
      }
      // Above them, the largest.
      const largest = [...stack].reduce((best, next) => (next[1] > best[1] ? next : best), [-1, 0])[0];
      const shares = [...stack].map(([coflow, share]) => [coflow, share / sum]).sort((a, b) => b[1] - a[1]);
      return { row, time, shares, hit: hit < 0 ? largest : hit };
    }

    // The coflow that sends most of what is in view.
    mostInView() {
      const sums = new Map();
      for (const row of order.slice(view.first, view.first + ROWS)) {
        this.inView(row, (coflow, share, begin, end) => {
          sums.set(coflow, (sums.get(coflow) ?? 0) + share * (end - begin));
        });
      }
      return [...sums].reduce((best, next) => (next[1] > best[1] ? next : best), [-1, 0])[0];
    }

    listen() {
      const { canvas } = this;
      let held;
      canvas.addEventListener("pointerdown", (event) => {
        held = { x: event.clientX, y: event.clientY, ...view, moved: false };
        canvas.setPointerCapture(event.pointerId);
      });
      canvas.addEventListener("pointermove", (event) => {
        if (!held) {
          this.read(this.at(event));
          return;
        }
        const [dx, dy] = [event.clientX - held.x, event.clientY - held.y];
        held.moved ||= Math.hypot(dx, dy) > STILL;
        if (!held.moved) return;
        const seconds = (dx * (held.until - held.from)) / (this.width - this.left);
        look(held.from - seconds, held.until - seconds);
        if (event.pointerType === "mouse") scroll(held.first - Math.round(dy / ROW) - view.first);
      });
      const release = (event) => {
        const found = held && !held.moved && event.type === "pointerup" ? this.at(event) : undefined;
        held = undefined;
        if (found && found.hit >= 0) choose(found.hit);
      };
      canvas.addEventListener("pointerup", release);
      canvas.addEventListener("pointercancel", release);
      canvas.addEventListener("pointerleave", () => this.read(undefined));
      canvas.addEventListener("wheel", (event) => {
        // A page that is scrolled past the timelines goes on.
        if (document.activeElement !== canvas && !event.ctrlKey) return;
        event.preventDefault();
        const box = canvas.getBoundingClientRect();
        const seconds = (view.until - view.from) / (this.width - this.left);
        if (event.shiftKey) scroll(Math.sign(event.deltaY || event.deltaX));
        else if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) pan(event.deltaX * seconds);
        else zoom(1.0015 ** event.deltaY, view.from + Math.max(event.clientX - box.left - this.left, 0) * seconds);
      }, { passive: false });
      canvas.addEventListener("keydown", (event) => {
        if (event.ctrlKey || event.altKey || event.metaKey) return;
        const act = keys(this)[event.key];
        if (!act) return;
        event.preventDefault();
        act();
      });
    }

    read(found) {
      if (!found) {
        reading.textContent = "";
        return;
      }
      const named = ([coflow, share]) => `${data.id[coflow]} ${Math.round(100 * share)} %`;
      const few = found.shares.slice(0, 4).map(named);
      const more = found.shares.length > few.length ? `, ${found.shares.length - few.length} more` : "";
      const what = few.length > 0 ? few.join(", ") + more : "nobody sends";
      reading.textContent = `${data.labels[this.run]}, ${all.links[found.row]} at ${digits(found.time)} s: ${what}`;
    }
  }

  const keys = (panel) => ({
    ArrowLeft: () => pan((view.from - view.until) / 10),
    ArrowRight: () => pan((view.until - view.from) / 10),
    ArrowUp: () => scroll(-1),
    ArrowDown: () => scroll(1),
    PageUp: () => scroll(-ROWS),
    PageDown: () => scroll(ROWS),
    "+": () => zoom(0.5),
    "=": () => zoom(0.5),
    "-": () => zoom(2),
    0: () => look(0, all.until_s),
    Home: () => look(0, all.until_s),
    n: () => find((view.coflow + 1) % data.id.length),
    p: () => find((Math.max(view.coflow, 0) + data.id.length - 1) % data.id.length),
    Enter: () => {
      const coflow = view.coflow < 0 ? panel.mostInView() : view.coflow;
      if (coflow < 0) return;
      choose(coflow);
      why.focus();
    },
    Escape: () => choose(-1),
  });

  const second = (at) => (at === 0 ? "0" : digits(at));

  // Draws in the next frame, and then keeps what is in view in the page's address.
  let waiting = false;
  let keeping;
  function later() {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      panels.forEach((panel) => panel.draw());
      tell();
      clearTimeout(keeping);
      keeping = setTimeout(() => {
        const isWhole = view.until - view.from >= all.until_s;
        keep("from", isWhole ? "" : `${Number(view.from.toPrecision(9))}`);
        keep("until", isWhole ? "" : `${Number(view.until.toPrecision(9))}`);
      }, 300);
    });
  }

  function tell() {
    const last = Math.min(view.first + ROWS, order.length);
    const ports = `ports ${Math.min(view.first + 1, last)} to ${last} of ${order.length}`;
    where.textContent = `${second(view.from)} s to ${second(view.until)} s; ${ports}`;
  }

  // A coflow that is chosen, and one that is found.

  function choose(coflow) {
    view.coflow = coflow;
    keep("coflow", coflow < 0 ? "" : data.id[coflow]);
    if (coflow >= 0) field.value = data.id[coflow];
    arrange();
    explain();
    later();
  }

  function find(coflow) {
    choose(coflow);
    const { rows, from, until } = extent(coflow);
    if (rows.length === 0) return;
    const margin = Math.max(until - from, shortest) / 10;
    const first = order.findIndex((row) => rows.includes(row));
    scroll(first - view.first);
    look(from - margin, until + margin);
  }

  function search(isFinal) {
    const wanted = field.value.trim();
    const lower = wanted.toLowerCase();
    const exact = data.id.indexOf(wanted);
    const isLike = (k) => data.id[k].toLowerCase().includes(lower);
    const like = exact >= 0 ? [exact] : [...data.id.keys()].filter(isLike);
    found.textContent = "";
    if (wanted === "") {
      if (isFinal) choose(-1);
    } else if (exact >= 0 || (isFinal && like.length === 1)) find(like[0]);
    else found.textContent = like.length === 0 ? "no such coflow" : `${count(like.length)} coflows have this in their names`;
  }

  // Why a coflow took as long as it did.

  function explain() {
    why.hidden = view.coflow < 0;
    if (view.coflow < 0) return why.replaceChildren();
    const title = make("h3", {}, `Coflow ${data.id[view.coflow]}`);
    const of = all.explained.indexOf(view.coflow);
    const both = [...new Set(shown)].filter((run) => run >= 0);
    const told = (run) => (of < 0 ? unexplained(run) : explanation(all.explanations[of][run], run));
    why.replaceChildren(title, ...both.flatMap(told));
  }

  function unexplained(run) {
    const [id, label] = [data.id[view.coflow], data.labels[run]];
    const took = `${id} took ${digits(data.cct_s[run][view.coflow])} s under ${label}. `;
    const command = make("code", {}, `covey explain … --policy ${label} --coflow ${id}`);
    return [make("p", {}, took, "Why is not in this page: ", command, " says it.")];
  }

  function explanation(told, run) {
    const bar = make("div", { class: "parts", "aria-hidden": "true" });
    for (const [, percent, kind] of told.rows) {
      const part = make("span", { class: `c${all.kinds.indexOf(kind)}`, title: `${kind}: ${percent} %` });
      part.style.flexBasis = `${percent}%`;
      bar.append(part);
    }
    const named = all.kinds.filter((kind) => told.rows.some((row) => row[2] === kind));
    const legend = make("ul", { class: "legend" }, ...named.map((kind) => {
      const sample = make("span", { class: `sample c${all.kinds.indexOf(kind)}` });
      return make("li", {}, make("span", { class: "key" }, sample, kind));
    }));
    const used = all.headings.map((_, column) => told.rows.some((row) => row[column] !== ""));
    const columns = [...all.headings.keys()].filter((column) => used[column]);
    const words = new Set(["part", "coflow", "port", "why"]);
    const kept = (column) => (words.has(all.headings[column]) ? { class: "words" } : {});
    const cell = (row, column) => {
      const [text, attributes] = [row[column], kept(column)];
      const other = all.headings[column] === "coflow" ? data.id.indexOf(text) : -1;
      if (other < 0 || other === view.coflow) return make("td", attributes, text);
      const button = make("button", { type: "button" }, text);
      button.addEventListener("click", () => find(other));
      return make("td", attributes, button);
    };
    const head = columns.map((column) => make("th", { scope: "col", ...kept(column) }, all.headings[column]));
    const line = (row) => make("tr", {}, ...columns.map((column) => cell(row, column)));
    const body = make("tbody", {}, ...told.rows.map(line));
    const table = make("table", {}, make("thead", {}, make("tr", {}, ...head)), body);
    const label = `Parts of the time under ${data.labels[run]}`;
    const scroll = make("div", { class: "scroll", role: "region", tabindex: "0", "aria-label": label }, table);
    const others = told.others ? [make("p", { class: "note" }, `${told.others}.`)] : [];
    return [make("p", {}, told.text), bar, legend, scroll, ...others];
  }

  // The page.

  const panels = [new Panel(0), new Panel(1)];
  const reading = make("output", { class: "reading", "aria-live": "off" });
  const where = make("output", { class: "where", "aria-live": "off" });
  const found = make("output");
  const why = make("div", { class: "why", tabindex: "-1", role: "region", "aria-label": "Explanation", "aria-live": "polite" });
  const field = make("input", { type: "search", id: "timelines-find", list: "timelines-names", autocomplete: "off" });
  const offered = data.id.slice(0, OFFERED).map((value) => make("option", { value }));
  const names = make("datalist", { id: "timelines-names" }, ...offered);
  field.addEventListener("input", () => search(false));
  field.addEventListener("change", () => search(true));

  const choice = (id, text, options, selected, act) => {
    const select = make("select", { id }, ...options.map((option) => make("option", {}, option)));
    select.selectedIndex = selected;
    select.addEventListener("change", () => act(select));
    return [make("label", { for: id }, text), select];
  };
  function policy(which, id, text, more) {
    const none = data.labels.length;
    const selected = shown[which] < 0 ? none : shown[which];
    return choice(id, text, [...data.labels, ...more], selected, (select) => {
      shown[which] = select.selectedIndex < none ? select.selectedIndex : -1;
      keep(id, select.value);
      arrange();
      explain();
      later();
    });
  }
  function arrange() {
    const chosenOrder = ports[1].value;
    const first = order[view.first];
    order = orders[chosenOrder]();
    const again = order.indexOf(first);
    view.first = 0;
    scroll(Math.max(again, 0));
  }
  const orderNames = Object.keys(orders);
  const orderAsked = Math.max(orderNames.indexOf(get("ports")), 0);
  const ports = choice("ports", "ports", orderNames, orderAsked, (select) => {
    keep("ports", select.selectedIndex === 0 ? "" : select.value);
    view.first = 0;
    order = [];
    arrange();
  });
  const button = (text, label, act) => {
    const made = make("button", { type: "button", "aria-label": label, title: label }, text);
    made.addEventListener("click", act);
    return made;
  };
  const step = () => (view.until - view.from) / 4;
  const moves = make("span", { class: "moves" },
    button("+", "zoom in", () => zoom(0.5)),
    button("−", "zoom out", () => zoom(2)),
    button("all", "all of the time", () => look(0, all.until_s)),
    button("←", "earlier", () => pan(-step())),
    button("→", "later", () => pan(step())),
    button("↑", "ports above", () => scroll(-ROWS)),
    button("↓", "ports below", () => scroll(ROWS)));
  const tools = (...children) => make("p", { class: "tools" }, ...children);
  const help = make("p", { class: "note", id: "timelines-keys" },
    "A row is a link out of a host (up) or into it (down), and a coflow is as high as its share of the link. Drag to ",
    "move; the wheel zooms after a click. Keys: arrows move, + and − zoom, 0 shows all, n and p take the next and the ",
    "previous coflow, Enter explains the one that is chosen, Escape leaves it.");
  section.querySelector("h2").after(
    tools(...policy(0, "upper", "above", []), ...policy(1, "lower", "below", ["none"]), ...ports),
    tools(make("label", { for: "timelines-find" }, "Find a coflow: "), field, names, moves, found),
    where, panels[0].box, panels[1].box, reading, why, help);
  section.hidden = false;
  panels.forEach((panel) => panel.listen());
  paint();
  dark.addEventListener("change", () => {
    paint();
    later();
  });
  new ResizeObserver(later).observe(panels[0].box);
  arrange();
  const asked = data.id.indexOf(get("coflow"));
  if (asked >= 0 && get("from") !== undefined) choose(asked);
  else if (asked >= 0) find(asked);
  else explain();
  later();
})();
