// The page: forms become commands of `covey`, which a worker runs.

const at = (id) => document.getElementById(id);

/** The policies with a box of their own, and whether they are compared at first. */
const SHOWN = { covey: true, fair: true, fifo: true, aalo: true, philae: true, sebf: true, sincronia: true };

/** The files that commands can read, by name. */
const files = new Map();
/** The compiled program, for all workers. */
const program = load();
/** Ends the command that runs, if any. */
let end = null;
let worker = makeWorker();
/** Reads formulas while the other worker runs a command. */
const checker = makeWorker();

async function load() {
  const answer = await fetch("covey.wasm.gz");
  if (!answer.ok) throw new Error(`covey.wasm.gz: ${answer.status}`);
  let bytes = new Uint8Array(await answer.arrayBuffer());
  // Some servers have decompressed it.
  if (bytes[0] === 0x1f) {
    const plain = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    bytes = await new Response(plain).arrayBuffer();
  }
  return WebAssembly.compile(bytes);
}

function makeWorker() {
  return new Worker("worker.js", { type: "module" });
}

const failed = (stderr) => ({ status: 1, stdout: "", stderr, files: [] });

/** Has a worker run a command on files; calls `done` with {status, stdout, stderr, files}. */
function ask(worker, command, files, done, progress = () => {}) {
  worker.onmessage = ({ data }) => (data.of ? progress(data) : done(data));
  worker.onerror = (event) => done(failed(event.message ?? "the program did not load"));
  program.then(
    (program) => worker.postMessage({ program, command, files: [...files] }),
    (error) => done(failed(String(error))),
  );
}

/** Runs a command; resolves to {status, stdout, stderr, files}. */
function run(command) {
  const setRunning = (isRunning) => {
    at("progress").hidden = !isRunning;
    at("progress").removeAttribute("value");
    at("stop").disabled = !isRunning;
    document.querySelectorAll("form button:not(#stop, .example)").forEach((it) => (it.disabled = isRunning));
  };
  return new Promise((resolve) => {
    end = (result) => {
      setRunning(false);
      end = null;
      resolve(result);
    };
    setRunning(true);
    ask(worker, command, files, (result) => end?.(result), ({ done, of }) => {
      at("progress").max = of;
      at("progress").value = done;
    });
  });
}

/** The words of a command line; those with blanks stand in quotes. */
function words(line) {
  const found = line.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g);
  return [...found].map(([, double, single, plain]) => double ?? single ?? plain);
}

const quoted = (word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word}'`);

/** Runs a command and shows what it printed and wrote. A page that it wrote is shown, too. */
async function show(command) {
  const before = new Set(files.keys());
  const since = performance.now();
  at("status").className = "";
  at("status").textContent = `covey ${command.map(quoted).join(" ")}`;
  at("output").hidden = at("page").hidden = true;
  at("files").replaceChildren();
  const result = await run(command);
  const seconds = ((performance.now() - since) / 1e3).toFixed(1);
  at("status").className = result.status ? "wrong" : "";
  at("status").textContent += result.status ? `: status ${result.status}` : `: ${seconds} s`;
  at("output").textContent = [result.stderr, result.stdout].filter(Boolean).join("\n");
  at("output").hidden = !at("output").textContent;
  for (const [name, bytes] of result.files) {
    if (before.has(name)) continue;
    const url = URL.createObjectURL(new Blob([bytes], { type: name.endsWith(".html") ? "text/html" : "" }));
    if (name.endsWith(".html")) {
      at("page").src = url;
      at("page").hidden = false;
    }
    const link = Object.assign(document.createElement("a"), { href: url, download: name, textContent: name });
    at("files").append(at("files").hasChildNodes() ? ", " : "Written: ", link);
  }
  return result;
}

function own() {
  return [...files.keys()];
}

/** Runs a command on the trace that is chosen, and shows what it gives. */
function showOnTrace(name, options) {
  const trace = document.querySelector("input[name=trace]:checked").value;
  const isOwn = trace === "file";
  if (isOwn && files.size === 0) {
    at("status").className = "wrong";
    at("status").textContent = "Choose a file first.";
    return;
  }
  const rate = at("rate").value.trim();
  show([name, ...(isOwn ? own() : [trace]), ...options, ...(rate ? ["--port-rate", rate] : [])]);
}

