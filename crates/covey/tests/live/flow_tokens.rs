//! Flow tokens, between a coordinator, agents and applications as they run.

use std::fs::File;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;
use std::time::Duration;

use covey_client::{
    Client as Application, Coflow, CoflowSpec, Flow, FlowReceiver, Incoming, Listener, Options,
    Scheduled, TlsFiles,
};
use covey_proto::{Direction, FlowHeader, FlowKey, ProofRefusal, REFUSAL, refusal_of};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::certificates::hang_up;
use crate::common::TestFolder;
use crate::harness::{Coordinator, Killed, Relay, block_on, joined, metric, until};

/// A coordinator, the agents of two ports, and an application at each.
pub struct Hosts {
    pub coordinator: Coordinator,
    agents: Vec<Killed>,
    pub sender: Application,
    pub receiver: Application,
}

/// Starts the agent of a port.
fn agent(folder: &TestFolder, port: usize, at: SocketAddr) -> Killed {
    let (name, at) = (port.to_string(), at.to_string());
    let mut command = folder.command(&["agent", "--port", &name, "--coordinator", &at]);
    let socket = folder.path(&format!("{port}.sock"));
    command.args(["--credentials", "data", "--socket"]).arg(socket);
    let log = File::create(folder.path(&format!("log-{port}"))).expect("a file");
    let command = command.stdout(Stdio::null()).stderr(log);
    Killed(command.spawn().expect("covey agent"))
}

impl Hosts {
    pub async fn start(folder: &TestFolder, more: &[&str]) -> Hosts {
        let coordinator = Coordinator::logged(folder, more);
        let at = [coordinator.agents; 2];
        Hosts::join(folder, coordinator, at).await
    }

    /// Hosts whose agents connect to these addresses.
    async fn join(folder: &TestFolder, coordinator: Coordinator, at: [SocketAddr; 2]) -> Hosts {
        let mut client = coordinator.client(folder).await;
        let (mut agents, mut applications) = (Vec::new(), Vec::new());
        for (port, at) in at.into_iter().enumerate() {
            let socket = folder.path(&format!("{port}.sock"));
            agents.push(agent(folder, port, at));
            until(10, "it joins", async || joined(&mut client).await == port + 1).await;
            let options = Options {
                agent: Some(socket),
                coordinator: Some(coordinator.clients.into()),
                credentials: folder.path("data"),
                ..Options::default()
            };
            applications.push(Application::start(options).await.expect("credentials"));
        }
        let receiver = applications.pop().expect("two");
        let sender = applications.pop().expect("two");
        for application in [&sender, &receiver] {
            until(10, "it is scheduled", async || application.scheduled() == Scheduled::Yes).await;
        }
        Hosts { coordinator, agents, sender, receiver }
    }

    /// Another application on the host that sends.
    pub async fn another_sender(&self, folder: &TestFolder) -> Application {
        let options = Options {
            agent: Some(folder.path("0.sock")),
            coordinator: Some(self.coordinator.clients.into()),
            credentials: folder.path("data"),
            ..Options::default()
        };
        let application = Application::start(options).await.expect("credentials");
        until(10, "scheduled", async || application.scheduled() == Scheduled::Yes).await;
        application
    }

    pub async fn listen(&self) -> Listener {
        self.receiver.listen("127.0.0.1:0").await.expect("a port")
    }

    /// Registers a coflow of a flow from the sender to the receiver.
    async fn coflow(&self) -> Coflow {
        let spec = CoflowSpec::of(vec![Flow::new(0, 1, Some(5.0))]);
        let coflow = self.sender.register(&spec).await.expect("a coordinator");
        assert!(coflow.is_registered());
        coflow
    }
}

pub async fn next(listener: &mut Listener) -> FlowReceiver {
    match listener.accept().await.expect("a flow") {
        Incoming::Flow(flow) => flow,
        Incoming::Request(_) => panic!("no flow is asked for"),
    }
}

/// Sends the flow of a coflow, and receives it.
async fn carry(coflow: &Coflow, listener: &mut Listener) {
    let mut sender = coflow.open(0, listener.local_addr(), Some(5), b"").await.expect("open");
    let mut receiver = next(listener).await;
    let write = async {
        sender.write_all(b"hello").await.expect("it is taken");
        sender.finish().await.expect("all has come");
    };
    let mut read = String::new();
    let (_, count) = tokio::join!(write, receiver.read_to_string(&mut read));
    assert_eq!((count.expect("nothing breaks"), read.as_str()), (5, "hello"));
}

