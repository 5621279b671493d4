//! `covey attach --observe` and `covey detach`.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Stdio;
use std::thread;

use crate::common::TestFolder;

/// Listens, and reads all that comes. Returns the port.
fn sink() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("an address");
    let port = listener.local_addr().expect("its address").port();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.expect("a connection");
            thread::spawn(move || {
                let mut buffer = vec![0; 1 << 16];
                while stream.read(&mut buffer).is_ok_and(|count| count > 0) {}
            });
        }
    });
    port
}

#[test]
fn records_of_connections_are_what_identify_reads() {
    let folder = TestFolder::new();
    let port = sink();
    let send = format!(
        "exec 3<>/dev/tcp/127.0.0.1/{port}; head -c 300000 /dev/zero >&3; sleep 0.5; head -c 45678 /dev/zero >&3"
    );
    let words = ["attach", "--observe", "--output", "flows.csv", "--", "bash", "-c", &send];
    let ran = folder.covey(&words);
    assert_eq!(ran.status, Some(0), "{}", ran.err);
    let text = folder.read("flows.csv");
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("start_s,src,dst,sport,dport,proto,bytes,end_s,label"));
    let row: Vec<&str> = lines.next().expect("a flow").split(',').collect();
    assert_eq!(row[1..3], ["127.0.0.1", "127.0.0.1"]);
    assert_eq!(row[4..7], [&port.to_string(), "6", "345678"]);
    assert!(row[7].parse::<f64>().expect("an end") > row[0].parse::<f64>().expect("a start") + 0.4);
    assert_eq!(lines.next(), None, "{text}");
    let found = folder.results(&["identify", "flows.csv"]);
    assert!(found.contains("1 group of 1 flow among 1 host"), "{found}");
}

#[test]
fn a_connection_that_stays_open_has_no_end() {
    let folder = TestFolder::new();
    let mut stream = TcpStream::connect(("127.0.0.1", sink())).expect("a connection");
    stream.write_all(&[1; 5000]).expect("it is read");
    let port = stream.local_addr().expect("its address").port().to_string();
    let own = std::process::id().to_string();
    let words = ["attach", "--observe", "--pid", &own, "--for", "200ms"];
    let mut child = folder.command(&words).stdout(Stdio::piped()).spawn().expect("covey");
    let mut text = String::new();
    child.stdout.take().expect("its output").read_to_string(&mut text).expect("text");
    assert!(child.wait().expect("it ends").success());
    let row = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let row = { row }.find(|row| row[3] == port).unwrap_or_else(|| panic!("{port}: {text}"));
    assert_eq!(row[6..], ["5000", "", ""]);
}

#[test]
fn what_cannot_be_attached_is_said_in_a_line() {
    let folder = TestFolder::new();
    let cases: [(&[&str], &str); 6] = [
        (
            &["attach", "--observe"],
            "which processes: expected --pid, --cgroup, --host, or -- and a command, found none of them",
        ),
        (
            &["attach", "--observe", "--pid", "999999999"],
            "--pid: expected a process that runs, found 999999999",
        ),
        (
            &["attach", "--observe", "--cgroup", "nowhere"],
            "--cgroup: expected a folder with a file cgroup.procs, found 'nowhere'",
        ),
        (
            &["attach", "--observe", "--", "no-such-program"],
            "COMMAND: no-such-program: No such file",
        ),
        (&["attach", "--host"], "--port"),
        (&["detach"], "which processes: expected --pid, --cgroup or --host, found none of them"),
    ];
    for (words, expected) in cases {
        let found = folder.refusal(words);
        assert!(found.contains(expected), "{words:?}: {found}");
    }
}

#[test]
fn the_end_of_the_command_is_the_end() {
    let folder = TestFolder::new();
    let ran = folder.covey(&["attach", "--observe", "--", "sh", "-c", "exit 3"]);
    assert_eq!(ran.status, Some(1));
    assert!(ran.err.contains("COMMAND: exit status: 3"), "{}", ran.err);
}
