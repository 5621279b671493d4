//! Dead applications, agents and hosts hold no ports, and others get their rates.

use std::io::Write;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use covey_client::{Client as Application, CoflowSpec, Flow, Incoming, Options, Scheduled};
use covey_proto::{FlowKey, FromApp, LOCAL_VERSION, Sent, encode};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::common::TestFolder;
use crate::harness::{block_on, joined, metric, register, until};
use crate::hosts::{Hosts, signal};

/// The time without bytes after which a flow is idle.
const TIMES: [&str; 4] = ["--idle-after", "400ms", "--heartbeat", "200ms"];
/// The lease of a coflow.
const LEASES: [&str; 6] = ["--lease", "800ms", "--heartbeat", "200ms", "--idle-after", "1min"];

/// An application's connection to its agent; dropping it is like killing the application.
struct App(UnixStream);

impl App {
    /// Connects to the agent in `data`, and opens a flow of a coflow.
    async fn with(folder: &TestFolder, coflow: u64) -> App {
        let path = folder.path("data/agent.sock");
        until(5, "an agent", async || UnixStream::connect(&path).is_ok()).await;
        let mut app = App(UnixStream::connect(path).expect("an agent"));
        app.say(&FromApp::Hello(LOCAL_VERSION));
        app.say(&FromApp::Opened(vec![FlowKey { coflow, flow: 0 }]));
        app
    }

    fn say(&mut self, message: &FromApp) {
        let mut bytes = Vec::new();
        encode(message, &mut bytes);
        self.0.write_all(&bytes).expect("an agent");
    }

