//! Errors in the input: exit status 2, one line with the error, and no files.

use crate::common::{Ran, TINY, TestFolder};
use std::io::{BufRead, BufReader};
use std::process::Stdio;

/// The error line for a trace file of this content; no output file may be left.
fn refused(content: impl AsRef<[u8]>) -> String {
    let folder = TestFolder::new();
    folder.write("bad.txt", content);
    let outputs = ["--per-coflow", "a.csv", "--per-flow", "b.csv"];
    let line =
        folder.refusal(&[&["simulate", "bad.txt", "--policy", "fair"][..], &outputs].concat());
    let outputs = ["--report", "a.html", "--per-coflow", "tables"];
    let compare = ["compare", "bad.txt", "--policies", "fair,sebf"];
    assert_eq!(folder.refusal(&[&compare[..], &outputs].concat()), line);
    assert_eq!(folder.refusal(&["trace", "info", "bad.txt"]), line);
    assert_eq!(folder.refusal(&["trace", "convert", "bad.txt", "out.jsonl"]), line);
    assert_eq!(folder.names(), ["bad.txt", "tiny.txt"]);
    line
}

#[test]
fn codecs_that_no_agent_has() {
    for policy in ["fvdf:codec=lzo", "sebf:compress=500MB/s:0.4"] {
        let folder = TestFolder::new();
        assert_eq!(
            folder.refusal(&["serve", "--data", "data", "--policy", policy]),
            format!(
                "policy {policy} compresses flows: expected one of lz4, snappy, zstd, lzf, which agents \
                 have"
            )
        );
    }
}

#[test]
fn a_policy_that_only_the_simulator_can_run() {
    let folder = TestFolder::new();
    assert_eq!(
        folder.refusal(&["serve", "--data", "data", "--policy", "stream"]),
        "policy stream decides at receivers of flows, which only the simulator has: expected a policy of a \
         coordinator, such as covey, aalo or sebf"
    );
}

#[test]
fn truncated_file() {
    assert_eq!(
        refused(&TINY[..TINY.len() - 8]),
        "bad.txt: line 3: mapper 2 of 2: expected a port from 0 to 2, found the end of the line"
    );
}

#[test]
fn fewer_coflows_than_announced() {
    assert_eq!(
        refused("3 2\n1 0 1 0 1 1:10\n"),
        "bad.txt: line 2: coflows: expected 2, as the first line says, found 1 at the end of the file"
    );
}

#[test]
fn port_out_of_range() {
    assert_eq!(
        refused("3 1\n1 0 1 3 1 1:10\n"),
        "bad.txt: line 2: mapper 1 of 1: expected a port from 0 to 2, found \"3\""
    );
}

#[test]
fn impossible_numbers() {
    for number in ["-1", "NaN", "inf", "1e300"] {
        assert_eq!(
            refused(format!("3 1\n1 0 1 0 1 1:{number}\n")),
            format!(
                "bad.txt: line 2: reducer 1 of 1: expected MB from 0 to 9.5367431640625e11, found \"{number}\""
            )
        );
        assert_eq!(
            refused(format!("3 1\n1 {number} 1 0 1 1:1\n")),
            format!(
                "bad.txt: line 2: arrival: expected milliseconds from 0 to 1e15, found \"{number}\""
            )
        );
    }
}

#[test]
fn duplicate_id() {
    assert_eq!(
        refused("3 2\n1 0 1 0 1 1:10\n1 0 1 0 1 1:10\n"),
        "bad.txt: line 3: id: expected an id not used before (line 2 has it), found \"1\""
    );
}

#[test]
fn empty_file() {
    assert_eq!(
        refused(""),
        "bad.txt: line 1: header: expected PORTS COFLOWS, or a JSON header, found an empty file"
    );
}

