//! Flows that applications open otherwise than they are registered, and what agents decide while
//! the coordinator is stopped.

use std::net::SocketAddr;
use std::process::Stdio;
use std::time::{Duration, Instant};

use covey_client::{
    Client as Application, Coflow, CoflowSpec, Flow, Incoming, Listener, OpeningError, WrongOpening,
};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::common::TestFolder;
use crate::flow_tokens::{Hosts, next};
use crate::harness::{block_on, until};

/// How long a mistake may go unsaid.
const AT_ONCE: Duration = Duration::from_secs(5);

/// What comes of sending `count` bytes of a flow that is opened for `bytes`.
async fn send(
    coflow: &Coflow,
    flow: u32,
    to: SocketAddr,
    bytes: Option<u64>,
    count: usize,
) -> std::io::Result<()> {
    let mut flow = coflow.open(flow, to, bytes, b"").await?;
    flow.write_all(&vec![7; count]).await?;
    flow.finish().await
}

/// The mistake that an application is told of, within [`AT_ONCE`].
async fn mistake(
    coflow: &Coflow,
    flow: u32,
    to: SocketAddr,
    bytes: Option<u64>,
    count: usize,
) -> (OpeningError, String) {
    let sent = tokio::time::timeout(AT_ONCE, send(coflow, flow, to, bytes, count)).await;
    let sent = sent.unwrap_or_else(|_| panic!("flow {flow} with {bytes:?} bytes: it is not said"));
    let error = sent.expect_err("it is refused");
    let wrong = error.get_ref().and_then(|it| it.downcast_ref::<WrongOpening>());
    let wrong = wrong.unwrap_or_else(|| panic!("{error}"));
    (wrong.why, error.to_string())
}

async fn registered(application: &Application, flows: &[(u32, u32, f64)]) -> Coflow {
    let flow = |&(src, dst, bytes): &(u32, u32, f64)| Flow::new(src, dst, Some(bytes));
    let spec = CoflowSpec::of(flows.iter().map(flow).collect());
    application.register(&spec).await.expect("a coordinator")
}

/// Takes all flows of a listener, and reads them to their ends.
pub fn take_all(mut listener: Listener) -> SocketAddr {
    let to = listener.local_addr();
    tokio::spawn(async move {
        while let Ok(Incoming::Flow(mut flow)) = listener.accept().await {
            tokio::spawn(async move { flow.read_to_end(&mut Vec::new()).await });
        }
    });
    to
}

async fn metrics(hosts: &Hosts, folder: &TestFolder) -> String {
    let mut client = hosts.coordinator.client(folder).await;
    let answer = client.get("/metrics").await.expect("an answer");
    String::from_utf8(answer.body).expect("text")
}

#[test]
fn a_flow_that_is_opened_wrongly_is_refused_at_once_in_words_that_help() {
    for tokens in ["on", "off"] {
        let folder = TestFolder::new();
        block_on(async {
            let hosts = Hosts::start(&folder, &["--flow-tokens", tokens]).await;
            let to = take_all(hosts.listen().await);
            let coflow = registered(&hosts.sender, &[(0, 1, 1000.0)]).await;
            // From the host that is to receive it; a flow and a coflow that do not exist.
            let there = hosts.receiver.join(coflow.id());
            let (why, text) = mistake(&there, 0, to, Some(1000), 1000).await;
            assert_eq!(why, OpeningError::OtherHost(0), "{text}");
            assert!(text.contains("the host of port 0 is registered to send it"), "{text}");
            let (why, _) = mistake(&coflow, 1, to, Some(1000), 1000).await;
            assert_eq!(why, OpeningError::NoFlow(1));
            let (why, _) = mistake(&hosts.sender.join(4711), 0, to, Some(5), 5).await;
            assert_eq!(why, OpeningError::Unregistered);
            // More than is registered, said when it is opened or found out when it is sent.
            let many = 50_000_000;
            let (why, _) = mistake(&coflow, 0, to, Some(many), many as usize).await;
            assert_eq!(why, OpeningError::TooMany(1000.0));
            let (why, text) = mistake(&coflow, 0, to, None, many as usize).await;
            assert_eq!(why, OpeningError::TooMany(1000.0));
            assert!(text.contains("than the 1000 bytes that are registered"), "{text}");
            // Twice by the same application: the latest has it. And after its end.
            let mut first = coflow.open(0, to, Some(1000), b"").await.expect("open");
            let mut again = coflow.open(0, to, Some(1000), b"").await.expect("open");
            let error = first.write_all(&[7; 1000]).await.expect_err("it was opened again");
            assert!(error.to_string().contains("opened again on this host"), "{error}");
            drop(first);
            again.write_all(&[7; 1000]).await.expect("it is taken");
            again.finish().await.expect("all has come");
            let (why, _) = mistake(&coflow, 0, to, Some(1000), 1000).await;
            assert!(matches!(why, OpeningError::FlowOver | OpeningError::CoflowOver), "{why:?}");
            let gone = registered(&hosts.sender, &[(0, 1, 1000.0)]).await;
            gone.clone().deregister().await.expect("a coordinator");
            let (why, _) = mistake(&gone, 0, to, Some(1000), 1000).await;
            assert_eq!(why, OpeningError::CoflowOver);
            // Fewer bytes are taken, and counted.
            let fewer = registered(&hosts.sender, &[(0, 1, 1000.0)]).await;
            send(&fewer, 0, to, None, 10).await.expect("what was sent has come");
            fewer.ended().await.expect("a coordinator");
            let mut text = String::new();
            until(5, "the metrics say it", async || {
                text = metrics(&hosts, &folder).await;
                text.contains("covey_flows_other_bytes_total{bytes=\"fewer\"} 1")
            })
            .await;
            for reason in ["other_host", "no_flow", "unregistered", "coflow_over"] {
                let name = format!("covey_flows_opened_wrongly_total{{reason=\"{reason}\"}} ");
                assert!(text.contains(&name) && !text.contains(&format!("{name}0")), "{text}");
            }
            let line = "covey_flows_other_bytes_total{bytes=\"more\"} 0";
            assert!(text.contains(line), "{line}:\n{text}");
            let log = folder.read("log-1");
            assert!(log.contains("is registered to send it, not this one"), "{log}");
        });
    }
}