    /// Sends for `ms` milliseconds.
    async fn sends(&mut self, coflow: u64, from: u32, ms: u32) {
        for k in 1..=ms / 20 {
            let bytes = f64::from(1000 * (from + k));
            let key = FlowKey { coflow, flow: 0 };
            self.say(&FromApp::Sent(vec![Sent { key: key.into(), bytes, wire: bytes }]));
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

impl Hosts {
    async fn coflow(&mut self, id: u64) -> Value {
        self.client.get(&format!("/v1/coflows/{id}")).await.expect("an answer").json()
    }

    /// Waits until another coflow has all rates that a coflow has lost.
    async fn until_lost(&mut self, id: u64, why: &str) {
        until(3, why, async || self.coflow(id).await["idle_why"] == why).await;
        assert_eq!(self.coflow(id).await["rate"], 0.0);
        let other = register(&mut self.client, &[(0, 1)]).await;
        until(1, "all", async || self.coflow(other).await["rate"] == 125e6).await;
        let path = format!("/v1/coflows/{other}");
        assert_eq!(self.client.ask("DELETE", &path, &[], "").await.expect("an answer").status, 204);
    }

    async fn until_served(&mut self, id: u64) {
        until(3, "it goes on", async || self.coflow(id).await["rate"] == 125e6).await;
    }
}

#[test]
fn a_killed_application_frees_its_flows_at_once() {
    let folder = TestFolder::new();
    block_on(async {
        let mut hosts = Hosts::start(&folder, &TIMES).await;
        // As far as the coordinator knows, the same application would open the other flow.
        let dead = register(&mut hosts.client, &[(0, 1), (0, 1)]).await;
        let mut app = App::with(&folder, dead).await;
        app.sends(dead, 0, 600).await;
        assert_eq!(hosts.coflow(dead).await["flows_idle"], 0);
        drop(app);
        until(1, "both", async || hosts.coflow(dead).await["flows_idle"] == 2).await;
        hosts.until_lost(dead, "closed").await;
        until(1, "told", async || metric(&mut hosts.client, "covey_coflows_idle").await == 1.0)
            .await;
        let closed = r#"covey_flows_idle{why="closed"}"#;
        assert_eq!(metric(&mut hosts.client, closed).await, 1.0);
        // The application comes back and joins.
        let mut again = App::with(&folder, dead).await;
        hosts.until_served(dead).await;
        again.sends(dead, 0, 600).await;
        hosts.until_served(dead).await;
    });
}

#[test]
fn an_application_that_is_stopped_has_its_rate_again_when_it_goes_on() {
    let folder = TestFolder::new();
    block_on(async {
        let mut hosts = Hosts::start(&folder, &TIMES).await;
        let stopped = register(&mut hosts.client, &[(0, 1)]).await;
        let mut app = App::with(&folder, stopped).await;
        app.sends(stopped, 0, 600).await;
        hosts.until_served(stopped).await;
        hosts.until_lost(stopped, "idle").await;
        app.sends(stopped, 100, 20).await;
        hosts.until_served(stopped).await;
        assert_eq!(hosts.coflow(stopped).await["flows_idle"], 0);
    });
}

#[test]
fn an_agent_that_is_back_without_its_applications_reports_it() {
    let folder = TestFolder::new();
    block_on(async {
        let mut hosts = Hosts::start(&folder, &TIMES).await;
        let dead = register(&mut hosts.client, &[(0, 1)]).await;
        let app = App::with(&folder, dead).await;
        // The application ends, with or without an error, while its agent is away.
        drop(hosts.agents.remove(0));
        drop(app);
        until(1, "it goes", async || joined(&mut hosts.client).await == 1).await;
        hosts.start_agent(&folder, "0").await;
        hosts.until_lost(dead, "unopened").await;
    });
}

#[test]
fn an_application_goes_on_with_an_agent_that_is_back() {
    let folder = TestFolder::new();
    block_on(async {
        let mut hosts = Hosts::start(&folder, &TIMES).await;
        let coflow = register(&mut hosts.client, &[(0, 1)]).await;
        let app = App::with(&folder, coflow).await;
        drop(hosts.agents.remove(0));
        until(1, "it goes", async || joined(&mut hosts.client).await == 1).await;
        hosts.start_agent(&folder, "0").await;
        drop(app);
        let mut app = App::with(&folder, coflow).await;
        app.sends(coflow, 0, 1000).await;
        hosts.until_served(coflow).await;
    });
}

#[test]
fn a_flow_whose_receiver_is_gone_is_given_up_by_its_sender() {
    let folder = TestFolder::new();
    block_on(async {
        let mut hosts = Hosts::start(&folder, &TIMES).await;
        let coflow = register(&mut hosts.client, &[(0, 1)]).await;
        let mut app = App::with(&folder, coflow).await;
        app.sends(coflow, 0, 100).await;
        app.say(&FromApp::Gone(vec![FlowKey { coflow, flow: 0 }]));
        hosts.until_lost(coflow, "closed").await;
    });
}

#[test]
fn a_registration_that_is_not_renewed_lasts_for_its_lease_across_restarts() {
    let folder = TestFolder::new();
    block_on(async {
        let times = ["--heartbeat", "200ms", "--idle-after", "1min"];
        let mut hosts = Hosts::start(&folder, &times).await;
        let body = r#"{"flows":[{"src":0,"dst":1}],"lease_s":3}"#;
        let answer = hosts.client.ask("POST", "/v1/coflows", &[], body).await.expect("an answer");
        assert_eq!(answer.status, 201);
        let id = answer.json()["id"].as_u64().expect("a number");
        let kept = hosts.coflow(id).await["kept_s"].as_f64().expect("it is kept");
        assert!(kept > 2.0 && kept <= 3.0, "{kept}");
        // The journal has the half of the lease that is over.
        until(5, "less", async || hosts.coflow(id).await["kept_s"].as_f64() < Some(1.0)).await;
        tokio::time::sleep(Duration::from_millis(200)).await;
        hosts.coordinator.restart(&folder, &times);
        hosts.client = hosts.coordinator.client(&folder).await;
        let kept = hosts.coflow(id).await["kept_s"].as_f64().expect("it is kept");
        assert!(kept < 1.5, "{kept}");
        until(5, "expired", async || hosts.coflow(id).await["idle_why"] == "expired").await;
    });
}

#[test]
fn requests_and_open_flows_keep_a_coflow() {
    let folder = TestFolder::new();
    block_on(async {
        let mut hosts = Hosts::start(&folder, &LEASES).await;
        let id = register(&mut hosts.client, &[(0, 1)]).await;
        hosts.until_served(id).await;
        hosts.until_lost(id, "expired").await;
        let path = format!("/v1/coflows/{id}/keep");
        let kept =
            hosts.client.ask("POST", &path, &[], r#"{"lease_s":60}"#).await.expect("an answer");
        assert_eq!(kept.status, 200);
        hosts.until_served(id).await;
        let wrong =
            hosts.client.ask("POST", &path, &[], r#"{"lease_s":0}"#).await.expect("an answer");
        assert_eq!(wrong.status, 422);
        // An application has a flow of another coflow open.
        let open = register(&mut hosts.client, &[(0, 1)]).await;
        until(3, "expired", async || hosts.coflow(open).await["idle_why"] == "expired").await;
        let _app = App::with(&folder, open).await;
        until(6, "kept", async || hosts.coflow(open).await["flows_idle"] == 0).await;
    });
}

#[test]
fn an_application_does_not_wait_for_a_hanging_agent_and_is_scheduled_afterwards() {
    let folder = TestFolder::new();
    block_on(async {
        let hosts = Hosts::start(&folder, &["--idle-after", "1min"]).await;
        let options = Options {
            agent: Some(folder.path("data/agent.sock")),
            coordinator: Some(hosts.coordinator.clients.into()),
            credentials: folder.path("data"),
            hold_max: None,
            ..Options::default()
        };
        let application = Application::start(options).await.expect("credentials");
        until(5, "scheduled", async || application.scheduled() == Scheduled::Yes).await;
        let mut listener = application.listen("127.0.0.1:0").await.expect("a port");
        let to = listener.local_addr();
        tokio::spawn(async move {
            while let Ok(Incoming::Flow(mut flow)) = listener.accept().await {
                tokio::spawn(async move {
                    let mut all = Vec::new();
                    flow.read_to_end(&mut all).await.expect("all of it");
                });
            }
        });
        // To itself: the host that a flow names checks its proof.
        let flow = Flow::new(0, 0, None);
        let coflow = application.register(&CoflowSpec::of(vec![flow; 2])).await.expect("taken");
        let send = async |folder: u32| {
            let mut flow = coflow.open(folder, to, None, b"").await.expect("open");
            flow.write_all(&vec![7; 1 << 20]).await.expect("the other side reads");
            flow.finish().await.expect("all has come");
        };
        signal(&hosts.agents[0].0, "STOP");
        // The application queries the agent after a second, and waits two seconds for an answer.
        let sent = tokio::time::timeout(Duration::from_secs(8), send(0)).await;
        sent.expect("it does not wait for ever");
        assert_eq!(application.scheduled(), Scheduled::NoAgent);
        signal(&hosts.agents[0].0, "CONT");
        until(5, "scheduled again", async || application.scheduled() == Scheduled::Yes).await;
        let sent = tokio::time::timeout(Duration::from_secs(8), send(1)).await;
        sent.expect("it is served");
        let ended = tokio::time::timeout(Duration::from_secs(8), coflow.ended()).await;
        ended.expect("both ends are known").expect("an answer");
    });
}
