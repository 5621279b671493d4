//! Completion times under max-min sharing are those of SimGrid, on a topology file with explicit
//! routes.
//!
//! All flows are of one coflow, so `fair`, which shares among all flows, and `aalo`, which shares
//! among the flows of a coflow by code of its own, must both be max-min fair.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::common::TestFolder;

/// The largest relative difference of a time.
const DIGITS: f64 = 1e-6;
const HOSTS: usize = 8;
const RACKS: usize = 4;
const SPINES: usize = 2;
/// Bytes per second of a link that is not in [`SLOW`].
const RATE: f64 = 125e6;
/// Links with other rates.
const SLOW: [(&str, &str, f64); 2] = [("rack0", "spine0", 50e6), ("spine1", "rack3", 20e6)];

/// Start in seconds, sender, receiver, bytes.
type Flow = (f64, usize, usize, f64);

fn host(number: usize) -> String {
    format!("h{number}")
}

fn rack(host: usize) -> String {
    format!("rack{}", host % RACKS)
}

/// All links, one for each direction, with their capacities.
fn links() -> Vec<(String, String, f64)> {
    let up = (0..HOSTS).map(|it| (host(it), rack(it)));
    let inner =
        |rack| (0..SPINES).map(move |spine| (format!("rack{rack}"), format!("spine{spine}")));
    let ends = up.chain((0..RACKS).flat_map(inner));
    let ends = ends.flat_map(|(a, b)| [(a.clone(), b.clone()), (b, a)]);
    let rate =
        |a: &str, b: &str| SLOW.iter().find(|it| (it.0, it.1) == (a, b)).map_or(RATE, |it| it.2);
    ends.map(|(a, b)| (a.clone(), b.clone(), rate(&a, &b))).collect()
}

/// All pairs of hosts.
fn pairs() -> impl Iterator<Item = (usize, usize)> {
    (0..HOSTS * HOSTS).map(|pair| (pair / HOSTS, pair % HOSTS)).filter(|(a, b)| a != b)
}

/// The nodes from each host to each other one: an arbitrary choice of spines.
fn routes() -> Vec<Vec<String>> {
    let between = |(a, b)| match (rack(a), rack(b)) {
        (from, to) if from == to => vec![from],
        (from, to) => vec![from, format!("spine{}", (3 * a + b) % SPINES), to],
    };
    pairs().map(|(a, b)| [vec![host(a)], between((a, b)), vec![host(b)]].concat()).collect()
}

/// The topology file.
fn topology() -> String {
    let names = |count, name: &dyn Fn(usize) -> String| {
        (0..count).map(|it| format!(" {}", name(it))).collect::<String>()
    };
    let (racks, spines) = (names(RACKS, &rack), names(SPINES, &|it| format!("spine{it}")));
    let mut text =
        format!("covey-topology 1\nhosts{}\nswitches{racks}{spines}\n", names(HOSTS, &host));
    for (a, b, rate) in links() {
        text += &format!("link {a} -> {b} {rate}B/s\n");
    }
    for route in routes() {
        // The file names the two hosts first, then the switches between them.
        let [from, switches @ .., to] = &route[..] else { panic!("a route has two hosts") };
        text += &format!("route {from} {to} {}\n", switches.join(" "));
    }
    text
}