#[test]
fn a_flow_to_another_host_than_is_registered_is_refused_at_both_ends() {
    let folder = TestFolder::new();
    block_on(async {
        let hosts = Hosts::start(&folder, &["--flow-tokens", "off"]).await;
        // It is to come to the host of port 1, and goes to that of port 0.
        let mut listener = hosts.sender.listen("127.0.0.1:0").await.expect("a port");
        let to = listener.local_addr();
        let count = 50_000_000;
        let coflow = registered(&hosts.sender, &[(0, 1, f64::from(count))]).await;
        let sending = async move { send(&coflow, 0, to, None, count as usize).await };
        let sending = tokio::spawn(sending);
        let mut flow = next(&mut listener).await;
        let received = tokio::time::timeout(AT_ONCE, flow.read_to_end(&mut Vec::new())).await;
        let error = received.expect("at once").expect_err("it is refused");
        assert!(error.to_string().contains("the host of port 1 is registered"), "{error}");
        let error = sending.await.expect("no panic").expect_err("it is refused");
        assert!(error.to_string().contains("not registered to come to this host"), "{error}");
    });
}

/// However fast flows end and are opened again, the last opening is answered.
#[test]
fn a_flow_that_is_opened_again_and_again_is_answered_each_time() {
    for tokens in ["on", "off"] {
        let folder = TestFolder::new();
        block_on(async {
            let hosts = Hosts::start(&folder, &["--flow-tokens", tokens]).await;
            let to = take_all(hosts.listen().await);
            for round in 0..20 {
                let coflow = registered(&hosts.sender, &[(0, 1, 1000.0), (0, 1, 1000.0)]).await;
                if round % 2 == 0 {
                    // Given up before its end, and opened once more.
                    drop(coflow.open(0, to, Some(1000), b"").await.expect("open"));
                }
                send(&coflow, 0, to, Some(1000), 1000).await.expect("all has come");
                let (why, _) = mistake(&coflow, 0, to, Some(1000), 1000).await;
                assert_eq!(why, OpeningError::FlowOver);
                coflow.clone().deregister().await.expect("a coordinator");
                let (why, _) = mistake(&coflow, 1, to, Some(1000), 1000).await;
                assert_eq!(why, OpeningError::CoflowOver);
            }
        });
    }
}

#[test]
fn an_application_that_waits_with_a_flow_of_a_coflow_that_is_given_up_hears_of_it() {
    let folder = TestFolder::new();
    block_on(async {
        let hosts = Hosts::start(&folder, &["--policy", "fifo", "--port-rate", "1MB/s"]).await;
        let to = take_all(hosts.listen().await);
        let first = registered(&hosts.sender, &[(0, 1, 2e7)]).await;
        let waiting = registered(&hosts.sender, &[(0, 1, 1e6)]).await;
        // One has the link, the other waits for its turn, and a third waits for the end of that.
        let serve = |coflow: Coflow, count: usize| {
            tokio::spawn(async move { send(&coflow, 0, to, Some(count as u64), count).await })
        };
        let has_rate = serve(first.clone(), 20_000_000);
        let waits = serve(waiting.clone(), 1_000_000);
        let end = tokio::spawn({
            let waiting = waiting.clone();
            async move { waiting.ended().await }
        });
        let mut client = hosts.coordinator.client(&folder).await;
        until(5, "it waits", async || {
            let page: Value = client.get("/v1/waiting").await.expect("an answer").json();
            page["items"][0]["coflow"] == waiting.id()
        })
        .await;
        for (coflow, sending) in [(waiting, waits), (first, has_rate)] {
            coflow.deregister().await.expect("a coordinator");
            let sent = tokio::time::timeout(AT_ONCE, sending).await.expect("it is said");
            let error = sent.expect("no panic").expect_err("nobody needs it");
            // Before it was known to be opened rightly, or after.
            let text = error.to_string();
            let is_told = ["was removed", "has given the coflow up"].map(|it| text.contains(it));
            assert!(is_told[0] != is_told[1], "{text}");
        }
        let end = tokio::time::timeout(AT_ONCE, end).await.expect("it is said").expect("no panic");
        let status = end.expect("a coordinator").expect("it is registered");
        assert_eq!(status.state, covey_client::CoflowState::Removed);
    });
}

