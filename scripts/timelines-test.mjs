// Tries the timelines of a comparison's page in a headless browser: timelines-test.mjs COVEY [PAGE.html], with
// puppeteer-core and axe-core in NODE_PATH. COVEY writes the pages: of a small comparison, and of seven policies on
// TRACE (builtin:fb-like), unless PAGE.html has that one. PICTURES names a folder for pictures of the small page.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

const require = createRequire(join(process.env.NODE_PATH, "x.js"));
const puppeteer = require("puppeteer-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

const MOST_BYTES = 4e6;
const MOST_MS = 50;
const FRAMES = 120;

const [covey, given] = process.argv.slice(2);
const program = resolve(covey);
const work = mkdtempSync(join(tmpdir(), "timelines-"));
const settings = { cwd: work, encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] };
const run = (...command) => execFileSync(program, command, settings);

writeFileSync(join(work, "queue.jsonl"), [
  '{"covey_trace":1,"ports":2,"hosts":["store","worker"]}',
  '{"id":"backup","arrival_s":0,"flows":[{"src":0,"dst":1,"bytes":1250e6}]}',
  '{"id":"report-7","arrival_s":1,"flows":[{"src":0,"dst":1,"bytes":375e6}]}',
  '{"id":"back","arrival_s":2,"flows":[{"src":1,"dst":0,"bytes":250e6}]}',
].join("\n") + "\n");
run("compare", "queue.jsonl", "--policies", "sebf,fair", "--report", "small.html", "--timelines");
writeFileSync(join(work, "several.toml"), [
  'traces = ["queue.jsonl", "builtin:fb-like:coflows=60"]',
  'policies = "fair,aalo,sebf"',
  'report = "several.html"',
].join("\n") + "\n");
run("study", "several.toml");
const twice = ["a.html", "b.html"].map((name) => {
  const compare = ["compare", "builtin:fb-like:coflows=60", "--policies", "fair,aalo", "--report", name];
  run(...compare, "--timelines", "--coflow", "7");
  return readFileSync(join(work, name), "utf8").match(/id="data">.*/)[0];
});
assert.equal(twice[0], twice[1], "the same input gives the same bytes");
const large = given ? resolve(given) : join(work, "large.html");
const trace = process.env.TRACE ?? "builtin:fb-like";
if (!given) run("compare", trace, "--report", "large.html", "--timelines");
const { size } = statSync(large);
assert.ok(size <= MOST_BYTES, `${size} bytes`);
console.log(`seven policies on ${trace}: a page of ${(size / 1e6).toFixed(2)} MB`);