#[test]
fn csv_file() {
    assert_eq!(
        refused("id,when,who,whom,bytes\n1,0,0,1,100\n"),
        "bad.txt: line 1: file: expected a trace (docs/workloads.md), found values separated by commas (a CSV file?): --columns start=NAME,src=NAME,dst=NAME,bytes=NAME says what they are"
    );
}

#[test]
fn binary_file() {
    assert_eq!(
        refused(b"\x7fELF\x02\x01\x01\0\0\0\0"),
        "bad.txt: line 1: file: expected a trace, which is text, found a program"
    );
    assert_eq!(
        refused(b"\x89PNG\r\n"),
        "bad.txt: line 1: text: expected UTF-8, found the byte 0x89 (a binary file?)"
    );
}

#[test]
fn line_of_100_mb() {
    let mut content = b"3 1\n1 0 1 0 1 1:".to_vec();
    content.resize(100 << 20, b'1');
    assert_eq!(
        refused(content),
        "bad.txt: line 2: line: expected at most 64 MiB, found a longer line"
    );
}

#[test]
fn files_that_cannot_be_read() {
    let folder = TestFolder::new();
    let simulate = |trace| folder.refusal(&["simulate", trace, "--policy", "fair"]);
    assert!(simulate("none.txt").starts_with("none.txt: "));
    assert!(simulate(".").starts_with(".: "));
    assert_eq!(
        simulate("builtin:x"),
        "builtin: expected one of fb-like, coflowsim-custom, found \"x\""
    );
}

#[test]
fn policies_that_do_not_exist() {
    let folder = TestFolder::new();
    let names = covey_sched::policies().iter().map(|info| info.name).collect::<Vec<_>>().join(", ");
    let unknown = format!("unknown policy 'sbf': expected one of {names}; did you mean 'sebf'?");
    for (policy, line) in [
        ("sbf", unknown.as_str()),
        (
            "aalo:k=3",
            "policy aalo: unknown parameter 'k': expected K, E, q1, delta, start_small, queues, share, work_conservation; did you mean 'K'?",
        ),
        ("covey:", "policy covey: found nothing after ':' or ',': expected key=value"),
        ("aalo:K=0", "policy aalo: K=0: expected a whole number from 1 to 64"),
        ("aalo:q1=NaN", "policy aalo: q1=NaN: expected a size above zero, like 10MiB"),
        (
            "aalo:q1=10",
            "policy aalo: q1=10: expected a size above zero, like 10MiB; did you mean '10B' or '10MiB'?",
        ),
        (
            "aalo:q1=10mb",
            "policy aalo: q1=10mb: expected a size above zero, like 10MiB; it may mean 10Mbit (bits) or 10MB (bytes): write one of these",
        ),
        (
            "aalo:delta=8",
            "policy aalo: delta=8: expected a duration of at most a day, like 8ms, or 0; did you mean '8s' or '8ms'?",
        ),
        ("aalo:K", "policy aalo: found 'K': expected key=value"),
    ] {
        // Policies are checked before the trace is read, so the trace may be missing.
        assert_eq!(folder.refusal(&["simulate", "none.txt", "--policy", policy]), line);
        assert_eq!(folder.refusal(&["compare", "none.txt", "--policies", policy]), line);
    }
}

