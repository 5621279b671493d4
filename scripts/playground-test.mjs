// Tries the playground in a headless browser: playground-test.mjs FOLDER COVEY [TRACE], with puppeteer-core and axe-core
// in NODE_PATH. COVEY is the program for this machine, whose results the page's must equal. TRACE is what both compare.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createReadStream, existsSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { extname, join, resolve } from "node:path";

const require = createRequire(join(process.env.NODE_PATH, "x.js"));
const puppeteer = require("puppeteer-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

const [folder, program, trace = "builtin:fb-like"] = process.argv.slice(2);
const covey = resolve(program);
const work = mkdtempSync(join(tmpdir(), "playground-"));
const types = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css" };
const server = createServer((request, response) => {
  const path = join(folder, request.url === "/" ? "index.html" : request.url.split("?")[0]);
  if (!existsSync(path)) return response.writeHead(404).end();
  response.writeHead(200, { "content-type": types[extname(path)] ?? "application/octet-stream" });
  createReadStream(path).pipe(response);
});
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
const address = `http://127.0.0.1:${server.address().port}/`;

/** What a command printed, without the time that it took. */
const timeless = (text) => text.trim().replace(/"wall_s": [^,]*/g, "").replace(/ +(wall|s|\d+\.\d\d)$/gm, "");
const native = (...command) => execFileSync(covey, command, { cwd: work, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
const browser = await puppeteer.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu"],
});
try {
  const page = await browser.newPage();
  const elsewhere = [];
  const faults = [];
  page.on("request", (it) => it.url().startsWith(address) || /^(data|blob):/.test(it.url()) || elsewhere.push(it.url()));
  page.on("pageerror", (error) => faults.push(String(error)));
  await page.setViewport({ width: 1400, height: 900 });
  await page.goto(address);
  await page.waitForSelector("body[data-ready]", { timeout: 60_000 });

  /** Runs a command in the page. Gives its status line, what it printed, and the seconds that it took. */
  const run = async (command) => {
    await page.$eval("#line", (input, value) => (input.value = value), command);
    return submit("#command");
  };
  const submit = async (form) => {
    const since = performance.now();
    await page.$eval(form, (it) => it.requestSubmit());
    await page.waitForFunction(() => /: (status \d+|[\d.]+ s)$/.test(document.getElementById("status").textContent), {
      timeout: 120_000,
    });
    const seconds = (performance.now() - since) / 1e3;
    return { seconds, ...(await page.evaluate(() => ({
      status: document.getElementById("status").textContent,
      output: document.getElementById("output").textContent,
      isPage: !document.getElementById("page").hidden,
    }))) };
  };

  // The form compares seven policies, and shows the page.
  await page.$eval('input[name=trace][value^="builtin"]', (it, value) => (it.value = value), trace);
  const compared = await submit("#compare");
  assert.match(compared.status, / s$/, compared.output);
  assert.ok(compared.isPage);
  const frame = await (await page.$("#page")).contentFrame();
  await frame.waitForSelector("#results");
  const policies = "covey,fair,fifo,aalo,philae,sebf,sincronia";
  assert.equal(timeless(compared.output), timeless(native("compare", trace, "--policies", policies)));
  console.log(`seven policies on ${trace}: ${compared.seconds.toFixed(1)} s, the table of the program`);

  // Every number of a comparison, and an explanation, are those of the program.
  for (const command of [`compare ${trace} --policies fair,sebf --json`, `explain ${trace} --policy aalo --slowest 2`]) {
    const { output, status } = await run(command);
    assert.match(status, / s$/, output);
    assert.equal(timeless(output), timeless(native(...command.split(" "))), command);
  }

  // A formula: what is wrong with it is said at once, and the policy is the program's.
  const verdict = async (formula, pattern) => {
    await page.$eval("#formula", (it, value) => {
      it.value = value;
      it.dispatchEvent(new Event("input"));
    }, formula);
    const matches = (source) => new RegExp(source).test(document.getElementById("verdict").textContent);
    await page.waitForFunction(matches, { timeout: 20_000 }, pattern);
  };
  await verdict("wdth*sent", "^policy order: .* at column 1 .* did you mean 'width'");
  await verdict("2*", "at column 3 ");
  await page.evaluate(() => [...document.querySelectorAll(".example")].at(-1).click());
  await page.waitForFunction(() => document.getElementById("verdict").className === "", { timeout: 20_000 });
  assert.match(await page.$eval("#names", (it) => it.textContent), /bottleneck/);
  await verdict("longest", "can be compared");
  await page.evaluate(() => document.querySelectorAll("#policies input").forEach((it) => (it.checked = false)));
  await page.$eval("#others", (it) => (it.value = "scf"));
  const own = await submit("#compare");
  assert.equal(timeless(own.output), timeless(native("compare", trace, "--policies", "scf,order:by=longest")));
  assert.ok(!(await (await page.$("#page")).contentFrame().then((it) => it.$("#timelines"))));
  const explained = await submit("#explain");
  assert.equal(timeless(explained.output), timeless(native("explain", trace, "--policy", "covey", "--slowest", "3")));

  // A file of one's own; one that is broken; one that is not there; a command that needs a machine.
  const flows = "src,dst,bytes,start,end\n0,1,1000000,0,1\n0,2,4000000,0,1\n1,2,2000000,0.5,2\n";
  writeFileSync(join(work, "flows.csv"), flows);
  writeFileSync(join(work, "tiny.txt"), "3 2\n1 0 1 0 1 1:10\n2 500 2 0 2 1 1:4\n");
  writeFileSync(join(work, "broken.txt"), "3 1\n1 0 1 zero 1 1:10\n");
  const input = await page.$("#file");
  for (const name of ["tiny.txt", "broken.txt"]) {
    await input.uploadFile(join(work, name));
    await page.waitForFunction((name) => document.getElementById("line").value.includes(name), {}, name);
    const { status, output } = await submit("#compare");
    const isGood = name === "tiny.txt";
    assert.match(status, isGood ? / s$/ : /status 2$/, output);
    assert.match(output, isGood ? /order:by=longest/ : /broken\.txt/);
  }

  // Who sends when, under the two policies.
  await input.uploadFile(join(work, "tiny.txt"));
  await page.waitForFunction(() => document.getElementById("line").value.includes("tiny.txt"));
  await page.click("#timelines");
  const drawn = await submit("#compare");
  assert.match(drawn.status, / s$/, drawn.output);
  const timelines = await (await page.$("#page")).contentFrame();
  await timelines.waitForSelector("#timelines canvas", { visible: true });
  await page.click("#timelines");
  assert.match((await run("compare absent.txt")).output, /absent\.txt/);
  assert.match((await run("serve --ports 2")).status, /status 2$/);

  // A long run can be stopped, and the next one starts.
  await page.$eval("#line", (it) => (it.value = "compare builtin:fb-like:coflows=5000 --policies fair,fvdf"));
  await page.$eval("#command", (it) => it.requestSubmit());
  await page.waitForSelector("#stop:not([disabled])");
  await page.click("#stop");
  await page.waitForFunction(() => document.getElementById("output").textContent === "stopped");
  assert.match((await run("policies fair")).output, /max-min/);

  // For everybody: on a telephone, too, and by assistive techniques.
  await run(`compare ${trace} --policies fair,sebf --report report.html`);
  for (const width of [1400, 390]) {
    await page.setViewport({ width, height: 900 });
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(wide <= width, `${wide} > ${width}`);
    if (process.env.PICTURES) await page.screenshot({ path: join(process.env.PICTURES, `playground-${width}.png`) });
  }
  for (const context of [page.mainFrame(), await (await page.$("#page")).contentFrame()]) {
    await context.evaluate(axe);
    const { violations } = await context.evaluate(() => globalThis.axe.run());
    const bad = violations.filter(({ impact }) => ["serious", "critical"].includes(impact));
    assert.deepEqual(bad.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)]), []);
  }
  assert.deepEqual([elsewhere, faults], [[], []]);
  console.log("explanations, timelines, files, mistakes, a stop, 390 px, axe: as they should be; nothing was fetched from elsewhere");
} finally {
  await browser.close();
  server.close();
}
