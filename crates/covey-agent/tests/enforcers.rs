//! Every enforcer of the list, made by its name: what the coordinator says reaches the applications
//! of each enforcer that has any.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use covey_agent::{CoordinatorEvent, ENFORCERS, EnforcerInfo, Setup};
use covey_proto::{CodecName, Decoder, Ended, FlowKey, FromApp, LOCAL_VERSION, ToApp, encode};

/// Enforcers without applications, and the one that needs root and a network namespace.
const ALONE: [&str; 2] = ["none", "recorded"];
const NEEDS_ROOT: [&str; 1] = ["htb"];

/// Environment variable of the process that runs in a network namespace of its own.
const INSIDE: &str = "COVEY_INSIDE_A_NAMESPACE";

const FLOW: FlowKey = FlowKey { coflow: 1, flow: 0 };
const CODEC: CodecName = CodecName::Lz4;

/// An application's connection to the agent.
struct App {
    stream: UnixStream,
    decoder: Decoder,
    heard: Vec<ToApp>,
}

impl App {
    fn connect(socket: &Path) -> App {
        let stream = UnixStream::connect(socket).expect("the agent listens");
        stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a timeout");
        let mut app = App { stream, decoder: Decoder::default(), heard: Vec::new() };
        app.say(&FromApp::Hello(LOCAL_VERSION));
        app
    }

    fn say(&mut self, message: &FromApp) {
        let mut bytes = Vec::new();
        encode(message, &mut bytes);
        self.stream.write_all(&bytes).expect("the agent listens");
    }

    /// Reads until this message has come.
    fn expect(&mut self, name: &str, message: &ToApp) {
        let mut buffer = [0; 4096];
        while !self.heard.contains(message) {
            let count = self.stream.read(&mut buffer).unwrap_or(0);
            assert!(count > 0, "{name}: {message:?} has not come, only {:?}", self.heard);
            self.decoder.push(&buffer[..count]);
            while let Some(message) = self.decoder.take().expect("a message") {
                self.heard.push(message);
            }
        }
        self.heard.clear();
    }
}

fn setup(folder: &Path) -> Setup {
    Setup {
        sockets: vec![folder.join("agent.sock")],
        report_every: Duration::from_millis(20),
        device: Some("lo".to_owned()),
        link_rate: Some(1e9),
        record: Some(folder.join("record")),
        ..Setup::default()
    }
}

async fn check(info: &EnforcerInfo) {
    let name = info.name;
    let folder = std::env::temp_dir().join(format!("covey-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let setup = setup(&folder);
    let made = info.make(&setup).await.unwrap_or_else(|error| panic!("{name}: {error}"));
    let (mut enforcer, has_apps) = (made.enforcer, !ALONE.contains(&name));
    assert_eq!(enforcer.sees_uses(), has_apps, "{name}");
    assert_eq!(setup.sockets[0].exists(), has_apps, "{name}");
    enforcer.heard(CoordinatorEvent::Joined { codec: Some(CODEC), openings: true });
    if has_apps {
        let mut app = App::connect(&setup.sockets[0]);
        app.expect(name, &ToApp::Coordinator { heard: true, codec: Some(CODEC) });
        app.say(&FromApp::Ended(vec![Ended { key: FLOW.into(), bytes: 1.0, wire: 1.0 }]));
        while enforcer.progress().ended.is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        enforcer.heard(CoordinatorEvent::Acknowledged(&[FLOW.into()]));
        app.expect(name, &ToApp::Acknowledged(vec![FLOW]));
        enforcer.heard(CoordinatorEvent::Left);
        app.expect(name, &ToApp::Coordinator { heard: false, codec: Some(CODEC) });
    }
    drop(enforcer);
    std::fs::remove_dir_all(&folder).expect("the folder was there");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_coordinator_reaches_the_applications_of_every_enforcer() {
    for info in ENFORCERS.iter().filter(|info| !NEEDS_ROOT.contains(&info.name)) {
        check(info).await;
    }
}

#[test]
fn the_coordinator_reaches_the_applications_of_every_enforcer_that_needs_root() {
    if std::env::var_os(INSIDE).is_some() {
        let runtime = tokio::runtime::Runtime::new().expect("a runtime");
        for info in ENFORCERS.iter().filter(|info| NEEDS_ROOT.contains(&info.name)) {
            runtime.block_on(check(info));
        }
        return;
    }
    let can = Command::new("unshare").args(["-n", "true"]).output();
    if !can.is_ok_and(|output| output.status.success()) {
        let must_run = std::env::var_os("SKIP_NOTHING").is_some();
        assert!(!(must_run && rustix::process::geteuid().is_root()), "`unshare -n true` fails");
        // Not `eprintln!`: the output of a passing test is not shown.
        let what = "skipped: enforcers that need root are not tested: unshare -n fails";
        writeln!(std::io::stderr(), "{what}").expect("standard error");
        return;
    }
    let name = "the_coordinator_reaches_the_applications_of_every_enforcer_that_needs_root";
    let output = Command::new("unshare")
        .arg("-n")
        .arg(std::env::current_exe().expect("this program"))
        .args(["--exact", name, "--nocapture"])
        .env(INSIDE, "yes")
        .output()
        .expect("unshare works");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stdout));
}

#[tokio::test]
async fn a_setting_that_is_missing_is_named() {
    for (name, error) in [
        ("pacing", "--socket: expected a file, found none"),
        ("recorded", "--record: expected a file, found none"),
        ("htb", "--link-rate: expected a rate like 10gbps, found none, and v7 says none"),
    ] {
        let info = ENFORCERS.iter().find(|info| info.name == name).expect("in the list");
        let setup = Setup { device: Some("v7".to_owned()), ..Setup::default() };
        let Err(found) = info.make(&setup).await else { panic!("{name} needs it") };
        assert_eq!(found.to_string(), error);
    }
}