#[test]
fn lists_of_policies() {
    let folder = TestFolder::new();
    let compare = |policies, baseline| {
        folder.refusal(&["compare", "none.txt", "--policies", policies, "--baseline", baseline])
    };
    assert_eq!(
        compare("fair,sebf,fair", "fair"),
        "--policies: expected each policy once, found 'fair' twice"
    );
    assert_eq!(
        compare("fair,sebf", "fifo"),
        "--baseline: expected one of fair | sebf, found 'fifo'"
    );
    assert_eq!(
        compare("sincronia,sebf", "synchronia"),
        "--baseline: expected one of sincronia | sebf, found 'synchronia'; did you mean 'sincronia'?"
    );
    assert_eq!(
        compare("sebf,SEBF", "sebf"),
        "--policies: expected each policy once, found 'sebf' twice"
    );
    assert_eq!(compare("", "fair"), "--policies: expected at least one policy, found none");
    for list in ["sebf,", "sebf,,fair", ",sebf", ","] {
        let expected = "--policies: expected a policy on each side of a comma";
        assert_eq!(compare(list, "fair"), format!("{expected}, found '{list}'"));
    }
    let one = "--policy: expected one policy (covey compare takes several), found 'sebf,fair'";
    assert_eq!(folder.refusal(&["simulate", "none.txt", "--policy", "sebf,fair"]), one);
    let nothing = "policy aalo: found nothing after ':' or ',': expected key=value";
    assert_eq!(folder.refusal(&["simulate", "none.txt", "--policy", "aalo:K=3,"]), nothing);
    let none = "expected the name of a policy, found nothing";
    assert_eq!(folder.refusal(&["simulate", "none.txt", "--policy", ""]), none);
    assert_eq!(
        compare("aalo:K=2,aalo:K=3", "aalo"),
        "--baseline: expected one of aalo:K=2 | aalo:K=3, found 'aalo', which may mean several"
    );
}

#[test]
fn arguments() {
    let folder = TestFolder::new();
    let simulate = |more: &[&str]| {
        folder.refusal(&[&["simulate", "tiny.txt", "--policy", "fair"][..], more].concat())
    };
    assert!(simulate(&["--port-rate", "10G"]).ends_with("; did you mean '10gbps'?"));
    for rate in ["x", "0gbps", "-1gbps", "nangbps", "10", "1e999gbps"] {
        assert_eq!(
            simulate(&[&format!("--port-rate={rate}")]),
            format!(
                "--port-rate: '{rate}' is not a speed above zero with its unit: expected one like 1gbps, 100mbps, 8bps, 10Gb/s or 128MiB/s"
            )
        );
    }
    assert_eq!(
        simulate(&["--port-rate", "1e-9bps"]),
        "--port-rate: expected a speed from 1bps to 1000tbps, found '1e-9bps'"
    );
    assert_eq!(
        simulate(&["--per-coflow", "a.csv", "--per-flow", "a.csv"]),
        "--per-flow: expected a file other than that of --per-coflow, found the same"
    );
    assert_eq!(
        simulate(&["--fabric", "ring"]),
        "--fabric: expected one of big-switch, fat-tree, leaf-spine, file, found \"ring\""
    );
    assert_eq!(simulate(&["--jso"]), "unexpected argument '--jso'; did you mean '--json'?");
    assert_eq!(simulate(&["--seed", "1e3"]), "--seed: expected a whole number, found '1e3'");
    assert_eq!(
        simulate(&["--seed", "99999999999999999999"]),
        "--seed: expected a smaller whole number, found '99999999999999999999'"
    );
    for (arguments, option, value) in [
        (&["compare", "tiny.txt", "--jobs", "-1"][..], "--jobs", "-1"),
        (&["simulate", "tiny.txt", "--seed", "-1"], "--seed", "-1"),
        (&["trace", "skew", "tiny.txt", "--sigma", "-.5"], "--sigma", "-.5"),
        (&["serve", "--lost-after", "-1s"], "--lost-after", "-1s"),
    ] {
        assert_eq!(
            folder.refusal(arguments),
            format!("{option}: expected a value that is not negative, found '{value}'")
        );
    }
    assert_eq!(
        folder.refusal(&["compare", "tiny.txt", "--jobs", "0"]),
        "--jobs: expected a whole number above 0, found '0'"
    );
    assert_eq!(
        folder.refusal(&["trace", "scale", "tiny.txt", "--time", "x"]),
        "--time: expected a number or a fraction, like 1.5 or 2/3, found 'x'"
    );
    assert_eq!(
        folder.refusal(&["trace", "filter", "tiny.txt"]),
        "--min-width, --min-skew: expected at least one of them, found none"
    );
    assert_eq!(
        folder.refusal(&["trace", "replicate", "tiny.txt", "0", "-"]),
        "copies: expected 1 to 333333, found 0"
    );
    folder.refusal(&["simulate"]);
    folder.refusal(&["simulate", "tiny.txt", "--policy", "a\nb"]);
}

