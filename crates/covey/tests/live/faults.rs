//! Faults around a coordinator: hosts, links, disks, clocks.

use std::net::SocketAddr;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};

use crate::clock::Clock;
use crate::common::TestFolder;
use crate::harness::{
    Coordinator, Fluid, Killed, agent, block_on, coflow, joined, register, state, token, until,
};

#[test]
fn a_host_that_dies_stalls_its_coflows_and_no_others() {
    let folder = TestFolder::new();
    let times = ["--lost-after", "600ms", "--heartbeat", "100ms"];
    let coordinator = Coordinator::new(&folder, &times);
    block_on(async {
        let data = folder.path("data");
        let start = |port: &str| {
            let mut command = agent(&folder, &coordinator, port, &data);
            Killed(command.stderr(Stdio::null()).spawn().expect("covey agent"))
        };
        let mut agents: Vec<Killed> = ["0", "1", "2", "3"].map(start).into();
        let mut client = coordinator.client(&folder).await;
        until(10, "agents join", async || joined(&mut client).await == 4).await;
        let touched = register(&mut client, &[(0, 1)]).await;
        let other = register(&mut client, &[(2, 1)]).await;
        drop(agents.remove(0));
        until(10, "it stalls", async || state(&mut client, touched).await == "stalled").await;
        assert_eq!(state(&mut client, other).await, "active");
        // The other host now has the dead host's share of port 1.
        until(10, "the other has all", async || {
            let rate = client.get(&format!("/v1/coflows/{other}")).await.unwrap().json();
            rate["rate"].as_f64() == Some(125e6)
        })
        .await;
        let _again = start("0");
        until(10, "it goes on", async || state(&mut client, touched).await == "active").await;

        let ran = folder.command(&[
            "status",
            "--coordinator",
            &coordinator.clients.to_string(),
            "--credentials",
            "data",
        ]);
        let ran = { ran }.output().unwrap();
        let text = String::from_utf8(ran.stdout).unwrap();
        assert!(text.starts_with("coordinator  ready; covey "), "{text}");
        assert!(
            text.lines().any(|line| line.contains(" active ") && line.contains(" 0 of 1 ")),
            "{text}"
        );
        assert!(text.contains("joined"), "{text}");
    });
}

/// A link that can be cut: connections stay open, but carry no bytes.
#[derive(Clone)]
struct Link {
    address: SocketAddr,
    is_cut: Arc<AtomicBool>,
}

impl Link {
    async fn to(coordinator: SocketAddr) -> Link {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("an address");
        let address = listener.local_addr().expect("an address");
        let link = Link { address, is_cut: Arc::default() };
        let all = link.clone();
        tokio::spawn(async move {
            while let Ok((near, _)) = listener.accept().await {
                let link = all.clone();
                tokio::spawn(async move {
                    link.is_whole().await;
                    let Ok(far) = TcpStream::connect(coordinator).await else { return };
                    let (near, far) = (near.into_split(), far.into_split());
                    tokio::join!(link.pass(near.0, far.1), link.pass(far.0, near.1));
                });
            }
        });
        link
    }

    fn cut(&self, is_cut: bool) {
        self.is_cut.store(is_cut, Ordering::Relaxed);
    }