/// Writes the header of a flow on a socket of its own. Returns the answer, if there is one.
async fn raw(listener: &Listener, coflow: u64) -> Option<ProofRefusal> {
    let mut stream = TcpStream::connect(listener.local_addr()).await.expect("open");
    let header = FlowHeader {
        key: FlowKey { coflow, flow: 0 },
        direction: Direction::Pushed,
        bytes: Some(5),
        chunked: false,
        with_notes: false,
        label: Vec::new(),
    };
    let mut bytes = Vec::new();
    header.encode(&mut bytes);
    stream.write_all(&[&bytes[..], b"wrong"].concat()).await.expect("room");
    let mut answer = [0; REFUSAL];
    stream.read_exact(&mut answer).await.expect("an answer");
    refusal_of(&answer)
}

#[test]
fn a_raw_header_is_refused_and_does_not_take_the_flow_s_place() {
    let folder = TestFolder::new();
    block_on(async {
        let hosts = Hosts::start(&folder, &[]).await;
        let (mut listener, coflow) = (hosts.listen().await, hosts.coflow().await);
        assert_eq!(raw(&listener, coflow.id()).await, Some(ProofRefusal::Missing));
        carry(&coflow, &mut listener).await;
        let status = coflow.ended().await.expect("a coordinator").expect("a status");
        assert_eq!(status.bytes_sent, 5.0);
        let mut client = hosts.coordinator.client(&folder).await;
        let refused = "covey_flows_refused_total";
        until(10, "it is counted", async || metric(&mut client, refused).await == 1.0).await;
        assert_eq!(metric(&mut client, "covey_flows_unproven_total").await, 0.0);
        let line = format!("flow 0 of coflow {}: it shows no proof", coflow.id());
        assert!(folder.read("log-1").contains(&line), "{}", folder.read("log-1"));
        // The port is the receiver's: nobody else is given a token.
        let stolen = hosts.coflow().await;
        let thief = hosts.receiver.join(stolen.id());
        let opened = thief.open(0, listener.local_addr(), Some(5), b"").await;
        let error = opened.err().expect("it is refused");
        assert!(error.to_string().contains("the host of port 0 is registered"), "{error}");
        carry(&stolen, &mut listener).await;
    });
    let mode = std::fs::metadata(folder.path("data/flow-secret")).expect("a file").permissions();
    assert_eq!(mode.mode() & 0o777, 0o600);
}

#[test]
fn flows_go_on_while_the_coordinator_is_away_and_after_it_is_back() {
    let folder = TestFolder::new();
    block_on(async {
        let mut hosts = Hosts::start(&folder, &[]).await;
        let mut listener = hosts.listen().await;
        let (first, second) = (hosts.coflow().await, hosts.coflow().await);
        hosts.coordinator.process.kill().expect("a process");
        hosts.coordinator.process.wait().expect("a process");
        carry(&first, &mut listener).await;
        assert_eq!(raw(&listener, second.id()).await, Some(ProofRefusal::Missing));
        hosts.coordinator.restart(&folder, &[]);
        // While agents join again, and afterwards.
        carry(&second, &mut listener).await;
        let mut client = hosts.coordinator.client(&folder).await;
        until(10, "agents are back", async || joined(&mut client).await == 2).await;
        for application in [&hosts.sender, &hosts.receiver] {
            until(10, "it is scheduled", async || application.scheduled() == Scheduled::Yes).await;
        }
        let mut third = hosts.coflow().await;
        until(20, "coflows are registered again", async || {
            third = hosts
                .sender
                .register(&CoflowSpec::of(vec![Flow::new(0, 1, Some(5.0))]))
                .await
                .expect("lenient");
            third.is_registered()
        })
        .await;
        carry(&third, &mut listener).await;
    });
}

#[test]
fn an_agent_that_starts_while_the_coordinator_is_away_has_the_keys_of_the_one_before() {
    let folder = TestFolder::new();
    block_on(async {
        let mut hosts = Hosts::start(&folder, &[]).await;
        let mut listener = hosts.listen().await;
        let (first, second) = (hosts.coflow().await, hosts.coflow().await);
        let at = hosts.coordinator.agents;
        hosts.coordinator.process.kill().expect("a process");
        hosts.coordinator.process.wait().expect("a process");
        // First the host that begins, and then both.
        for (coflow, ports) in [(&first, &[0][..]), (&second, &[0, 1])] {
            for &port in ports {
                hosts.agents[port].0.kill().expect("a process");
                hosts.agents[port].0.wait().expect("a process");
                hosts.agents[port] = agent(&folder, port, at);
            }
            for application in [&hosts.sender, &hosts.receiver] {
                let is_back = async || application.scheduled() == Scheduled::NoCoordinator;
                until(20, "its agent is back", is_back).await;
            }
            carry(coflow, &mut listener).await;
            assert_eq!(raw(&listener, coflow.id()).await, Some(ProofRefusal::Missing));
        }
    });
}

