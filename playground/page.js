// The page: forms become commands of `covey`, which a worker runs.

const at = (id) => document.getElementById(id);

/** The policies with a box of their own, and whether they are compared at first. */
const SHOWN = { covey: true, fair: true, fifo: true, aalo: true, philae: true, sebf: true, sincronia: true };

/** The files that commands can read, by name. */
const files = new Map();
/** The worker while it runs a command, and what to do when it has ended. */
let running = null;
let worker = new Worker("worker.js", { type: "module" });

/** Runs a command; resolves to {status, stdout, stderr, files}. */
function run(command) {
  return new Promise((resolve) => {
    running = resolve;
    at("progress").hidden = false;
    at("progress").removeAttribute("value");
    at("stop").disabled = false;
    document.querySelectorAll("form button:not(#stop)").forEach((it) => (it.disabled = true));
    worker.onmessage = ({ data }) => {
      if (data.of) {
        at("progress").max = data.of;
        at("progress").value = data.done;
      } else end(data);
    };
    worker.onerror = (event) => end({ status: 1, stdout: "", stderr: event.message ?? "the program did not load", files: [] });
    worker.postMessage({ command, files: [...files] });
  });
}

function end(result) {
  at("progress").hidden = true;
  at("stop").disabled = true;
  document.querySelectorAll("form button:not(#stop)").forEach((it) => (it.disabled = false));
  running?.(result);
  running = null;
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

function compare(event) {
  event.preventDefault();
  const boxes = document.querySelectorAll("#policies input:checked");
  const others = at("others").value.split(/,(?=\s*[a-z][\w-]*(?:[:,\s]|$))/).map((it) => it.trim());
  const policies = [...[...boxes].map((it) => it.value), ...others.filter(Boolean)];
  const trace = document.querySelector("input[name=trace]:checked").value;
  const isOwn = trace === "file";
  if (isOwn && files.size === 0) {
    at("status").className = "wrong";
    at("status").textContent = "Choose a file first.";
    return;
  }
  const command = ["compare", ...(isOwn ? own() : [trace])];
  if (policies.length) command.push("--policies", policies.join(","));
  if (at("rate").value.trim()) command.push("--port-rate", at("rate").value.trim());
  show([...command, "--report", "report.html"]);
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
  document.body.dataset.ready = "yes";
}

at("compare").addEventListener("submit", compare);
at("command").addEventListener("submit", (event) => {
  event.preventDefault();
  show(words(at("line").value));
});
at("stop").addEventListener("click", () => {
  worker.terminate();
  worker = new Worker("worker.js", { type: "module" });
  end({ status: 1, stdout: "", stderr: "stopped", files: [] });
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
