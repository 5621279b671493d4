//! `covey identify` on what real collectors write about three transfers of known size: nfcapd and
//! nfdump with softflowd, and `ss` with five sets of options.
//!
//! Without these programs the tests say so and pass; with `TOOLS=yes`, as `.ci/run` sets it where
//! it can install them, they fail. Softflowd needs root. `scripts/tools.sh` installs all of them.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::Value;

use crate::common::TestFolder;

/// Bytes of the transfers.
const SIZES: [usize; 3] = [100_000, 700_001, 2_000_003];
/// Bytes written at once.
const PART: usize = 32 << 10;
/// Empty datagrams behind the transfers.
const FILLING: usize = 20_000;
const PATIENCE: Duration = Duration::from_secs(20);

/// Options of `ss`, each of which adds words or lines.
const OPTIONS: [&str; 5] = ["-tin", "-tinp", "-tinO", "-tinem", "-tinepomO"];

/// Whether these programs are there; otherwise says that a test is left out.
fn are_there(programs: &[&str]) -> bool {
    let is_missing = |program: &&&str| {
        let found = Command::new("sh").args(["-c", &format!("command -v {program}")]).output();
        !found.is_ok_and(|found| found.status.success())
    };
    let missing: Vec<_> = programs.iter().filter(is_missing).collect();
    if !missing.is_empty() {
        assert!(std::env::var_os("TOOLS").is_none(), "missing: {missing:?}");
        eprintln!("skipped: there are no {missing:?} (scripts/tools.sh installs them)");
    }
    missing.is_empty()
}

/// A process that ends with the test.
struct Ended(Child);

impl Ended {
    fn start(command: &mut Command) -> Ended {
        Ended(command.stdout(Stdio::null()).stdin(Stdio::null()).spawn().unwrap())
    }

    /// Asks it to end, and waits.
    fn end(&mut self) {
        let id = self.0.id().to_string();
        assert!(Command::new("kill").arg(&id).status().unwrap().success());
        self.0.wait().unwrap();
    }
}

impl Drop for Ended {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Both ends of three connections to a port.
struct Transfers {
    pairs: Vec<(TcpStream, TcpStream)>,
}

impl Transfers {
    fn open(listener: &TcpListener) -> Transfers {
        let address = listener.local_addr().unwrap();
        let pair = |_| (TcpStream::connect(address).unwrap(), listener.accept().unwrap().0);
        Transfers { pairs: SIZES.iter().map(pair).collect() }
    }