#[test]
fn a_relay_passes_tokens_on_and_a_host_behind_one_that_dies_goes_on_without() {
    let folder = TestFolder::new();
    block_on(async {
        let coordinator = Coordinator::logged(&folder, &[]);
        let relay = Relay::new(&folder, coordinator.agents);
        let at = [relay.agents, coordinator.agents];
        let hosts = Hosts::join(&folder, coordinator, at).await;
        let mut listener = hosts.listen().await;
        carry(&hosts.coflow().await, &mut listener).await;
        let coflow = hosts.coflow().await;
        drop(relay);
        let sender = &hosts.sender;
        until(10, "it is away", async || sender.scheduled() == Scheduled::NoCoordinator).await;
        // The receiver's agent has the coordinator confirm the proof of the sender's.
        carry(&coflow, &mut listener).await;
        assert_eq!(raw(&listener, coflow.id()).await, Some(ProofRefusal::Missing));
    });
}

#[test]
fn tokens_may_be_left_out_or_allowed_to_be_missing() {
    for (mode, unproven) in [("off", 0.0), ("allow", 1.0)] {
        let folder = TestFolder::new();
        block_on(async {
            let hosts = Hosts::start(&folder, &["--flow-tokens", mode]).await;
            let (mut listener, coflow) = (hosts.listen().await, hosts.coflow().await);
            let stranger = Application::start(Options {
                agent: None,
                coordinator: None,
                ..Options::default()
            });
            let stranger = stranger.await.expect("no credentials");
            carry(&stranger.join(coflow.id()), &mut listener).await;
            carry(&coflow, &mut listener).await;
            let mut client = hosts.coordinator.client(&folder).await;
            let count = "covey_flows_unproven_total";
            until(10, "it is counted", async || metric(&mut client, count).await == unproven).await;
        });
    }
}

#[test]
fn another_secret_takes_effect_without_a_restart() {
    let folder = TestFolder::new();
    block_on(async {
        let hosts = Hosts::start(&folder, &[]).await;
        let (mut listener, coflow) = (hosts.listen().await, hosts.coflow().await);
        let before = folder.read("data/flow-secret");
        folder.write("data/flow-secret", format!("{}\n", "0f".repeat(32)));
        assert_ne!(folder.read("data/flow-secret"), before);
        hang_up(&hosts.coordinator);
        carry(&coflow, &mut listener).await;
        tokio::time::sleep(Duration::from_millis(300)).await;
        carry(&hosts.coflow().await, &mut listener).await;
    });
}

#[test]
fn with_the_certificates_of_agents_flows_have_tls() {
    let folder = TestFolder::new();
    folder.results(&["serve", "--init", "--data", "ca", "--agent", "0-1"]);
    block_on(async {
        let start = async |port: u32| {
            let tls = TlsFiles::of_agent(&folder.path(&format!("ca/agents/{port}")));
            let options =
                Options { agent: None, coordinator: None, tls: Some(tls), ..Options::default() };
            Application::start(options).await.expect("certificates")
        };
        let (sender, receiver) = (start(0).await, start(1).await);
        let mut listener = receiver.listen("127.0.0.1:0").await.expect("a port");
        carry(&sender.join(1 << 63), &mut listener).await;
        // A certificate that is revoked counts no more.
        folder.results(&["certs", "revoke", "--data", "ca", "agents/0"]);
        std::fs::copy(folder.path("ca/crl.pem"), folder.path("ca/agents/1/crl.pem"))
            .expect("a file");
        let again = start(1).await;
        let listener = again.listen("127.0.0.1:0").await.expect("a port");
        let refused = async {
            let coflow = sender.join(1 << 63);
            let mut flow = coflow.open(0, listener.local_addr(), Some(1), b"").await?;
            flow.write_all(b"x").await?;
            flow.finish().await
        };
        refused.await.expect_err("it is revoked");
    });
}