/** The policies that are chosen: boxes, others, and that of the formula. */
function chosen() {
  const boxes = document.querySelectorAll("#policies input:checked");
  const others = at("others").value.split(/,(?=\s*[a-z][\w-]*(?:[:,\s]|$))/).map((it) => it.trim());
  const mine = at("mine").checked ? [`order:by=${at("formula").value}`] : [];
  return [...[...boxes].map((it) => it.value), ...others.filter(Boolean), ...mine];
}

function compare(event) {
  event.preventDefault();
  const policies = chosen();
  const list = policies.length ? ["--policies", policies.join(",")] : [];
  const timelines = at("timelines").checked ? ["--timelines"] : [];
  showOnTrace("compare", [...list, "--report", "report.html", ...timelines]);
}

function explain(event) {
  event.preventDefault();
  const coflow = at("coflow").value.trim();
  const which = coflow ? ["--coflow", coflow] : ["--slowest", "3"];
  showOnTrace("explain", ["--policy", at("explained").value.trim() || "covey", ...which]);
}

/** A trace of one coflow, on which the program reads a formula in no time. */
const TINY = new TextEncoder().encode("1 1\n1 0 1 0 1 0:1\n");

/** Says what is wrong with the formula, if anything is. */
function check() {
  const policy = `order:by=${at("formula").value}`;
  ask(checker, ["compare", "tiny.txt", "--policies", policy], [["tiny.txt", TINY]], ({ status, stderr }) => {
    if (policy !== `order:by=${at("formula").value}`) return;
    at("verdict").className = status ? "wrong" : "";
    at("verdict").textContent = status ? stderr.replace(/^covey: (--policies: )?/, "") : "It can be compared.";
  });
}

async function take(list) {
  files.clear();
  for (const file of list) files.set(file.name, new Uint8Array(await file.arrayBuffer()));
  at("own").checked = files.size > 0;
  at("line").value = files.size ? `compare ${own().map(quoted).join(" ")}` : at("line").value;
}

/** The boxes: the policies that `compare` takes by itself first, and what each of all is about. */
async function begin() {
  const result = await run(["policies", "--json"]);
  const known = result.status ? [] : JSON.parse(result.stdout);
  for (const name of Object.keys(SHOWN)) {
    const about = known.find((it) => it.name === name)?.summary ?? "";
    const label = document.createElement("label");
    const box = Object.assign(document.createElement("input"), { type: "checkbox", value: name, checked: SHOWN[name] });
    label.title = about;
    label.append(box, ` ${name}`);
    at("policies").append(label);
  }
  if (result.status) {
    at("status").className = "wrong";
    at("status").textContent = result.stderr;
  }
  const names = known.find((it) => it.name === "order")?.params.find((it) => it.name === "by");
  at("names").textContent = names?.help ?? "";
  document.body.dataset.ready = "yes";
  check();
}

at("compare").addEventListener("submit", compare);
at("command").addEventListener("submit", (event) => {
  event.preventDefault();
  show(words(at("line").value));
});
at("explain").addEventListener("submit", explain);
at("formula").addEventListener("input", check);
document.querySelectorAll(".example").forEach((button) =>
  button.addEventListener("click", () => {
    at("formula").value = button.textContent;
    at("mine").checked = true;
    check();
  }),
);
at("stop").addEventListener("click", () => {
  worker.terminate();
  worker = makeWorker();
  end?.(failed("stopped"));
});
at("file").addEventListener("change", () => take(at("file").files));
document.addEventListener("dragover", (event) => {
  event.preventDefault();
  document.body.classList.add("over");
});
document.addEventListener("dragleave", () => document.body.classList.remove("over"));
document.addEventListener("drop", (event) => {
  event.preventDefault();
  document.body.classList.remove("over");
  take(event.dataTransfer.files);
});
begin();
