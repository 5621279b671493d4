//! Programs that know nothing of Covey, and send a shuffle from hosts 0 and 1 to host 2.

use std::fs;
use std::io::ErrorKind;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::TestFolder;
use crate::harness::Killed;
use crate::namespaces::{Namespaces, address};
use crate::shuffles::spawn;

/// The time that receivers need to listen, where they do not say when they do.
pub const LISTENING: Duration = Duration::from_millis(500);
/// The host that receives.
pub const TO: u32 = 2;

/// Reads all that comes.
const SINK: &str = r#"
import socket, sys, threading
def sink(connection):
    while connection.recv(1 << 20):
        pass
    connection.close()
listener = socket.create_server((sys.argv[1], 9911), backlog=200)
print("ready", flush=True)
while True:
    threading.Thread(target=sink, args=(listener.accept()[0],), daemon=True).start()
"#;

/// Sends flows of as many bytes each, and waits until they have been read.
const SEND: &str = r#"
import socket, sys, threading
address, size, flows = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
piece = b"x" * 65536
def send(left):
    connection = socket.create_connection((address, 9911))
    while left > 0:
        left -= connection.send(piece[:left])
    connection.shutdown(socket.SHUT_WR)
    connection.recv(1)
threads = [threading.Thread(target=send, args=(size,)) for _ in range(flows)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
"#;

/// What sends shuffles.
pub enum Sender {
    /// Plain sockets of Python, as many on each host.
    Sockets,
    /// A client of iperf3 with all flows: on host 0 for large shuffles, on host 1 for small ones.
    Iperf3,
    /// A client of rsync on each host, with one file.
    Rsync,
}

impl Sender {
    /// All there are.
    pub const ALL: [Sender; 3] = [Sender::Sockets, Sender::Iperf3, Sender::Rsync];

    /// Its name in a table.
    pub fn name(&self) -> &'static str {
        match self {
            Sender::Sockets => "sockets",
            Sender::Iperf3 => "iperf3",
            Sender::Rsync => "rsync",
        }
    }

    /// Whether the program is installed.
    pub fn is_there(&self) -> bool {
        let program = match self {
            Sender::Sockets => "python3",
            Sender::Iperf3 | Sender::Rsync => self.name(),
        };
        let asked = Command::new(program).arg("--version").output();
        !asked.is_err_and(|error| error.kind() == ErrorKind::NotFound)
    }

    /// Starts what receives.
    pub fn receive(&self, namespaces: &Namespaces, folder: &TestFolder) -> Vec<Killed> {
        let to = address(TO);
        let start = |command: &mut Command| {
            let mut there = namespaces.on(TO, command);
            Killed(there.stdout(Stdio::null()).spawn().expect("a process"))
        };
        match self {
            Sender::Sockets => {
                let mut command = Command::new("python3");
                let sink = namespaces.on(TO, command.args(["-c", SINK, &to]));
                let (process, mut lines) = spawn(&mut { sink });
                assert_eq!(lines.next().expect("a line").expect("text"), "ready");
                vec![process]
            }
            // A server runs one test at a time.
            Sender::Iperf3 => ["5201", "5202"]
                .map(|port| start(Command::new("iperf3").args(["--server", "--port", port])))
                .into(),
            Sender::Rsync => {
                fs::create_dir(folder.path("to")).expect("a folder");
                let to_folder = folder.path("to");
                let options = "read only = no\nuse chroot = no\nuid = 0\ngid = 0";
                let module = format!("[to]\npath = {}\n{options}\n", to_folder.display());
                folder.write("rsyncd.conf", module);
                let mut command = Command::new("rsync");
                command.args(["--daemon", "--no-detach", "--address", &to, "--config"]);
                vec![start(command.arg(folder.path("rsyncd.conf")))]
            }
        }
    }

    /// The command on each host that sends a shuffle of so many bytes in all.
    fn commands(&self, folder: &TestFolder, bytes: usize, flows: usize) -> Vec<(u32, Command)> {
        let to = address(TO);
        let both = |command: &dyn Fn(u32) -> Command| [0, 1].map(|host| (host, command(host)));
        match self {
            Sender::Sockets => both(&|_| {
                let mut command = Command::new("python3");
                command.args(["-S", "-c", SEND, &to]);
                command.args([bytes / flows, flows / 2].map(|it| it.to_string()));
                command
            })
            .into(),
            Sender::Iperf3 => {
                let host = if flows > 2 { 0 } else { 1 };
                let mut command = Command::new("iperf3");
                command.args(["--client", &to, "--port", &(5201 + host).to_string()]);
                command.args(["--bytes", &bytes.to_string(), "--parallel", &flows.to_string()]);
                // A client does not wait for what is in its buffers, so they are small: a shuffle
                // is over when its bytes were sent.
                command.args(["--window", "128K"]);
                vec![(host, command)]
            }
            Sender::Rsync => both(&|host| {
                let name = format!("{host}-{flows}");
                folder.write(&name, vec![b'x'; bytes / 2]);
                let mut command = Command::new("rsync");
                command.args(["--whole-file", "--ignore-times"]).arg(folder.path(&name));
                command.arg(format!("rsync://{to}/to/"));
                command
            })
            .into(),
        }
    }

    /// Starts to send a shuffle.
    pub fn send(
        &self,
        namespaces: &Namespaces,
        folder: &TestFolder,
        bytes: usize,
        flows: usize,
    ) -> Shuffle {
        let commands = self.commands(folder, bytes, flows);
        let began = Instant::now();
        let start = |(host, command): &(u32, Command)| {
            let mut there = namespaces.on(*host, command);
            there.stdout(Stdio::null()).stderr(Stdio::null());
            Killed(there.spawn().expect("a process"))
        };
        Shuffle { processes: commands.iter().map(start).collect(), began }
    }
}

/// The processes that send a shuffle.
pub struct Shuffle {
    processes: Vec<Killed>,
    began: Instant,
}

impl Shuffle {
    /// The seconds since its begin, if it is over.
    pub fn took_s(&mut self) -> Option<f64> {
        let mut is_over = |Killed(process): &mut Killed| {
            let status = process.try_wait().expect("a process");
            assert!(status.is_none_or(|it| it.success()), "it sends all");
            status.is_some()
        };
        let are_over = self.processes.iter_mut().all(&mut is_over);
        are_over.then(|| self.began.elapsed().as_secs_f64())
    }

    /// Waits for its end, and returns how long it took in seconds.
    pub async fn ended(&mut self) -> f64 {
        loop {
            match self.took_s() {
                Some(took_s) => return took_s,
                None => tokio::time::sleep(Duration::from_millis(5)).await,
            }
            assert!(self.began.elapsed() < Duration::from_secs(120), "it is over at some time");
        }
    }
}