#[test]
fn outputs_that_cannot_be_written() {
    let folder = TestFolder::new();
    folder.write("file", "");
    let compare = |more: &[&str]| {
        // Policies are checked before the trace is read, so the trace may be missing.
        folder.refusal(&[&["compare", "none.txt", "--policies", "fair"][..], more].concat())
    };
    assert!(compare(&["--report", "none/a.html"]).starts_with("none/a.html: cannot be written: "));
    for page in ["x.pdf", "x.csv", "x."] {
        let expected = format!("--report: expected a name that ends in .html, found '{page}'");
        assert_eq!(compare(&["--report", page]), expected);
    }
    assert_eq!(
        compare(&["--per-coflow", "x.csv"]),
        "--per-coflow: expected a folder, where each policy gets a CSV file, found 'x.csv'"
    );
    let simulate = ["simulate", "none.txt", "--per-flow", "x.html"];
    assert_eq!(
        folder.refusal(&simulate),
        "--per-flow: expected a name that ends in .csv, found 'x.html'"
    );
    let reproduce = ["reproduce", "swallow", "--figure", "4", "--report", "x.pdf"];
    assert!(folder.refusal(&reproduce).starts_with("--report: expected a name"));
    assert!(compare(&["--report", "."]).starts_with(".: cannot be written: "));
    assert!(compare(&["--per-coflow", "none/a"]).starts_with("none/a: cannot be written: "));
    assert!(compare(&["--per-coflow", "file"]).starts_with("file: cannot be written: "));
    for name in ["a.csv", "a.jsonl.gz"] {
        let expected = "output: expected a name for Covey JSON lines, such as trace.jsonl";
        let found = format!("{expected}, found '{name}'");
        assert_eq!(folder.refusal(&["trace", "convert", "none.txt", name]), found);
        assert_eq!(folder.refusal(&["trace", "burst", "none.txt", "-o", name]), found);
    }
    let convert = ["trace", "convert", "none.txt", "none/a.jsonl"];
    assert!(folder.refusal(&convert).starts_with("none/a.jsonl: cannot be written: "));
    assert_eq!(folder.names(), ["file", "tiny.txt"]);
}

#[test]
fn invalid_codecs_and_processors() {
    let folder = TestFolder::new();
    let refusal = |policy: &str, cpu: &str| {
        folder.refusal(&["simulate", "tiny.txt", "--policy", policy, "--cpu", cpu])
    };
    let codecs = "one of lz4, lzo, snappy, lzf, zstd, or SPEED:RATIO like 785MB/s:0.62 with a ratio between 0 and 1";
    assert_eq!(
        refusal("fvdf:codec=gzip", "1"),
        format!("policy fvdf: codec=gzip: expected {codecs}")
    );
    assert_eq!(
        refusal("aalo:compress=lz5", "1"),
        format!("policy aalo: compress=lz5: expected none, {codecs}")
    );
    assert_eq!(
        refusal("sebf", "1.5"),
        "cpu: expected a share from 0 to 1, or a file, found \"1.5\""
    );
    assert!(refusal("sebf", "none.csv").starts_with("none.csv: "));
    folder.write("cpu.csv", "port,from_s,share\n3,0,1\n");
    assert_eq!(
        refusal("sebf", "cpu.csv"),
        "cpu.csv: line 2: port: expected a port from 0 to 2, or *, found \"3\""
    );
}

