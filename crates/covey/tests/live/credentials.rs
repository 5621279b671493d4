//! Refusals of credentials, and their counts and logs.

use std::process::Stdio;

use covey_api::{Client, Credentials};
use covey_proto::{
    Decoder, Entry, FlowKey, FromAgent, Hello, Refusal, Schedule, Service, ToAgent, VERSION,
    Welcome, encode,
};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::clock::Clock;
use crate::common::TestFolder;
use crate::harness::{Coordinator, Killed, agent, block_on, metric, scatter, token, until};

/// The lines of the log that say that an agent was refused for its credential, at least one.
fn refusals(folder: &TestFolder) -> impl Iterator<Item = String> {
    let log = folder.read("log");
    let is_refusal = |line: &&str| {
        line.contains("reason=\"credential\"")
            && line.contains("the credential of the agent is wrong")
    };
    let lines: Vec<String> = log.lines().filter(is_refusal).map(str::to_owned).collect();
    assert!(!lines.is_empty(), "{log}");
    lines.into_iter()
}

#[test]
fn no_agent_joins_without_the_right_credential() {
    let folder = TestFolder::new();
    let coordinator = Coordinator::logged(&folder, &[]);
    std::fs::create_dir(folder.path("wrong")).unwrap();
    folder.write("wrong/token", "nonsense\n");
    let run = |name: &str| agent(&folder, &coordinator, "0", &folder.path(name)).output().unwrap();
    // Others could read it.
    let open = run("wrong");
    assert_eq!(open.status.code(), Some(2));
    assert!(String::from_utf8(open.stderr).unwrap().contains("expected mode 0600"));
    use std::os::unix::fs::PermissionsExt;
    let secret = std::fs::Permissions::from_mode(0o600);
    std::fs::set_permissions(folder.path("wrong/token"), secret).unwrap();
    let wrong = run("wrong");
    assert_eq!(wrong.status.code(), Some(2));
    assert!(String::from_utf8(wrong.stderr).unwrap().contains("the credential is wrong"));
    block_on(async {
        let mut client = coordinator.client(&folder).await;
        assert_eq!(metric(&mut client, "covey_refused_credentials_total").await, 1.0);
    });
    assert!(refusals(&folder).all(|line| line.contains(" peer=127.0.0.1:")));
}

#[test]
fn only_certificates_of_the_private_ca_are_valid() {
    let folder = TestFolder::new();
    let init = |data: &str| {
        let ran = folder.command(&["serve", "--init", "--data", data]).output().unwrap();
        assert!(ran.status.success());
    };
    init("data");
    init("others");
    let coordinator = Coordinator::new(&folder, &[]);
    block_on(async {
        let tls = Credentials::of(&folder.path("data")).client().unwrap();
        let mut client =
            Client::connect(coordinator.clients, &token(&folder), Some(tls)).await.unwrap();
        assert_eq!(client.get("/v1/coflows").await.unwrap().status, 200);
        let good = agent(&folder, &coordinator, "1", &folder.path("data")).spawn();
        let _good = Killed(good.unwrap());
        let bad = agent(&folder, &coordinator, "2", &folder.path("others")).spawn();
        let _bad = Killed(bad.unwrap());
        let mut page = Value::Null;
        until(10, "one joins, one is refused", async || {
            page = client.get("/v1/agents").await.unwrap().json();
            let metrics = client.get("/metrics").await.unwrap().body;
            let metrics = String::from_utf8(metrics).unwrap();
            page["items"][1]["state"] == "joined"
                && !metrics.contains("covey_refused_credentials_total 0\n")
        })
        .await;
        assert_eq!(page["items"][2]["state"], "awaited");
    });
}

#[test]
fn a_public_address_needs_certificates() {
    let folder = TestFolder::new();
    for address in ["--clients", "--agents"] {
        let refusal = folder.refusal(&["serve", "--data", "data", address, "0.0.0.0:0"]);
        assert!(refusal.starts_with("0.0.0.0:0 is not a loopback address"), "{refusal}");
    }
}

