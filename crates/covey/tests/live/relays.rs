//! Agents behind relays.

use std::net::SocketAddr;
use std::process::{Command, Stdio};

use covey_api::{Client, Credentials};
use covey_proto::{
    Decoder, FromAgent, FromRelay, Hello, RELAY_VERSION, Refusal, RelayHello, ToAgent, ToRelay,
    VERSION, encode,
};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::common::TestFolder;
use crate::harness::{
    Coordinator, Fluid, Killed, Relay, block_on, joined, metric, register, spawn_agents, state,
    token, until,
};

/// The command that starts an agent with these credentials.
fn agent(folder: &TestFolder, to: SocketAddr, port: &str, credentials: &str) -> Command {
    let to = to.to_string();
    let mut command = folder.command(&["agent", "--port", port, "--coordinator", &to]);
    command.args(["--credentials", credentials]);
    command
}

/// Waits until a coflow has ended.
async fn ends(client: &mut Client, id: u64) {
    until(20, "it ends", async || state(client, id).await == "ended").await;
}

#[test]
fn agents_behind_a_relay_are_scheduled_and_join_again_when_it_comes_back() {
    let folder = TestFolder::new();
    let times = ["--lost-after", "600ms", "--heartbeat", "100ms"];
    let coordinator = Coordinator::new(&folder, &times);
    block_on(async {
        let token = token(&folder);
        let mut client = coordinator.client(&folder).await;
        let relay = Relay::new(&folder, coordinator.agents);
        let address = relay.agents;
        let agents = spawn_agents(address, &token, 3);
        // One of the hosts has no relay.
        Fluid::default().join(coordinator.agents, &token, 3);
        until(10, "agents join", async || joined(&mut client).await == 4).await;
        assert_eq!(metric(&mut client, "covey_relays").await, 1.0);
        assert_eq!(metric(&mut client, "covey_agents_relayed").await, 3.0);
        let relays = client.get("/v1/relays").await.unwrap().json();
        assert_eq!((relays["items"].as_array().unwrap().len(), relays.get("next")), (1, None));
        let listed = &relays["items"][0];
        assert_eq!((&listed["agents"], listed["joined_s"].is_number()), (&3.into(), true));
        assert!(listed["peer"].as_str().unwrap().starts_with("127.0.0.1:"), "{listed}");
        let first = register(&mut client, &[(0, 1), (1, 2), (3, 0)]).await;
        ends(&mut client, first).await;

        drop(relay);
        until(10, "they are away", async || joined(&mut client).await == 1).await;
        assert_eq!(metric(&mut client, "covey_relays").await, 0.0);
        assert_eq!(metric(&mut client, "covey_agents_relayed").await, 0.0);
        until(10, "they are lost", async || {
            let page = client.get("/v1/agents").await.unwrap().json();
            page["items"][0]["state"] == "lost"
        })
        .await;
        let second = register(&mut client, &[(0, 1), (2, 3)]).await;
        until(10, "it stalls", async || state(&mut client, second).await == "stalled").await;

        let again = Relay::command(&folder, coordinator.agents, &address.to_string(), "data");
        let _relay = Relay::spawn(&mut { again });
        until(10, "they join again", async || joined(&mut client).await == 4).await;
        ends(&mut client, second).await;
        assert!(agents.iter().all(|agent| agent.flows().holds.0 == 1));
    });
}

#[test]
fn agents_behind_a_relay_follow_a_coordinator_that_was_killed() {
    let folder = TestFolder::new();
    let mut coordinator = Coordinator::new(&folder, &[]);
    block_on(async {
        let token = token(&folder);
        let relays = [(); 2].map(|()| Relay::new(&folder, coordinator.agents));
        let agents: Vec<Fluid> = (0..4)
            .map(|port| {
                let fluid = Fluid::default();
                fluid.join(relays[port as usize % 2].agents, &token, port);
                fluid
            })
            .collect();
        for epoch in 1..4 {
            let mut client = coordinator.client(&folder).await;
            until(10, "agents join", async || joined(&mut client).await == 4).await;
            let id = register(&mut client, &[(0, 1), (1, 2), (2, 3), (3, 0)]).await;
            ends(&mut client, id).await;
            // The coordinator is killed while a coflow is under way.
            let last = register(&mut client, &[(0, 1), (3, 2)]).await;
            coordinator.restart(&folder, &[]);
            let mut client = coordinator.client(&folder).await;
            ends(&mut client, last).await;
            until(10, "all know the epoch", async || {
                agents.iter().all(|agent| agent.flows().holds.0 == epoch + 1)
            })
            .await;
        }
    });
}