const browser = await puppeteer.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu", "--allow-file-access-from-files"],
});
try {
  const page = await browser.newPage();
  const [elsewhere, faults] = [[], []];
  page.on("request", (it) => /^(file|data|blob):/.test(it.url()) || elsewhere.push(it.url()));
  page.on("pageerror", (error) => faults.push(String(error)));
  const open = async (file, width, fragment = "") => {
    await page.setViewport({ width, height: 900 });
    await page.goto("about:blank");
    await page.goto(`file://${file}${fragment}`);
    await page.waitForSelector("#timelines canvas");
    await frame();
  };
  const twoFrames = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  const frame = () => page.evaluate(twoFrames);
  const text = (selector) => page.$eval(selector, (it) => it.textContent);
  const inView = async () => (await text(".where")).match(/^([\d.]+) s to ([\d.]+) s/).slice(1).map(Number);
  const small = join(work, "small.html");
  // What axe finds that is serious.
  const serious = async () => {
    await page.evaluate(axe);
    const { violations } = await page.evaluate(() => globalThis.axe.run());
    const bad = violations.filter(({ impact }) => ["serious", "critical"].includes(impact));
    return bad.map(({ id, nodes }) => [id, nodes.map(({ html }) => html.slice(0, 200))]);
  };

  // A coflow is found by its name: the view goes to it, and it is explained as `covey explain` does.
  await open(small, 1400);
  assert.deepEqual(await inView(), [0, 13]);
  assert.ok(await page.$eval(".why", (it) => it.hidden));
  await page.type("#timelines-find", "report-7");
  await page.keyboard.press("Enter");
  await frame();
  const [from, until] = await inView();
  assert.ok(from > 0 && from < 1 && until > 4 && until < 13, `${from} to ${until}`);
  const why = await text(".why");
  for (const policy of ["sebf", "fair"]) {
    const told = run("explain", "queue.jsonl", "--policy", policy, "--coflow", "report-7").split("\n");
    assert.ok(why.includes(told[0]), `${told[0]} in ${why}`);
    for (const word of told[2].trim().split(/ {2,}/)) assert.ok(why.includes(word), `${word} in ${why}`);
  }

  // By buttons, the wheel, a drag and keys.
  const canvas = await page.$(".timeline canvas");
  const press = async (label) => {
    await page.click(`#timelines button[aria-label="${label}"]`);
    await frame();
    return inView();
  };
  assert.deepEqual(await press("all of the time"), [0, 13]);
  const [near, far] = await press("zoom in");
  assert.ok(Math.abs(far - near - 6.5) < 0.01, `${near} to ${far}`);
  assert.ok((await press("later"))[0] > near);
  assert.deepEqual(await press("all of the time"), [0, 13]);
  await press("zoom in");
  const box = await canvas.boundingBox();
  const [x, y] = [box.x + box.width / 2, box.y + 30];
  await page.mouse.move(x, y);
  await page.mouse.down();
  await page.mouse.move(x - 200, y, { steps: 4 });
  await page.mouse.up();
  await frame();
  assert.ok((await inView())[0] > near, "a drag moves");
  await canvas.focus();
  const before = await inView();
  await page.mouse.wheel({ deltaY: -300 });
  await frame();
  const wheeled = await inView();
  assert.ok(wheeled[1] - wheeled[0] < before[1] - before[0], "the wheel zooms");
  await page.keyboard.press("ArrowLeft");
  await frame();
  assert.ok((await inView())[0] < wheeled[0], "an arrow moves");
  await page.keyboard.press("0");
  await frame();
  assert.deepEqual(await inView(), [0, 13]);

  // A click on a coflow explains it; so do keys. The reading says who sends where the pointer is.
  const now = await canvas.boundingBox();
  const end = [now.x + now.width - 20, now.y + 30];
  await page.mouse.move(...end);
  await frame();
  assert.match(await text("#timelines .reading"), /^sebf, store up at 12\.\d+ s: backup 100 %$/);
  await page.mouse.click(...end);
  await frame();
  assert.match(await text(".why"), /^Coflow backup.*backup took 13\.00 s under sebf/);
  await page.keyboard.press("Escape");
  assert.ok(await page.$eval(".why", (it) => it.hidden));
  await page.keyboard.press("Enter");
  assert.match(await text(".why"), /^Coflow backup/);
  await canvas.focus();
  await page.keyboard.press("n");
  assert.match(await text(".why"), /^Coflow report-7/);
  // Another coflow in the table leads to its own explanation.
  await page.click(".why td button");
  assert.match(await text(".why"), /^Coflow backup/);

  // Two policies above each other, or one; the address says what is shown.
  await page.select("#lower", "none");
  assert.ok(await page.$eval(".timeline:nth-of-type(2)", (it) => it.hidden));
  await page.select("#upper", "fair");
  assert.match(await text(".why"), /backup took 13\.00 s under fair/);
  const address = page.url();
  assert.match(address, /upper=fair.*lower=none|lower=none.*upper=fair/);
  await open(small, 1400, new URL(address).hash);
  assert.match(await text(".why"), /^Coflow backup/);
  assert.equal(await page.$eval("#upper", (it) => it.value), "fair");

  // For everybody: on a telephone, too, in the dark, and by assistive techniques.
  for (const [file, fragment] of [[small, "#coflow=report-7"], [large, ""]]) {
    for (const scheme of ["light", "dark"]) {
      await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
      for (const width of [1400, 390]) {
        await open(file, width, fragment);
        if (file === large) {
          const id = await page.$eval("#data", (it) => {
            const [data] = JSON.parse(it.textContent);
            return data.id[data.timelines.explained[0]];
          });
          await page.type("#timelines-find", id);
          await page.keyboard.press("Enter");
          await frame();
        }
        const wide = await page.evaluate(() => document.documentElement.scrollWidth);
        assert.ok(wide <= width, `${wide} > ${width}`);
        if (process.env.PICTURES) {
          const name = `${file === large ? "large" : "small"}-${width}-${scheme}.png`;
          await (await page.$("#timelines")).screenshot({ path: join(process.env.PICTURES, name) });
        }
      }
      assert.deepEqual(await serious(), []);
    }
  }

  // A page of two traces, each of which answers for itself.
  const several = join(work, "several.html");
  for (const width of [1400, 390]) {
    await page.setViewport({ width, height: 900 });
    await page.goto("about:blank");
    await page.goto(`file://${several}`);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(wide <= width, `${wide} > ${width}`);
    if (process.env.PICTURES) await page.screenshot({ path: join(process.env.PICTURES, `several-${width}.png`), fullPage: true });
    assert.deepEqual(await serious(), []);
  }
  await page.select("#trace-2-baseline", "sebf");
  assert.match(page.url(), /trace-2-baseline=sebf/);
  assert.deepEqual(await page.$$eval("select", (all) => all.map((it) => it.value)), ["fair", "sebf"]);

  // Frames while the page of seven policies is dragged, whole and close.
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: "light" }]);
  for (const zooms of [1, 5]) {
    await open(large, 1400);
    for (let k = 0; k < zooms; k += 1) await press("zoom in");
    const took = await page.evaluate(async (frames) => {
      const canvas = document.querySelector(".timeline canvas");
      const box = canvas.getBoundingClientRect();
      const send = (type, clientX) => {
        const at = { clientX, clientY: box.y + 60, pointerId: 1, pointerType: "mouse" };
        canvas.dispatchEvent(new PointerEvent(type, at));
      };
      canvas.setPointerCapture = () => {};
      const middle = box.x + box.width / 2;
      send("pointerdown", middle);
      const took = [];
      let last = performance.now();
      for (let k = 1; k <= frames; k += 1) {
        send("pointermove", middle + 300 * Math.sin(k / 10));
        await new Promise(requestAnimationFrame);
        const now = performance.now();
        took.push(now - last);
        last = now;
      }
      send("pointerup", middle);
      return took.sort((a, b) => a - b);
    }, FRAMES);
    const median = took[FRAMES / 2];
    const most = took[Math.floor(0.95 * FRAMES)];
    console.log(`panning at zoom ${2 ** zooms}: median frame ${median.toFixed(1)} ms, 95 % within ${most.toFixed(1)} ms`);
    assert.ok(median <= MOST_MS, `${median} ms`);
  }
  assert.deepEqual([elsewhere, faults], [[], []]);
  console.log("find, zoom, move, explain, address, 390 px, axe: as they should be; nothing was fetched from elsewhere");
} finally {
  await browser.close();
}