/// A full disk is not an error of input or arguments.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk() {
    let folder = TestFolder::new();
    let simulate = ["simulate", "tiny.txt", "--policy", "fair", "--per-coflow", "/dev/full"];
    let Ran { status, out, err } = folder.covey(&simulate);
    assert_eq!((status, out.as_str()), (Some(1), ""));
    assert!(err.starts_with("covey: /dev/full: cannot be written: "), "{err}");
    assert_eq!(err.lines().count(), 1);

    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let output = folder.command(&["policies"]).stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(output.stderr.starts_with(b"covey: standard output: "));
}

/// As in `covey … | head -1`.
#[test]
fn a_reader_that_has_seen_enough() {
    let mut command = TestFolder::new().command(&["trace", "convert", "builtin:fb-like", "-"]);
    command.current_dir(".").stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stderr), (Some(0), Vec::new()));
}

#[test]
fn times_of_the_live_system() {
    let folder = TestFolder::new();
    let serve = |more: &[&str]| folder.refusal(&[&["serve", "--data", "data"], more].concat());
    assert!(serve(&["--lost-after", "5sec"]).ends_with("; did you mean '5s'?"));
    assert!(serve(&["--lost-after", "5m"]).ends_with("; did you mean '5min'?"));
    assert!(serve(&["--port-rate", "10G"]).ends_with("; did you mean '10gbps'?"));
    assert_eq!(folder.names(), ["tiny.txt"]);
}