#[test]
fn a_relay_asks_for_the_token_and_has_to_show_it() {
    let folder = TestFolder::new();
    let coordinator = Coordinator::new(&folder, &[]);
    let relay = Relay::new(&folder, coordinator.agents);
    std::fs::create_dir(folder.path("wrong")).unwrap();
    folder.write("wrong/token", "nonsense\n");
    use std::os::unix::fs::PermissionsExt;
    let secret = std::fs::Permissions::from_mode(0o600);
    std::fs::set_permissions(folder.path("wrong/token"), secret).unwrap();
    let error = |mut command: Command| {
        let ran = command.stdin(Stdio::null()).output().unwrap();
        assert_eq!(ran.status.code(), Some(2));
        String::from_utf8(ran.stderr).unwrap()
    };
    block_on(async {
        let mut client = coordinator.client(&folder).await;
        Fluid::default().join(relay.agents, &token(&folder), 1);
        until(10, "one joins", async || joined(&mut client).await == 1).await;
    });
    let refused = error(agent(&folder, relay.agents, "0", "wrong"));
    assert!(refused.contains("the credential is wrong"), "{refused}");
    let refused = error(Relay::command(&folder, coordinator.agents, "127.0.0.1:0", "wrong"));
    assert!(refused.contains("refuses this relay: the credential is wrong"), "{refused}");
    assert!(!refused.contains("nonsense"), "{refused}");
    block_on(async {
        let mut client = coordinator.client(&folder).await;
        assert_eq!(metric(&mut client, "covey_refused_credentials_total").await, 1.0);
    });
}

#[test]
fn wrong_arguments_of_a_relay_are_told() {
    let folder = TestFolder::new();
    for (arguments, expected) in [
        (&["--listen", "somewhere"][..], "--listen: expected an address"),
        (&["--coordinator", "7421"], "--coordinator: expected a host and a port"),
        (&["--max-agents", "0"], "--max-agents: expected from 1 to 65536, found 0"),
        (&["--listen", "0.0.0.0:0"], "0.0.0.0:0 is not a loopback address"),
        (&["--credentials", "nowhere"], "nowhere/token: "),
    ] {
        let refusal = folder.refusal(&[&["relay"], arguments].concat());
        assert!(refusal.starts_with(expected), "{refusal}");
    }
    let refusal = folder.refusal(&["serve", "--init", "--data", "data", "--relay", "../10.0.0.1"]);
    assert!(refusal.starts_with("--relay: expected a name or an address"), "{refusal}");
}

#[test]
fn a_relay_speaks_only_for_ports_of_its_certificate() {
    let folder = TestFolder::new();
    let mut init = folder.command(&["serve", "--init", "--data", "data", "--agent", "0-3"]);
    assert!(init.args(["--relay", "127.0.0.1"]).output().unwrap().status.success());
    // A relay that may speak for port 2 alone.
    std::fs::create_dir(folder.path("narrow")).unwrap();
    for (from, name) in [("relays/127.0.0.1", "relay"), ("agents/2", "agent"), ("agents/2", "ca")] {
        for end in ["pem", "key"].iter().filter(|end| name != "ca" || **end == "pem") {
            let file = format!("{name}.{end}");
            let from = folder.path("data").join(from).join(&file);
            std::fs::copy(from, folder.path("narrow").join(&file)).unwrap();
        }
    }
    let coordinator = Coordinator::new(&folder, &[]);
    let start = |credentials: &str| {
        let any = "127.0.0.1:0";
        Relay::spawn(&mut Relay::command(&folder, coordinator.agents, any, credentials))
    };
    let (wide, narrow) = (start("data/relays/127.0.0.1"), start("narrow"));
    let run = |relay: &Relay, port: &str, credentials: &str| {
        let mut command = agent(&folder, relay.agents, port, credentials);
        Killed(command.stderr(Stdio::null()).spawn().expect("covey agent"))
    };
    block_on(async {
        let tls = Credentials::of(&folder.path("data")).client().unwrap();
        let mut client =
            Client::connect(coordinator.clients, &token(&folder), Some(tls)).await.unwrap();
        let mut agents = vec![run(&wide, "1", "data/agents/1"), run(&narrow, "2", "data/agents/2")];
        until(10, "they join", async || joined(&mut client).await == 2).await;
        // One shows a certificate for another port; one has the right one, which its relay has not.
        agents.push(run(&wide, "0", "data/agents/3"));
        agents.push(run(&narrow, "3", "data/agents/3"));
        for agent in &mut agents[2..] {
            until(10, "it is refused", async || {
                agent.0.try_wait().unwrap().is_some_and(|status| status.code() == Some(2))
            })
            .await;
        }
        let page: Value = client.get("/v1/agents").await.unwrap().json();
        let is = |port: usize| page["items"][port]["state"].as_str().unwrap().to_owned();
        assert_eq!([0, 1, 2, 3].map(is), ["awaited", "joined", "joined", "awaited"]);
    });
}

