//! The example `shuffle` of `covey-client`: applications and receivers in processes of their own.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Lines};
use std::path::{Path, PathBuf};
use std::process::{ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError};
use std::time::{Duration, Instant};

use crate::harness::{Killed, until};

/// Megabytes of a shuffle that is measured.
pub const MEGABYTES: u32 = 100;
/// A size that no shuffle reaches while a test runs, in megabytes.
pub const ENDLESS: u32 = 40_000;
/// Settings of a coordinator at whose ports a shuffle that is measured takes four seconds.
pub const PORTS: [&str; 4] = ["--ports", "2", "--port-rate", "200mbps"];

/// Tests that measure times hold this, and so run one after the other.
pub fn quiet() -> MutexGuard<'static, ()> {
    static QUIET: Mutex<()> = Mutex::new(());
    // A test that failed leaves nothing behind.
    QUIET.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Prints the head of a table, the first time.
pub fn head_once(once: &Once, head: &str) {
    let columns = head.matches('|').count() - 1;
    once.call_once(|| println!("{head}\n|{}", "---|".repeat(columns)));
}

/// The program, which Cargo builds beside `covey`.
pub fn program() -> PathBuf {
    let covey = Path::new(env!("CARGO_BIN_EXE_covey"));
    let program = covey.with_file_name("examples").join("shuffle");
    assert!(program.exists(), "cargo build --package covey-client --example shuffle makes it");
    program
}

/// Starts a command; its lines can be read.
pub fn spawn(command: &mut Command) -> (Killed, Lines<BufReader<ChildStdout>>) {
    let mut process = Killed(command.stdout(Stdio::piped()).spawn().expect("a process"));
    let lines = BufReader::new(process.0.stdout.take().expect("its output")).lines();
    (process, lines)
}

/// What a receiver has had.
#[derive(Default)]
pub struct Got {
    /// Bytes of each coflow that have come as they were sent.
    pub bytes: BTreeMap<u64, u64>,
    /// Flows that have been compared with what was sent.
    pub compared: usize,
    /// Flows with other bytes than were sent.
    pub wrong: usize,
}

/// A process that receives flows.
pub struct Receiver {
    pub process: Killed,
    pub address: String,
    got: Arc<Mutex<Got>>,
}

impl Receiver {
    pub fn start() -> Receiver {
        Receiver::spawn(Command::new(program()).args(["receive", "127.0.0.1:0"]))
    }

    /// Starts a command that receives flows.
    pub fn spawn(command: &mut Command) -> Receiver {
        let (process, mut lines) = spawn(command.stderr(Stdio::null()));
        let first = lines.next().expect("a line").expect("text");
        let address = first.strip_prefix("listening at ").expect("an address").to_owned();
        let receiver = Receiver { process, address, got: Arc::default() };
        let got = Arc::clone(&receiver.got);
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                let (coflow, bytes) = compared(&line);
                let mut got = got.lock().expect("nobody panics");
                got.compared += 1;
                match bytes {
                    Some(bytes) => *got.bytes.entry(coflow).or_default() += bytes,
                    None => {
                        got.wrong += 1;
                        eprintln!("not what was sent: {line}");
                    }
                }
            }
        });
        receiver
    }

    pub fn got(&self) -> MutexGuard<'_, Got> {
        self.got.lock().expect("nobody panics")
    }

    /// Waits until it has had all megabytes of a shuffle as they were sent, or of its only shuffle
    /// if that is not registered. Comparing takes a while.
    pub async fn has(&self, application: &Application, megabytes: u32) {
        let bytes = u64::from(megabytes) * 1_000_000;
        until(10, "every byte", async || {
            let got = &self.got().bytes;
            match application.coflow() {
                Some(coflow) => got.get(&coflow) == Some(&bytes),
                None => got.values().eq([&bytes]),
            }
        })
        .await;
    }
}

/// The coflow of a flow that a receiver has printed, and its bytes if they came as they were sent.
fn compared(line: &str) -> (u64, Option<u64>) {
    let words: Vec<&str> = line.split([' ', ':', ',']).filter(|word| !word.is_empty()).collect();
    let ["flow", flow, "of", "coflow", coflow, bytes, "bytes", "crc", crc] = words[..] else {
        panic!("a receiver says: {line}");
    };
    let number = |word: &str| word.parse::<u64>().expect("a number");
    let (flow, coflow, bytes) = (number(flow), number(coflow), number(bytes));
    (coflow, (format!("{:08x}", crc_of(coflow, flow, bytes)) == crc).then_some(bytes))
}

/// The checksum of the bytes that `shuffle` sends as a flow.
fn crc_of(coflow: u64, flow: u64, size: u64) -> u32 {
    const PIECE: u64 = 1 << 16;
    let first = coflow
        .wrapping_mul(0x9E37_79B9_7F4A_7C15)
        .wrapping_add(flow.wrapping_mul(0xC2B2_AE3D_27D4_EB4F));
    let mut crc = flate2::Crc::new();
    let mut piece = [0; PIECE as usize];
    for (number, begin) in (0..).zip((0..size).step_by(PIECE as usize)) {
        let mark = first.wrapping_add(number);
        for (word, bytes) in (0..).zip(piece.as_chunks_mut().0) {
            *bytes = u64::to_le_bytes(word ^ mark);
        }
        crc.update(&piece[..(size - begin).min(PIECE) as usize]);
    }
    crc.sum()
}

/// The coflow that an application names in a line.
pub fn coflow_of(line: &str) -> Option<u64> {
    let (number, _) = line.split_once(": coflow ")?.1.split_once(',')?;
    number.parse().ok()
}

/// A process that sends a shuffle.
pub struct Application {
    pub process: Killed,
    began: Instant,
    /// Its first line, which says whether it is scheduled.
    first: String,
    /// The time until then.
    pub registered_s: f64,
    /// It would fail if nobody read what it prints.
    _lines: Lines<BufReader<ChildStdout>>,
}

impl Application {
    /// Starts a command that sends a shuffle, and waits until it has registered or given up.
    pub fn spawn(command: &mut Command) -> Application {
        let began = Instant::now();
        let (process, mut lines) = spawn(command.stderr(Stdio::null()));
        let first = lines.next().expect("a line").expect("text");
        let registered_s = began.elapsed().as_secs_f64();
        Application { process, began, first, registered_s, _lines: lines }
    }

    /// The number of its coflow, if it is registered.
    pub fn coflow(&self) -> Option<u64> {
        coflow_of(&self.first)
    }

    pub fn is_scheduled(&self) -> bool {
        self.coflow().is_some() && self.first.ends_with("scheduled: yes")
    }

    /// Waits for its end, and returns how long it took in seconds.
    pub async fn ended(&mut self, within_s: f64) -> f64 {
        loop {
            let took = self.began.elapsed().as_secs_f64();
            if let Some(status) = self.process.0.try_wait().expect("a process") {
                assert!(status.success(), "{}: {status}", self.first);
                return took;
            }
            assert!(took < within_s, "{}: not over after {took:.1} s", self.first);
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}