/// Values with which a coordinator, an agent or a relay could not work are refused before anything
/// is made.
#[test]
fn nonsense_for_the_live_system() {
    let folder = TestFolder::new();
    let (times, counts) = (["10ms", "60min"], ["1", "1000000"]);
    for (command, option, value, [min, max]) in [
        ("serve", "--heartbeat", "0", times),
        ("serve", "--heartbeat", "1ns", times),
        ("serve", "--heartbeat", "100min", times),
        ("serve", "--lost-after", "0", ["10ms", "1440min"]),
        ("serve", "--lost-after", "1e30s", ["10ms", "1440min"]),
        ("serve", "--idle-after", "1us", ["10ms", "1440min"]),
        ("serve", "--idle", "0", ["10ms", "1440min"]),
        ("serve", "--lease", "1ms", ["100ms", "1440min"]),
        ("serve", "--lease", "1e9min", ["100ms", "1440min"]),
        ("serve", "--forget-after", "0", ["10ms", "525600min"]),
        ("serve", "--report-every", "0", ["1ms", "60min"]),
        ("serve", "--report-every", "1us", ["1ms", "60min"]),
        ("serve", "--interval", "0", ["1ms", "60min"]),
        ("serve", "--ports", "0", counts),
        ("serve", "--ports", "1000001", counts),
        ("serve", "--max-coflows", "0", ["1", "1000000000"]),
        ("serve", "--max-flows", "0", ["1", "1000000000"]),
        ("serve", "--max-gone", "18446744073709551615", ["0", "1000000000"]),
        ("serve", "--max-expired", "18446744073709551615", ["0", "1000000000"]),
        ("serve", "--max-clients", "0", counts),
        ("serve", "--max-clients", "18446744073709551615", counts),
        ("serve", "--max-agents", "0", counts),
        ("serve", "--max-requests", "0", ["1", "4294967295"]),
        ("serve", "--compact-above", "0", ["4KiB", "1024TiB"]),
        ("serve", "--threads", "0", ["1", "1024"]),
        ("serve", "--threads", "1000000", ["1", "1024"]),
        ("serve", "--max-clients-per-peer", "0", counts),
        ("serve", "--max-agents-per-peer", "1000001", counts),
        ("serve", "--max-unauthenticated", "0", counts),
        ("serve", "--auth-timeout", "0", times),
        ("serve", "--auth-timeout", "1e9s", times),
        ("serve", "--body-timeout", "0", times),
        ("serve", "--body-timeout", "100min", times),
        ("relay", "--auth-timeout", "1ns", times),
        ("relay", "--max-agents-per-peer", "0", counts),
        ("relay", "--max-unauthenticated", "0", counts),
        ("relay", "--max-agents", "0", ["1", "65536"]),
        ("relay", "--max-agents", "65537", ["1", "65536"]),
        ("relay", "--threads", "0", ["1", "1024"]),
        ("agent", "--port", "1000000", ["0", "999999"]),
        ("status", "--limit", "0", ["1", "1000"]),
        ("status", "--limit", "1001", ["1", "1000"]),
    ] {
        let line = folder.refusal(&[command, option, value]);
        let is_quantity = value.ends_with(['s', 'n']) || min.ends_with(['s', 'B']);
        let found = if is_quantity { format!("'{value}'") } else { value.to_owned() };
        assert_eq!(line, format!("{option}: expected from {min} to {max}, found {found}"));
    }
    for (arguments, says) in [
        (
            &["serve", "--lost-after", "20ms"][..],
            "--lost-after: expected at least 3 times --heartbeat, which is 1s, found 20ms",
        ),
        (
            &["serve", "--heartbeat", "10s"],
            "--lost-after: expected at least 3 times --heartbeat, which is 10s, found 5s",
        ),
        (
            &["serve", "--clients", "127.0.0.1:7421"],
            "--agents: expected another address than --clients, found 127.0.0.1:7421",
        ),
        (
            &["relay", "--listen", "127.0.0.1:7421"],
            "--listen: expected another address than --coordinator, found 127.0.0.1:7421",
        ),
        (
            &["serve", "--health", "127.0.0.1:7420"],
            "--health: expected another address than --clients, found 127.0.0.1:7420",
        ),
        (
            &["relay", "--health", "127.0.0.1:7422"],
            "--health: expected another address than --listen, found 127.0.0.1:7422",
        ),
        (
            &["status", "--coordinator", "coordinator.example"],
            "--coordinator: expected a host and a port, like 10.0.0.1:7420, [::1]:7420 or coordinator.example:7420, found 'coordinator.example'",
        ),
        (
            &["agent", "--port", "0", "--max-apps", "0"],
            "--max-apps: expected from 1 to 1000000, found 0",
        ),
        (
            &["agent", "--port", "0", "--socket-mode", "999"],
            "--socket-mode: expected a mode in octal, like 0660, found '999'",
        ),
        (
            &["relay", "--coordinator", "127.0.0.1:0"],
            "--coordinator: expected a port above 0, found 127.0.0.1:0",
        ),
        (
            &["agent", "--port", "0", "--coordinator", "127.0.0.1:0"],
            "--coordinator: expected a port above 0, found 127.0.0.1:0",
        ),
        (
            &["agent", "--port", "0", "--cpu", "2"],
            "--cpu: expected idle, none, or a number from 0 to 1, found '2'",
        ),
        (
            &["status", "--coordinator", "127.0.0.1:0"],
            "--coordinator: expected a port above 0, found 127.0.0.1:0",
        ),
    ] {
        assert_eq!(folder.refusal(arguments), says);
    }
    assert_eq!(folder.names(), ["tiny.txt"]);
}

#[test]
fn a_trace_is_not_written_onto_itself() {
    let folder = TestFolder::new();
    std::os::unix::fs::symlink("tiny.txt", folder.path("link.txt")).unwrap();
    std::fs::hard_link(folder.path("tiny.txt"), folder.path("hard.txt")).unwrap();
    for file in ["tiny.txt", "./tiny.txt", "link.txt", "hard.txt"] {
        let line =
            format!("output: expected another file than the input, found '{file}', which is read");
        for arguments in [
            &["trace", "convert", "tiny.txt", file][..],
            &["trace", "replicate", "tiny.txt", "2", file],
            &["trace", "skew", "tiny.txt", "-o", file],
        ] {
            assert_eq!(folder.refusal(arguments), line);
        }
    }
    std::fs::copy(folder.path("tiny.txt"), folder.path("tiny.csv")).unwrap();
    for (command, option) in [
        (&["trace", "records", "tiny.csv"][..], "--output"),
        (&["simulate", "tiny.csv", "--policy", "fair"], "--per-coflow"),
        (&["simulate", "tiny.csv", "--policy", "fair"], "--per-flow"),
        (&["trace", "info", "tiny.csv", "--fabric", "big-switch"], "--per-link"),
    ] {
        let line = format!(
            "{option}: expected another file than the input, found 'tiny.csv', which is read"
        );
        assert_eq!(folder.refusal(&[command, &[option, "tiny.csv"]].concat()), line);
    }
    assert_eq!(folder.read("tiny.csv"), folder.read("tiny.txt"));
}