#[test]
fn garbage_on_the_port_of_agents_does_no_harm() {
    use std::io::Write;
    let folder = TestFolder::new();
    let coordinator = Coordinator::new(&folder, &[]);
    for k in 0..200_u64 {
        let mut stream = std::net::TcpStream::connect(coordinator.agents).unwrap();
        let garbage: Vec<u8> = (0..200).map(|i| scatter(k * 1000 + i) as u8).collect();
        // The connection may have been cut meanwhile.
        let _ = stream.write_all(&garbage[..(k as usize % 200)]);
    }
    block_on(async {
        let mut client = coordinator.client(&folder).await;
        until(20, "it is counted", async || {
            let metrics = client.get("/metrics").await.unwrap().body;
            !String::from_utf8(metrics).unwrap().contains("covey_refused_garbage_total 0\n")
        })
        .await;
        assert_eq!(client.get("/readyz").await.unwrap().status, 200);
    });
}

#[test]
fn a_certificate_that_has_expired_is_refused_counted_and_logged() {
    let folder = TestFolder::new();
    let Some(clock) = Clock::new(&folder) else { return };
    assert!(
        folder.command(&["serve", "--init", "--data", "data"]).output().unwrap().status.success()
    );
    let mut serve = Coordinator::command(&folder, "127.0.0.1:0", "127.0.0.1:0", &[]);
    serve.stderr(std::fs::File::create(folder.path("log")).unwrap());
    let coordinator = Coordinator::spawn(&mut clock.governs(serve));
    // The coordinator's clock is ten years ahead of the agent's and this test's.
    clock.jump(10);
    let mut agent = agent(&folder, &coordinator, "1", &folder.path("data"));
    let _agent = Killed(agent.stderr(Stdio::null()).spawn().unwrap());
    block_on(async {
        let tls = Credentials::of(&folder.path("data")).client().unwrap();
        let mut client =
            Client::connect(coordinator.clients, &token(&folder), Some(tls)).await.unwrap();
        until(10, "it is refused", async || {
            metric(&mut client, "covey_refused_credentials_total").await > 0.0
        })
        .await;
        assert_eq!(metric(&mut client, "covey_agents").await, 0.0);
    });
    let log = folder.read("log");
    assert!(log.contains("reason=\"handshake\"") && log.contains("expired"), "{log}");
    // One that starts then says that its own has expired.
    drop(coordinator);
    let mut serve = Coordinator::command(&folder, "127.0.0.1:0", "127.0.0.1:0", &[]);
    serve.stderr(std::fs::File::create(folder.path("log")).unwrap());
    let _again = Coordinator::spawn(&mut clock.governs(serve));
    let log = folder.read("log");
    assert!(
        log.contains("coordinator.pem has expired") && log.contains("covey certs renew"),
        "{log}"
    );
}

#[test]
fn an_agent_speaks_for_its_own_port_alone() {
    let folder = TestFolder::new();
    let init = ["serve", "--init", "--data", "data", "--agent", "1-2"];
    assert!(folder.command(&init).output().unwrap().status.success());
    let refusal = folder.refusal(&["serve", "--init", "--data", "data", "--agent", "2-1"]);
    assert_eq!(refusal, "--agent: expected a port, or ports like 0-15, found '2-1'");
    let coordinator = Coordinator::logged(&folder, &[]);
    let own = folder.path("data/agents/1");
    let other = agent(&folder, &coordinator, "2", &own).output().unwrap();
    assert_eq!(other.status.code(), Some(2));
    assert!(String::from_utf8(other.stderr).unwrap().contains("the credential is wrong"));
    assert!(refusals(&folder).all(|line| line.contains(" peer=127.0.0.1:")));
    let _agent = Killed(agent(&folder, &coordinator, "1", &own).spawn().unwrap());
    block_on(async {
        let tls = Credentials::of(&folder.path("data")).client().unwrap();
        let mut client =
            Client::connect(coordinator.clients, &token(&folder), Some(tls)).await.unwrap();
        until(10, "it joins", async || metric(&mut client, "covey_agents").await == 1.0).await;
        assert_eq!(metric(&mut client, "covey_refused_credentials_total").await, 1.0);
    });
}

/// One side of a connection, message by message.
struct Peer {
    stream: TcpStream,
    decoder: Decoder,
}