    async fn is_whole(&self) {
        while self.is_cut.load(Ordering::Relaxed) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    async fn pass(&self, mut from: OwnedReadHalf, mut to: OwnedWriteHalf) {
        let mut buffer = [0; 4096];
        while let Ok(count @ 1..) = from.read(&mut buffer).await {
            self.is_whole().await;
            if to.write_all(&buffer[..count]).await.is_err() {
                return;
            }
        }
        self.is_whole().await;
    }
}

#[test]
fn a_link_that_is_cut_for_a_while_costs_nothing() {
    let folder = TestFolder::new();
    let coordinator = Coordinator::new(&folder, &["--lost-after", "60s", "--heartbeat", "100ms"]);
    block_on(async {
        let link = Link::to(coordinator.agents).await;
        let host = Fluid::of(1e15);
        host.join(link.address, &token(&folder), 0);
        let mut client = coordinator.client(&folder).await;
        let id = register(&mut client, &[(0, 1)]).await;
        until(10, "it is served", async || !host.flows().rates.is_empty()).await;
        link.cut(true);
        // The host goes on with its schedule; the coordinator does not learn that its flow ends
        // meanwhile.
        host.flows().size = 1.0;
        until(10, "the flow ends", async || host.flows().rates.is_empty()).await;
        assert_eq!(state(&mut client, id).await, "active");
        link.cut(false);
        until(10, "its end is heard of", async || state(&mut client, id).await == "ended").await;
        assert_eq!(joined(&mut client).await, 1);
    });
}

/// The time for which a link is cut; longer than the time after which a host is lost.
const CUT: Duration = Duration::from_secs(5);

#[test]
fn a_link_that_is_cut_for_long_stalls_its_coflows_and_no_others() {
    let folder = TestFolder::new();
    let coordinator = Coordinator::new(&folder, &["--lost-after", "600ms", "--heartbeat", "100ms"]);
    block_on(async {
        let link = Link::to(coordinator.agents).await;
        let token = token(&folder);
        let hosts: Vec<Fluid> = (0..4).map(|_| Fluid::of(1e15)).collect();
        hosts[0].join(link.address, &token, 0);
        (1..4).for_each(|port| hosts[port as usize].join(coordinator.agents, &token, port));
        let mut client = coordinator.client(&folder).await;
        until(10, "agents join", async || joined(&mut client).await == 4).await;
        let touched = register(&mut client, &[(0, 1)]).await;
        let other = register(&mut client, &[(2, 3)]).await;
        until(10, "all is served", async || {
            !hosts[0].flows().rates.is_empty() && !hosts[2].flows().rates.is_empty()
        })
        .await;
        let held = hosts[2].flows().holds;
        link.cut(true);
        let cut = tokio::time::sleep(CUT);
        until(10, "it stalls", async || state(&mut client, touched).await == "stalled").await;
        assert_eq!(joined(&mut client).await, 3);
        let late = register(&mut client, &[(0, 2)]).await;
        cut.await;
        assert_eq!(state(&mut client, late).await, "stalled");
        assert_eq!(
            (state(&mut client, other).await.as_str(), hosts[2].flows().holds),
            ("active", held)
        );
        link.cut(false);
        for id in [touched, late] {
            until(10, "it goes on", async || state(&mut client, id).await == "active").await;
        }
        hosts.iter().for_each(|host| host.flows().size = 1.0);
        for id in [touched, late, other] {
            until(10, "all ends", async || state(&mut client, id).await == "ended").await;
        }
    });
}

#[test]
fn a_full_disk_refuses_changes_and_loses_nothing() {
    let folder = TestFolder::new();
    let serve = Coordinator::command(&folder, "127.0.0.1:0", "127.0.0.1:0", &[]);
    // Files are limited to some blocks; longer writes fail, as on a full disk.
    let script = r#"trap '' XFSZ; ulimit -S -f 40; exec "$0" "$@""#;
    let mut command = Command::new("sh");
    command.current_dir(folder.path(".")).args(["-c", script]).arg(serve.get_program());
    let log = std::fs::File::create(folder.path("log")).unwrap();
    let mut coordinator = Coordinator::spawn(command.args(serve.get_args()).stderr(log));
    let mut kept = Vec::new();
    block_on(async {
        let token = token(&folder);
        let hosts: Vec<Fluid> = (0..4).map(|_| Fluid::of(1e15)).collect();
        (0..4).for_each(|port| hosts[port as usize].join(coordinator.agents, &token, port));
        let mut client = coordinator.client(&folder).await;
        let goes_on = register(&mut client, &[(0, 1)]).await;
        let ends = register(&mut client, &[(2, 3)]).await;
        until(10, "all is served", async || {
            !hosts[0].flows().rates.is_empty() && !hosts[2].flows().rates.is_empty()
        })
        .await;
        kept.extend([goes_on, ends]);
        let body = coflow(&[(1, 0); 10]);
        let problem = loop {
            let answer = client.ask("POST", "/v1/coflows", &[], body.clone()).await.unwrap();
            if answer.status != 201 {
                break answer;
            }
            kept.push(answer.json()["id"].as_u64().unwrap());
        };
        assert_eq!((problem.status, &problem.json()["title"]), (503, &Value::from("not durable")));
        assert_eq!(client.get("/readyz").await.unwrap().status, 503);
        let path = format!("/v1/coflows/{goes_on}");
        let wave = json!({"add": vec![json!({"src": 1, "dst": 0}); 50]});
        let changed = client.ask("PATCH", &path, &[], wave.to_string()).await.unwrap();
        assert_eq!(changed.status, 503);
        // Scheduled flows go on, and ends take effect.
        assert_eq!(client.get(&path).await.unwrap().json()["rate"], 125e6);
        hosts[2].flows().size = 1.0;
        until(10, "it ends", async || state(&mut client, ends).await == "ended").await;

        let process = coordinator.process.id().to_string();
        let room = Command::new("prlimit").args(["--fsize=unlimited", "--pid", &process]).status();
        assert!(room.unwrap().success());
        until(10, "there is room", async || client.get("/readyz").await.unwrap().status == 200)
            .await;
        kept.push(register(&mut client, &[(3, 2)]).await);
    });
    assert!(folder.read("log").contains("the journal cannot be written"));
    coordinator.restart(&folder, &[]);
    block_on(async {
        let mut client = coordinator.client(&folder).await;
        let page = client.get("/v1/coflows?state=all&limit=1000").await.unwrap().json();
        let ids: Vec<u64> =
            page["items"].as_array().unwrap().iter().map(|c| c["id"].as_u64().unwrap()).collect();
        assert_eq!(ids, kept);
        assert_eq!(state(&mut client, kept[1]).await, "ended");
    });
}

#[test]
fn a_start_on_a_full_disk_answers_reads_and_goes_on_when_there_is_room() {
    let folder = TestFolder::new();
    let coordinator = Coordinator::new(&folder, &[]);
    let known = block_on(async {
        let mut client = coordinator.client(&folder).await;
        register(&mut client, &[(0, 1)]).await
    });
    drop(coordinator);
    // The last record was not written as a whole.
    let path = folder.path("data/journal");
    let mut bytes = std::fs::read(&path).unwrap();
    bytes.extend([7; 5]);
    std::fs::write(&path, bytes).unwrap();
    let serve = Coordinator::command(&folder, "127.0.0.1:0", "127.0.0.1:0", &[]);
    let script = r#"trap '' XFSZ; ulimit -S -f 0; exec "$0" "$@""#;
    let mut command = Command::new("sh");
    command.current_dir(folder.path(".")).args(["-c", script]).arg(serve.get_program());
    let coordinator = Coordinator::spawn(command.args(serve.get_args()).stderr(Stdio::null()));
    block_on(async {
        let mut client = coordinator.client(&folder).await;
        assert_eq!(state(&mut client, known).await, "active");
        assert_eq!(client.get("/v1/coflows").await.unwrap().json()["items"][0]["id"], known);
        assert_eq!(client.get("/readyz").await.unwrap().status, 503);
        assert_eq!(client.get("/livez").await.unwrap().status, 200);
        let body = coflow(&[(1, 0)]);
        let refused = client.ask("POST", "/v1/coflows", &[], body).await.unwrap();
        assert_eq!((refused.status, &refused.json()["title"]), (503, &Value::from("not durable")));
        // A second start might have the same epoch, so no agent hears of this one.
        let host = Fluid::of(1e15);
        host.join(coordinator.agents, &token(&folder), 0);
        tokio::time::sleep(Duration::from_millis(500)).await;
        assert!(host.flows().rates.is_empty());
        let process = coordinator.process.id().to_string();
        let room = Command::new("prlimit").args(["--fsize=unlimited", "--pid", &process]).status();
        assert!(room.unwrap().success());
        until(10, "there is room", async || client.get("/readyz").await.unwrap().status == 200)
            .await;
        until(10, "the agent is served", async || !host.flows().rates.is_empty()).await;
        register(&mut client, &[(1, 0)]).await;
    });
    drop(coordinator);
    let verified = folder.covey(&["journal", "verify", "--data", "data"]);
    assert_eq!(verified.status, Some(0), "{}", verified.err);
}

#[test]
fn a_first_start_on_a_full_disk_does_not_break_the_next() {
    let folder = TestFolder::new();
    let serve = Coordinator::command(&folder, "127.0.0.1:0", "127.0.0.1:0", &[]);
    let script = r#"trap '' XFSZ; ulimit -S -f 0; exec "$0" "$@""#;
    let mut command = Command::new("sh");
    command.current_dir(folder.path(".")).args(["-c", script]).arg(serve.get_program());
    let ran = command.args(serve.get_args()).output().unwrap();
    assert!(matches!(ran.status.code(), Some(1 | 2)), "{ran:?}");
    let coordinator = Coordinator::new(&folder, &[]);
    block_on(async {
        let mut client = coordinator.client(&folder).await;
        register(&mut client, &[(0, 1)]).await;
    });
}

#[test]
fn a_closed_log_changes_nothing() {
    let folder = TestFolder::new();
    let addresses = ["--clients", "127.0.0.1:0", "--agents", "127.0.0.1:0"];
    let serve = ["serve", "--data", "data", "--ports", "4", "--log", "debug"];
    let mut command = folder.command(&[&serve[..], &addresses].concat());
    let mut coordinator = Coordinator::spawn(command.stderr(Stdio::piped()));
    drop(coordinator.process.stderr.take());
    block_on(async {
        let mut client = coordinator.client(&folder).await;
        for _ in 0..3 {
            let id = register(&mut client, &[(0, 1)]).await;
            assert_eq!(state(&mut client, id).await, "active");
        }
    });
}

#[test]
fn a_wall_clock_that_jumps_changes_nothing() {
    let folder = TestFolder::new();
    let Some(clock) = Clock::new(&folder) else { return };
    let times = ["--lost-after", "600ms", "--heartbeat", "100ms"];
    let mut serve = Coordinator::command(&folder, "127.0.0.1:0", "127.0.0.1:0", &times);
    serve.stderr(std::fs::File::create(folder.path("log")).unwrap());
    let coordinator = Coordinator::spawn(&mut clock.governs(serve));
    let data = folder.path("data");
    let start = |port: &str| {
        let command = agent(&folder, &coordinator, port, &data);
        Killed(clock.governs(command).stderr(Stdio::null()).spawn().expect("covey agent"))
    };
    let _agents = ["0", "1", "2", "3"].map(start);
    block_on(async {
        let mut client = coordinator.client(&folder).await;
        until(10, "agents join", async || joined(&mut client).await == 4).await;
        let mut ids = Vec::new();
        for years in [0, 10, -20] {
            clock.jump(years);
            // A frame that is not a hello.
            let mut stranger = TcpStream::connect(coordinator.agents).await.unwrap();
            stranger.write_all(&[1, 0, 0, 0, 6]).await.unwrap();
            ids.push(register(&mut client, &[(0, 1)]).await);
            // Long enough to lose an agent, if the coordinator used this clock.
            tokio::time::sleep(Duration::from_millis(1300)).await;
            assert_eq!(joined(&mut client).await, 4, "{years} years");
            for &id in &ids {
                let coflow = client.get(&format!("/v1/coflows/{id}")).await.unwrap().json();
                assert_eq!(coflow["state"], "active", "{years} years");
                assert!(coflow["arrival_s"].as_f64().unwrap() < 3600.0, "{years} years");
            }
        }
    });
    // The clock did jump: the log has a refused stranger after each jump.
    let log = folder.read("log");
    let years: Vec<i32> = log.lines().map(|line| line[..4].parse().unwrap()).collect();
    assert_eq!([years[1] - years[0], years[2] - years[0]], [10, -20], "{log}");
    assert!(!log.contains("lost"), "{log}");
}

#[test]
fn an_agent_notices_that_a_link_is_dead_and_joins_again() {
    let folder = TestFolder::new();
    // In a network of its own, whose link goes down and up again: no connection is closed. On a
    // busy machine each program may start late, so every step waits for what the one before it
    // brings.
    let script = r#"
        ip link set lo up || exit 77
        "$0" serve --data data --ports 2 --heartbeat 100ms --lost-after 500ms --log warn \
            --clients 127.0.0.1:7420 --agents 127.0.0.1:7421 > addresses 2> coordinator.log &
        coordinator=$!
        trap "kill $coordinator" EXIT
        until_it_says() { for _ in $(seq 200); do grep -q "$1" "$2" && break; sleep 0.1; done; }
        joined() {
            for _ in $(seq 200); do
                "$0" status --credentials data --json > status
                grep -q '"port":1,"state":"joined"' status && break
                sleep 0.1
            done
        }
        until_it_says . addresses
        "$0" agent --port 1 --credentials data --log info > /dev/null 2> agent.log &
        trap "kill $coordinator $!" EXIT
        joined
        : > agent.log
        ip link set lo down
        until_it_says 'agent lost port=1' coordinator.log
        until_it_says 'not connected' agent.log
        cp agent.log noticed
        ip link set lo up
        joined
        cat status"#;
    let mut unshare = Command::new("unshare");
    unshare.args(["--map-root-user", "--net", "sh", "-c", script]).current_dir(folder.path("."));
    let ran = unshare.arg(folder.command(&[]).get_program()).output().expect("unshare");
    let status = String::from_utf8(ran.stdout).unwrap();
    if status.is_empty() {
        let why = String::from_utf8_lossy(&ran.stderr);
        let must_run = std::env::var_os("SKIP_NOTHING").is_some();
        assert!(
            !(must_run && rustix::process::geteuid().is_root()),
            "no network of its own: {why}"
        );
        eprintln!("skipped: no networks of one's own: {why}");
        return;
    }
    assert!(folder.read("coordinator.log").contains("agent lost port=1"));
    assert!(folder.read("noticed").contains("not connected"), "{}", folder.read("agent.log"));
    assert!(status.contains(r#""port":1,"state":"joined""#), "{status}");
}