/// What a coordinator says to a relay that this test plays.
struct Played {
    stream: TcpStream,
    decoder: Decoder,
}

impl Played {
    async fn join(coordinator: SocketAddr, token: &[u8], version: u16) -> Played {
        let stream = TcpStream::connect(coordinator).await.unwrap();
        let mut played = Played { stream, decoder: Decoder::default() };
        played.say(&FromRelay::Hello(RelayHello { version, token: token.to_vec() })).await;
        played
    }

    async fn say(&mut self, message: &FromRelay) {
        let mut bytes = Vec::new();
        encode(message, &mut bytes);
        self.stream.write_all(&bytes).await.unwrap();
    }

    async fn said(&mut self, session: u64, bytes: Vec<u8>) {
        self.say(&FromRelay::Said { session, bytes }).await;
    }

    /// The next message; `None` when the connection is closed.
    async fn heard(&mut self) -> Option<ToRelay> {
        let mut buffer = [0; 4096];
        loop {
            if let Some(message) = self.decoder.take().unwrap() {
                return Some(message);
            }
            match self.stream.read(&mut buffer).await.unwrap() {
                0 => return None,
                count => self.decoder.push(&buffer[..count]),
            }
        }
    }

    /// The messages in the next piece for a session.
    async fn piece(&mut self, of: u64) -> Vec<ToAgent> {
        let Some(ToRelay::Say { session, bytes }) = self.heard().await else { panic!("no piece") };
        assert_eq!(session, of);
        let mut decoder = Decoder::default();
        decoder.push(&bytes);
        std::iter::from_fn(|| decoder.take().unwrap()).collect()
    }
}

fn hello(port: u32) -> Vec<u8> {
    let hello = Hello { version: VERSION, port, holds: (0, 0), token: Vec::new() };
    let mut bytes = Vec::new();
    encode(&FromAgent::Hello(hello), &mut bytes);
    bytes
}

#[test]
fn each_session_of_a_relay_ends_alone() {
    let folder = TestFolder::new();
    let coordinator = Coordinator::new(&folder, &[]);
    block_on(async {
        let token = token(&folder);
        let mut client = coordinator.client(&folder).await;
        let mut old = Played::join(coordinator.agents, &token, RELAY_VERSION + 1).await;
        assert_eq!(old.heard().await, Some(ToRelay::Refused(Refusal::Version)));
        assert_eq!(old.heard().await, None);

        let mut relay = Played::join(coordinator.agents, &token, RELAY_VERSION).await;
        let welcome = relay.heard().await;
        assert!(matches!(welcome, Some(ToRelay::Welcome { epoch: 1, .. })), "{welcome:?}");
        // A hello in two pieces.
        let (front, back) = (hello(0)[..9].to_vec(), hello(0)[9..].to_vec());
        relay.said(5, front).await;
        relay.said(5, back).await;
        assert!(matches!(relay.piece(5).await[..], [ToAgent::Welcome(_), ..]));
        relay.said(6, hello(1)).await;
        assert!(matches!(relay.piece(6).await[..], [ToAgent::Welcome(_), ..]));
        until(10, "both join", async || joined(&mut client).await == 2).await;

        // Garbage ends its own session, a hello that comes second does, and so does a port that is
        // not there.
        relay.said(6, vec![0; 8]).await;
        assert_eq!(relay.heard().await, Some(ToRelay::Close(6)));
        relay.said(6, hello(1)).await;
        relay.said(7, hello(9)).await;
        assert_eq!(relay.piece(7).await, [ToAgent::Refused(Refusal::Port)]);
        assert_eq!(relay.heard().await, Some(ToRelay::Close(7)));
        until(10, "one is left", async || joined(&mut client).await == 1).await;
        assert_eq!(metric(&mut client, "covey_refused_garbage_total").await, 1.0);

        // Another session of the port replaces the first, which had not taken its last piece: no
        // reason is given. Sessions may come in any order of their numbers.
        relay.said(2, hello(0)).await;
        assert_eq!(relay.heard().await, Some(ToRelay::Close(5)));
        assert!(matches!(relay.piece(2).await[..], [ToAgent::Welcome(_), ..]));
        // The relay says that an agent has left.
        relay.say(&FromRelay::Left(vec![2, 5])).await;
        until(10, "all have left", async || joined(&mut client).await == 0).await;
        relay.say(&FromRelay::Alive).await;
        assert_eq!(relay.heard().await, Some(ToRelay::Alive));
    });
}