#[test]
fn settings_without_effect_are_said() {
    let folder = TestFolder::new();
    let said = |arguments: &[&str]| {
        let ran = folder.covey(&[&["simulate", "tiny.txt", "--policy"][..], arguments].concat());
        assert_eq!(ran.status, Some(0));
        ran.err
    };
    assert!(said(&["philae", "--seed", "2"]).starts_with("seed 2 changes nothing: "));
    assert_eq!(said(&["philae:ports=random", "--seed", "2"]), "");
    assert!(said(&["fair", "--cpu", "0.5"]).starts_with("cpu changes nothing: "));
    assert!(said(&["fair", "--barrier", "false"]).starts_with("barrier=false changes nothing: "));
    let reproduced = |part: &[&str]| {
        let given = ["--trace", "tiny.txt"];
        let ran = folder.covey(&[&["reproduce", "swallow"], part, &given].concat());
        assert_eq!(ran.status, Some(0));
        ran.err
    };
    assert!(reproduced(&["--figure", "4"]).starts_with("--trace changes nothing: "));
    assert_eq!(reproduced(&["--figure", "1"]), "");
    assert!(
        folder.refusal(&["trace", "info", "tiny.txt", "--port-rate", "1gbps"]).contains("--fabric")
    );
    let agent = ["agent", "--port", "0", "--device", "eth0", "--credentials", "."];
    folder.write("token", "secret");
    assert_eq!(folder.refusal(&agent), "--device: expected --enforcer htb with it, found pacing");
}

#[test]
fn a_missing_coordinator_is_named_with_what_starts_it() {
    let folder = TestFolder::new();
    let none = folder.refusal(&["status"]);
    assert!(none.contains("covey serve --data covey-data starts a coordinator"), "{none}");
    assert!(none.contains("127.0.0.1:7420"), "{none}");
    std::fs::create_dir(folder.path("covey-data")).unwrap();
    folder.write("covey-data/token", "secret");
    let private = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(folder.path("covey-data/token"), private).unwrap();
    // A port where nobody listens.
    let free =
        std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let ran = folder.covey(&["status", "--coordinator", &free]);
    assert_eq!(ran.status, Some(1));
    assert!(ran.err.starts_with(&format!("covey: {free}: ")), "{}", ran.err);
    assert!(ran.err.contains("covey serve starts one"), "{}", ran.err);
}

#[test]
fn what_a_reader_guesses_is_said_once() {
    let folder = TestFolder::new();
    folder.write("bare.txt", "\u{feff}1 0 1 0 1 1:10\n2 500 2 0 0 1 1:4\n");
    let ran = folder.covey(&["simulate", "bare.txt", "--policy", "fair"]);
    assert_eq!(
        ran.err,
        "bare.txt: no first line PORTS COFLOWS: 2 ports, from the largest rack\n\
         bare.txt: coflows that name a rack twice: 1, first on line 2; as in CoflowSim, its mappers are one, and its \
         reducers get the sum\n"
    );
    // Where a fabric is given, too.
    let fabric = ["trace", "info", "bare.txt", "--fabric", "leaf-spine:leaves=1,spines=1,hosts=3"];
    assert_eq!(folder.covey(&fabric).err, ran.err);
}