impl Peer {
    fn new(stream: TcpStream) -> Peer {
        Peer { stream, decoder: Decoder::default() }
    }

    async fn say(&mut self, message: &impl covey_proto::Message) {
        let mut bytes = Vec::new();
        encode(message, &mut bytes);
        self.stream.write_all(&bytes).await.unwrap();
    }

    async fn hear<M: covey_proto::Message>(&mut self) -> M {
        loop {
            if let Some(message) = self.decoder.take().unwrap() {
                return message;
            }
            let mut buffer = [0; 512];
            let count = self.stream.read(&mut buffer).await.unwrap();
            assert!(count > 0, "the connection is closed");
            self.decoder.push(&buffer[..count]);
        }
    }
}

#[test]
fn a_replayed_schedule_is_dropped_counted_and_logged() {
    let folder = TestFolder::new();
    folder.write("token", "secret\n");
    use std::os::unix::fs::PermissionsExt;
    let secret = std::fs::Permissions::from_mode(0o600);
    std::fs::set_permissions(folder.path("token"), secret).unwrap();
    block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let mut command = folder.command(&["agent", "--port", "0", "--credentials", "."]);
        command.args(["--coordinator", &address, "--enforcer", "recorded", "--record", "record"]);
        let log = std::fs::File::create(folder.path("log")).unwrap();
        let _agent = Killed(command.stderr(log).spawn().unwrap());
        let mut peer = Peer::new(listener.accept().await.unwrap().0);
        assert!(matches!(peer.hear().await, FromAgent::Hello(_)));
        let (report_every_s, heartbeat_s) = (0.0, 60.0);
        let welcome = Welcome {
            version: VERSION,
            epoch: 5,
            report_every_s,
            heartbeat_s,
            codec: None,
            idle_after_s: 1.0,
            groups: false,
        };
        peer.say(&ToAgent::Welcome(welcome)).await;
        let schedule = |epoch, version| {
            let key = FlowKey { coflow: 0, flow: version as u32 };
            let set = vec![Entry {
                key: key.into(),
                service: Service { layer: 0, rate: 1.0, codec: None },
            }];
            ToAgent::Schedule(Schedule { epoch, version, base: 0, set, removed: Vec::new() })
        };
        peer.say(&schedule(5, 1)).await;
        let applied = peer.hear::<FromAgent>().await;
        assert_eq!(applied, FromAgent::Applied { epoch: 5, version: 1 });
        // The same again, and one of an older epoch, many times; then one that counts.
        for (epoch, version) in [(5, 1), (4, 9)].repeat(500).into_iter().chain([(5, 2)]) {
            peer.say(&schedule(epoch, version)).await;
        }
        let applied = peer.hear::<FromAgent>().await;
        assert_eq!(applied, FromAgent::Applied { epoch: 5, version: 2 });
        until(10, "it is logged", async || folder.read("log").contains("dropped=")).await;
    });
    // Others of this kind in the same minute are counted when it is over.
    assert_eq!(folder.read("log").matches("dropped an older schedule").count(), 1);
    assert_eq!(folder.read("record").lines().count(), 2);
}

#[test]
fn an_agent_that_knows_of_a_later_epoch_is_refused_counted_and_logged() {
    let folder = TestFolder::new();
    let coordinator = Coordinator::logged(&folder, &[]);
    block_on(async {
        let mut peer = Peer::new(TcpStream::connect(coordinator.agents).await.unwrap());
        let token = token(&folder);
        let hello = Hello { version: VERSION, port: 0, holds: (9, 1), token };
        peer.say(&FromAgent::Hello(hello)).await;
        assert_eq!(peer.hear::<ToAgent>().await, ToAgent::Refused(Refusal::Order));
        let mut client = coordinator.client(&folder).await;
        // The answer may be here before numbers are told.
        let mut refused = async || metric(&mut client, "covey_refused_epochs_total").await;
        until(3, "it is counted", async || refused().await == 1.0).await;
        assert_eq!(metric(&mut client, "covey_agents").await, 0.0);
    });
    assert!(folder.read("log").contains("it knows of a later epoch"));
}