/// A shuffle at one time, many flows over time, and an incast beside long flows.
fn workloads() -> [(&'static str, Vec<Flow>); 3] {
    let shuffle = pairs().map(|(a, b)| (0.0, a, b, 1e7 * (1 + a + 2 * b) as f64)).collect();
    let mut state: u64 = 1;
    let mut draw = |below: usize| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    let over_time = (0..200).map(|_| {
        let (start, src, other, bytes) =
            (draw(5000), draw(HOSTS), draw(HOSTS - 1), draw(100_000_000));
        (start as f64 / 1e3, src, (src + 1 + other) % HOSTS, 1.0 + bytes as f64)
    });
    let mut over_time: Vec<Flow> = over_time.collect();
    over_time.sort_by(|a, b| a.0.total_cmp(&b.0));
    let long = (0..7).map(|it| (0.0, it, (it + 1) % 7, 2e8));
    let incast = long.chain((0..7).map(|it| (0.5, it, 7, 5e7))).collect();
    [("shuffle", shuffle), ("flows over time", over_time), ("incast", incast)]
}

/// The end of each flow in seconds, by Covey.
fn covey(policy: &str, flows: &[Flow]) -> Vec<f64> {
    let folder = TestFolder::new();
    folder.write("site.txt", topology());
    let flows = flows.iter().map(|(start_s, src, dst, bytes)| {
        json!({"src": src, "dst": dst, "bytes": bytes, "start_s": start_s})
    });
    let coflow = json!({"id": "c", "arrival_s": 0, "flows": flows.collect::<Vec<_>>()});
    folder
        .write("trace.jsonl", format!("{}\n{coflow}\n", json!({"covey_trace": 1, "ports": HOSTS})));
    let what = ["simulate", "trace.jsonl", "--policy", policy, "--fabric", "file:site.txt"];
    folder.results(&[&what[..], &["--per-flow", "out.csv"]].concat());
    let text = folder.read("out.csv");
    let mut rows = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let head = rows.next().expect("a head");
    let column = head.iter().position(|name| *name == "completion_s").expect("a column");
    rows.map(|row| row[column].parse().expect("seconds")).collect()
}

/// The end of each flow in seconds, by SimGrid. It has one engine a process.
fn simgrid(packages: &Path, flows: &[Flow]) -> Vec<f64> {
    let named = |(start_s, src, dst, bytes): &Flow| json!([start_s, host(*src), host(*dst), bytes]);
    let flows: Vec<Value> = flows.iter().map(named).collect();
    let given = json!({"links": links(), "routes": routes(), "flows": flows});
    let folder = TestFolder::new();
    folder.write("given.json", given.to_string());
    // The module is for Debian's Python.
    let mut command = Command::new("/usr/bin/python3");
    command.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/simgrid_flows.py"));
    command.stdin(fs::File::open(folder.path("given.json")).expect("a file"));
    command.env("PYTHONPATH", packages.join("usr/lib/python3/dist-packages"));
    let machine = std::env::consts::ARCH;
    command.env("LD_LIBRARY_PATH", packages.join(format!("usr/lib/{machine}-linux-gnu")));
    let ran = command.stderr(Stdio::inherit()).output().expect("python3");
    assert!(ran.status.success(), "SimGrid fails");
    let said = String::from_utf8(ran.stdout).expect("text");
    serde_json::from_str(said.lines().last().expect("a line")).expect("times")
}

/// A folder with what Debian's packages of SimGrid have. The Python package index has it only as
/// source. Nothing is installed.
fn packages() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("simgrid");
    let (root, complete) = (folder.join("root"), folder.join("complete"));
    if !complete.exists() {
        let archives = folder.join("packages");
        fs::create_dir_all(archives.join("partial")).expect("a folder");
        let mut get = Command::new("apt-get");
        get.args(["install", "--yes", "--quiet=2", "--no-install-recommends", "--download-only"]);
        get.args(["-o", "Debug::NoLocking=yes", "-o"]);
        get.arg(format!("Dir::Cache::archives={}", archives.display())).arg("python3-simgrid");
        assert!(get.status().expect("apt-get").success(), "Debian's package python3-simgrid");
        for file in fs::read_dir(&archives).expect("a folder") {
            let file = file.expect("a file").path();
            if file.extension().is_some_and(|it| it == "deb") {
                let mut unpack = Command::new("dpkg-deb");
                unpack.arg("--extract").arg(&file).arg(&root);
                assert!(unpack.status().expect("dpkg-deb").success(), "{}", file.display());
            }
        }
        fs::write(complete, "").expect("a file");
    }
    root
}

#[test]
#[ignore = "takes Debian's packages of SimGrid; make slow WHAT=simgrid"]
fn completion_times_are_those_of_simgrid() {
    let packages = packages();
    let mut largest: f64 = 0.0;
    for (name, flows) in workloads() {
        let theirs = simgrid(&packages, &flows);
        for policy in ["fair", "aalo"] {
            let ours = covey(policy, &flows);
            assert_eq!(ours.len(), theirs.len());
            let differences = ours.iter().zip(&theirs).map(|(a, b)| (a - b).abs() / b.abs());
            let worst = differences.fold(0.0, f64::max);
            println!(
                "{policy}, {name}, {} flows: largest relative difference {worst:.1e}",
                ours.len()
            );
            largest = largest.max(worst);
        }
    }
    assert!(largest <= DIGITS, "expected at most {DIGITS}");
}