#[test]
fn an_application_whose_flow_another_one_opens_hears_of_it() {
    let folder = TestFolder::new();
    block_on(async {
        let hosts = Hosts::start(&folder, &[]).await;
        let mut listener = hosts.listen().await;
        let to = listener.local_addr();
        let coflow = registered(&hosts.sender, &[(0, 1, 1000.0)]).await;
        let mut first = coflow.open(0, to, Some(1000), b"").await.expect("open");
        let mut received = next(&mut listener).await;
        first.write_all(&[7; 10]).await.expect("it has its turn");
        let other = hosts.another_sender(&folder).await.join(coflow.id());
        let _second = other.open(0, to, Some(1000), b"").await.expect("open");
        let mut buffer = [0; 10];
        received.read_exact(&mut buffer).await.expect("ten bytes");
        let mut refused = None;
        until(5, "it is said", async || {
            refused = first.write_all(&[7; 1]).await.err();
            refused.is_some()
        })
        .await;
        let text = refused.expect("an error").to_string();
        assert!(text.contains("opened again on this host"), "{text}");
    });
}

#[test]
fn of_two_agents_that_race_for_a_socket_the_second_is_told_who_has_it() {
    let folder = TestFolder::new();
    block_on(async {
        let hosts = Hosts::start(&folder, &[]).await;
        let at = hosts.coordinator.agents.to_string();
        let start = |port: &str| {
            let mut command = folder.command(&["agent", "--port", port, "--coordinator", &at]);
            command.args(["--credentials", "data", "--socket"]).arg(folder.path("one.sock"));
            let command = command.stdout(Stdio::null()).stderr(Stdio::piped());
            command.spawn().expect("covey agent")
        };
        let mut agents = [start("2"), start("3")];
        let mut over = None;
        until(20, "one of them gives up", async || {
            over =
                agents.iter_mut().position(|agent| agent.try_wait().expect("a process").is_some());
            over.is_some()
        })
        .await;
        let [first, second] = agents;
        let (loser, mut winner) = if over == Some(0) { (first, second) } else { (second, first) };
        let named = format!("process {}, the agent of port ", winner.id());
        let output = loser.wait_with_output().expect("its output");
        let text = String::from_utf8(output.stderr).expect("text");
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(text.contains(&named) && text.contains("one.sock"), "{text}");
        assert_eq!(winner.try_wait().expect("a process"), None);
        winner.kill().expect("a process");
        winner.wait().expect("a process");
    });
}

/// Sends a signal to the coordinator.
pub fn signal(hosts: &Hosts, name: &str) {
    let process = hosts.coordinator.process.id().to_string();
    let status = std::process::Command::new("kill").args(["-s", name, &process]).status();
    assert!(status.expect("kill").success());
}

#[test]
fn the_next_coflow_starts_while_the_coordinator_is_stopped() {
    let folder = TestFolder::new();
    block_on(async {
        let more = ["--policy", "aalo", "--port-rate", "1MB/s"];
        let hosts = Hosts::start(&folder, &more).await;
        let to = take_all(hosts.listen().await);
        let first = registered(&hosts.sender, &[(0, 1, 2e6)]).await;
        let second = registered(&hosts.sender, &[(0, 1, 5e4)]).await;
        let sending = |coflow: Coflow, count: usize| {
            tokio::spawn(async move {
                send(&coflow, 0, to, Some(count as u64), count).await.expect("all has come");
                Instant::now()
            })
        };
        let first_end = sending(first.clone(), 2_000_000);
        tokio::time::sleep(Duration::from_millis(100)).await;
        let second_end = sending(second.clone(), 50_000);
        // Both are known to the coordinator, and the second waits for its turn.
        let mut client = hosts.coordinator.client(&folder).await;
        until(5, "the second waits", async || {
            let waiting: Value = client.get("/v1/waiting").await.expect("an answer").json();
            waiting["items"][0]["coflow"] == second.id()
        })
        .await;
        tokio::time::sleep(Duration::from_millis(200)).await;
        assert!(!first_end.is_finished(), "the machine is too slow for this test");
        signal(&hosts, "STOP");
        let first_end = first_end.await.expect("no panic");
        let second_end = tokio::time::timeout(Duration::from_secs(3), second_end).await;
        signal(&hosts, "CONT");
        let second_end = second_end.expect("it starts by itself").expect("no panic");
        // It has the rate of the first: 50 ms for its bytes.
        assert!(
            second_end - first_end < Duration::from_millis(1500),
            "{:?}",
            second_end - first_end
        );
        for coflow in [&first, &second] {
            coflow.ended().await.expect("a coordinator");
        }
        let text = metrics(&hosts, &folder).await;
        assert!(text.contains("covey_rates_passed_total 1"), "{text}");
    });
}