    /// Sends the bytes of each, slowly enough for a collector.
    fn send(&mut self) {
        for ((from, to), size) in self.pairs.iter_mut().zip(SIZES) {
            let mut part = vec![7; PART];
            let mut left = size;
            while left > 0 {
                let now = left.min(PART);
                from.write_all(&part[..now]).unwrap();
                to.read_exact(&mut part[..now]).unwrap();
                left -= now;
                thread::sleep(Duration::from_millis(1));
            }
        }
        // The last acknowledgements are on their way.
        thread::sleep(Duration::from_millis(100));
    }
}

/// The object of `identify --json`, with further arguments.
fn identified(folder: &TestFolder, arguments: &[&str]) -> Value {
    let ran = folder.covey(&[&["identify", "--json"], arguments].concat());
    assert_eq!(ran.status, Some(0), "{arguments:?}: {}", ran.err);
    serde_json::from_str(&ran.out).unwrap()
}

#[test]
fn samples_of_ss_with_five_sets_of_options() {
    if !are_there(&["ss"]) {
        return;
    }
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let mut texts = OPTIONS.map(|_| String::new());
    let mut sample = || {
        for (text, options) in texts.iter_mut().zip(OPTIONS) {
            let filter = format!("( sport = :{port} or dport = :{port} )");
            let out = Command::new("ss").args([options, &filter]).output().unwrap();
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
            *text += &format!("{}.{:09}\n", now.as_secs(), now.subsec_nanos());
            *text += &String::from_utf8(out.stdout).unwrap();
        }
    };
    let mut transfers = Transfers::open(&listener);
    sample();
    transfers.send();
    sample();
    drop(transfers);
    thread::sleep(Duration::from_millis(100));
    sample();

    let folder = TestFolder::new();
    for (text, options) in texts.iter().zip(OPTIONS) {
        folder.write("samples.txt", text);
        let found = identified(&folder, &["samples.txt", "--per-flow", "flows.csv"]);
        let bytes = SIZES.iter().sum::<usize>() as f64;
        let counted = (found["flows"].as_u64(), found["bytes"].as_f64());
        assert_eq!(counted, (Some(3), Some(bytes)), "ss {options}: {text}");
        assert_eq!(bytes_of(&folder), SIZES, "ss {options}");
    }
    // Without counters, bytes are unknown.
    let listed: String = texts[0]
        .lines()
        .filter(|line| !line.starts_with('\t'))
        .map(|line| format!("{line}\n"))
        .collect();
    folder.write("samples.txt", listed);
    let found = identified(&folder, &["samples.txt"]);
    assert_eq!(
        (found["flows"].as_u64(), found["flows_without_bytes"].as_u64()),
        (Some(3), Some(3))
    );
}

/// The bytes of each flow of `flows.csv`, ascending.
fn bytes_of(folder: &TestFolder) -> Vec<usize> {
    let flows = folder.read("flows.csv");
    let mut bytes: Vec<usize> = flows
        .lines()
        .skip(1)
        .map(|line| line.split(',').nth(6).unwrap().parse().unwrap())
        .collect();
    bytes.sort_unstable();
    bytes
}

#[test]
fn flows_that_nfcapd_collects_from_softflowd() {
    if !are_there(&["nfcapd", "nfdump", "softflowd", "softflowctl"]) {
        return;
    }
    let id = Command::new("id").arg("-u").output().unwrap();
    if id.stdout != b"0\n" {
        eprintln!("skipped: softflowd needs root");
        return;
    }
    let folder = TestFolder::new();
    std::fs::create_dir(folder.path("captured")).unwrap();
    collect(&folder);
    let nfdump = |arguments: &[&str]| {
        let mut command = Command::new("nfdump");
        command.arg("-R").arg(folder.path("captured")).args(arguments).arg("proto tcp");
        command.env("TZ", "UTC");
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    };
    let both = nfdump(&["-o", "fmt:%byt", "-N"]);
    let bytes: f64 = both.lines().filter_map(|line| line.trim().parse::<f64>().ok()).sum();
    let least = SIZES.iter().sum::<usize>() as f64;
    assert!((least..1.1 * least).contains(&bytes), "softflowd counted {both}");
    for output in ["line", "long", "extended", "csv", "json"] {
        let text = nfdump(&["-o", output, "-N"]);
        folder.write("flows.txt", &text);
        // Each connection has a flow in both directions.
        let found = identified(&folder, &["flows.txt", "--per-flow", "flows.csv"]);
        let counted = (found["flows"].as_u64(), found["bytes"].as_f64());
        assert_eq!(counted, (Some(6), Some(bytes)), "nfdump -o {output}: {text}");
        for (found, size) in bytes_of(&folder)[3..].iter().zip(SIZES) {
            // The headers of packets count as well.
            assert!((size..size + size / 20 + 1000).contains(found), "nfdump -o {output}: {found}");
        }
        // Outputs behind each other, and files beside each other, have the same flows.
        folder.write("twice.txt", text.repeat(2));
        for files in [&["twice.txt"][..], &["flows.txt", "twice.txt"]] {
            let again = identified(&folder, files);
            assert_eq!((again["flows"].as_u64(), again["bytes"].as_f64()), counted, "{output}");
        }
    }
    for output in ["line", "long", "csv"] {
        folder.write("flows.txt", nfdump(&["-b", "-o", output, "-N"]));
        let found = identified(&folder, &["flows.txt"]);
        assert_eq!(found["flows"].as_u64(), Some(3), "nfdump -b -o {output}");
    }
}

/// Collects three transfers in the folder `captured`.
fn collect(folder: &TestFolder) {
    let captured = folder.path("captured");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    // Nobody else takes a port that was free a moment ago.
    let collector = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let filling = UdpSocket::bind("127.0.0.1:0").unwrap();
    let filling_address = filling.local_addr().unwrap();
    let version = Command::new("nfcapd").arg("-V").output().unwrap();
    let is_old = String::from_utf8_lossy(&version.stdout).contains("1.6.");
    let mut nfcapd = Ended::start(
        Command::new("nfcapd")
            .args([if is_old { "-l" } else { "-w" }, captured.to_str().unwrap()])
            .args(["-b", "127.0.0.1", "-p", &collector.to_string(), "-t", "3600"])
            .stderr(Stdio::null()),
    );
    wait_until(|| has_udp_port(collector));
    let control = folder.path("control");
    let mut softflowd = Ended(
        Command::new("softflowd")
            .args(["-d", "-i", "lo", "-v", "9", "-n", &format!("127.0.0.1:{collector}")])
            .arg("-c")
            .arg(&control)
            .arg("-p")
            .arg(folder.path("pid"))
            .arg(format!("tcp port {port} or udp port {}", filling_address.port()))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap(),
    );
    let mut says = BufReader::new(softflowd.0.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains("starting data collection") && says.read_line(&mut line).unwrap() > 0 {}
    wait_until(|| control.exists());
    thread::sleep(Duration::from_millis(300));
    let mut transfers = Transfers::open(&listener);
    transfers.send();
    drop(transfers);
    // The kernel hands captured packets on by the block: these fill the last one.
    for count in 0..FILLING {
        filling.send_to(&[], filling_address).unwrap();
        if count % 100 == 0 {
            thread::sleep(Duration::from_millis(2));
        }
    }
    thread::sleep(Duration::from_millis(500));
    let shutdown = Command::new("softflowctl").arg("-c").arg(&control).arg("shutdown").output();
    assert!(shutdown.unwrap().status.success());
    softflowd.0.wait().unwrap();
    thread::sleep(Duration::from_millis(500));
    nfcapd.end();
}

fn wait_until(is_so: impl Fn() -> bool) {
    let started = Instant::now();
    while !is_so() {
        assert!(started.elapsed() < PATIENCE);
        thread::sleep(Duration::from_millis(20));
    }
}

/// Whether a socket listens on a port of UDP.
fn has_udp_port(port: u16) -> bool {
    let sockets = std::fs::read_to_string(Path::new("/proc/net/udp")).unwrap();
    sockets.contains(&format!(":{port:04X} "))
}

/// A log as Zeek writes one, of the same transfers.
#[test]
fn a_log_in_zeeks_format() {
    let folder = TestFolder::new();
    let mut log = "#separator \\x09\n#set_separator\t,\n#empty_field\t(empty)\n#unset_field\t-\n#path\tconn\n\
                   #fields\tts\tuid\tid.orig_h\tid.orig_p\tid.resp_h\tid.resp_p\tproto\tservice\tduration\torig_bytes\t\
                   resp_bytes\tconn_state\tmissed_bytes\thistory\torig_pkts\torig_ip_bytes\tresp_pkts\tresp_ip_bytes\n"
        .to_owned();
    for (place, size) in SIZES.iter().enumerate() {
        log += &format!(
            "170000000{place}.123456\tC{place}\t10.0.0.1\t4000{place}\t10.0.0.2\t7337\ttcp\t-\t1.5\t{size}\t0\tSF\t0\t\
             ShADadFf\t90\t{}\t50\t2604\n",
            size + 90 * 52
        );
    }
    folder.write("conn.log", log + "#close\t2023-11-14-23-00-00\n");
    let found = identified(&folder, &["conn.log", "--per-flow", "flows.csv"]);
    assert_eq!(found["flows"].as_u64(), Some(3));
    assert_eq!(bytes_of(&folder), SIZES);
    assert!(folder.read("flows.csv").contains("\n1700000001.123456,"));
}
