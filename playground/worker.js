// Runs the program `covey`, compiled for WASI, once for each message.

import { ConsoleStdout, File, OpenFile, PreopenDirectory, WASI } from "./wasi/index.js";

/**
 * Runs a command of the compiled program on files. It answers with messages {done, of} meanwhile, and at the end with
 * {status, stdout, stderr, files}: what it printed, and the files as they are then, by name.
 */
onmessage = async ({ data: { program, command, files } }) => {
  const stdout = [];
  const stderr = [];
  const say = (line) => {
    const progress = /^progress (\d+)\/(\d+)$/.exec(line);
    if (progress) postMessage({ done: Number(progress[1]), of: Number(progress[2]) });
    else stderr.push(line);
  };
  const folder = new PreopenDirectory(".", new Map(files.map(([name, bytes]) => [name, new File(bytes)])));
  const streams = [
    new OpenFile(new File([])),
    ConsoleStdout.lineBuffered((line) => stdout.push(line)),
    ConsoleStdout.lineBuffered(say),
    folder,
  ];
  const wasi = new WASI(["covey", ...command], [], streams);
  let status;
  try {
    const instance = await WebAssembly.instantiate(program, { wasi_snapshot_preview1: wasi.wasiImport });
    status = wasi.start(instance);
  } catch (error) {
    // It ran out of memory, or has a fault.
    status = 1;
    stderr.push(String(error));
  }
  const after = [];
  const collect = (contents, prefix) => {
    for (const [name, entry] of contents) {
      if (entry instanceof File) after.push([prefix + name, entry.data]);
      else collect(entry.contents, `${prefix}${name}/`);
    }
  };
  collect(folder.dir.contents, "");
  postMessage({ status, stdout: stdout.join("\n"), stderr: stderr.join("\n"), files: after });
};
