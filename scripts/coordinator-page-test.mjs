// Tries the coordinator's page in a headless browser: coordinator-page-test.mjs COVEY, with puppeteer-core and axe-core
// in NODE_PATH. COVEY serves it, without agents. PICTURES names a folder for pictures.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const require = createRequire(join(process.env.NODE_PATH, "x.js"));
const puppeteer = require("puppeteer-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

const work = mkdtempSync(join(tmpdir(), "coordinator-"));
// Hosts are awaited all the time, and flows that nobody sends keep their rates.
const options = ["--policy", "sebf", "--ports", "4", "--port-rate", "1mbps", "--lost-after", "1h", "--idle-after", "1h"];
const addresses = ["--clients", "127.0.0.1:0", "--agents", "127.0.0.1:0", "--log", "info"];
const coordinator = spawn(resolve(process.argv[2]), ["serve", "--data", "data", ...options, ...addresses], {
  cwd: work,
  stdio: ["ignore", "pipe", "pipe"],
});
let said = "";
for (const stream of [coordinator.stdout, coordinator.stderr]) stream.on("data", (text) => { said += text; });
const address = async () => {
  for (let tries = 0; tries < 200; tries += 1) {
    const found = said.match(/clients[^0-9]*(127\.0\.0\.1:\d+)/);
    if (found) return `http://${found[1]}`;
    await sleep(50);
  }
  throw new Error(`the coordinator does not say where it is: ${said}`);
};

let browser;
try {
  const at = await address();
  const token = readFileSync(join(work, "data", "token"), "utf8").trim();
  const headers = { authorization: `Bearer ${token}` };
  const register = (name, bytes) => fetch(`${at}/v1/coflows`, {
    method: "POST",
    headers,
    body: JSON.stringify({ name, flows: [{ src: 0, dst: 1, bytes }] }),
  });
  for (const [name, bytes] of [["small", 1e6], ["<b id=bad>large", 1e9], ["later", 2e9]]) {
    assert.equal((await register(name, bytes)).status, 201);
  }
  await sleep(2500);
  browser = await puppeteer.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-gpu"],
  });
  const page = await browser.newPage();
  const [elsewhere, faults] = [[], []];
  page.on("request", (it) => it.url().startsWith(at) || elsewhere.push(it.url()));
  page.on("pageerror", (error) => faults.push(String(error)));
  await page.setBypassCSP(true);
  for (const [width, scheme] of [[1400, "light"], [390, "dark"]]) {
    await page.setViewport({ width, height: 1200 });
    await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
    await page.goto("about:blank");
    await page.goto(`${at}/#token=${token}`);
    await page.waitForSelector("#rows tr");
    const rows = await page.$$eval("#rows button", (all) => all.map((it) => it.textContent));
    assert.deepEqual(rows, ["later", "<b id=bad>large", "small"], "the latest first, and names are texts");
    await page.focus("#rows tr:nth-child(2) button");
    await page.keyboard.press("Enter");
    const why = await page.$eval("#explained", (it) => it.textContent);
    assert.match(why, /<b id=bad>large: present for .* behind small at port 0 out/);
    assert.ok(await page.$eval("#rows tr:nth-child(2) rect", (it) => it.classList.contains("behind")));
    assert.ok(await page.$eval("#rows tr:nth-child(3) rect", (it) => it.classList.contains("sending")));
    await page.type("#find", "small");
    assert.equal((await page.$$("#rows tr")).length, 1);
    await page.$eval("#find", (it) => { it.value = ""; it.dispatchEvent(new Event("input")); });
    // What is shown again keeps what was chosen.
    await sleep(2500);
    assert.ok(await page.$eval("#rows tr:nth-child(2) button", (it) => it.getAttribute("aria-pressed") === "true"));
    const over = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
    assert.ok(over <= 0, `${over} px too wide at ${width} px`);
    await page.evaluate(axe);
    const { violations } = await page.evaluate(() => window.axe.run());
    const serious = violations.filter((it) => ["serious", "critical"].includes(it.impact));
    assert.deepEqual(serious.map((it) => `${it.id}: ${it.nodes[0].html}`), []);
    if (process.env.PICTURES) {
      await page.screenshot({ path: join(process.env.PICTURES, `coordinator-${width}-${scheme}.png`), fullPage: true });
    }
  }
  assert.deepEqual([elsewhere, faults], [[], []]);
  console.log("the coordinator's page draws and explains what coflows did, at 1400 and 390 px");
} finally {
  await browser?.close();
  coordinator.kill();
}
