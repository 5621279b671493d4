//! Two shuffles of programs that know nothing of Covey, over TCP alone and under `covey attach`.
//!
//! Links between hosts have 200 Mbit/s. A shuffle of 120 MB begins, and one of 4 MB 1.5 s later.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::os::fd::AsFd;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use covey_api::{Client, Credentials, Page, UnnamedFlow};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use crate::common::TestFolder;
use crate::harness::{Coordinator, Killed, block_on, joined, token, until};
use crate::namespaces::{AGENTS, COORDINATOR, HOSTS, Namespaces, address};
use crate::senders::{LISTENING, Sender, TO};
use crate::shuffles::quiet;

/// What the links of hosts carry.
const LINK: &str = "200mbit";
/// How many times as fast as under TCP the small shuffle is at least.
const FAST: f64 = 1.3;
/// How many times as long as under TCP the large shuffle takes at most.
const LONG: f64 = 1.1;
/// The least precision and recall of groups.
const GROUPED: f64 = 0.95;
/// Times that both shuffles are sent; medians count.
const RUNS: usize = 3;

/// What two shuffles took, and how well their flows were grouped.
struct Took {
    large_s: f64,
    small_s: f64,
    /// The part of a flow's group that is of its shuffle, in the mean over flows. It is no number
    /// if no flow was found.
    precision: f64,
    /// The part of a flow's shuffle that is in its group.
    recall: f64,
}

impl Took {
    /// The medians of several runs.
    fn median(runs: &[Took]) -> Took {
        let median = |value: fn(&Took) -> f64| {
            let mut values: Vec<f64> = runs.iter().map(value).collect();
            values.sort_by(f64::total_cmp);
            values[values.len() / 2]
        };
        Took {
            large_s: median(|it| it.large_s),
            small_s: median(|it| it.small_s),
            precision: median(|it| it.precision),
            recall: median(|it| it.recall),
        }
    }
}

/// A flow of the large shuffle or of the small one, and the group that it was found in.
type Found = (u64, bool);

/// Precision and recall.
fn grouped(flows: &[Found]) -> (f64, f64) {
    let count = |is: &dyn Fn(&Found) -> bool| flows.iter().filter(|it| is(it)).count() as f64;
    let mean =
        |part: &dyn Fn(&Found) -> f64| flows.iter().map(part).sum::<f64>() / count(&|_| true);
    let both = |flow: &Found| count(&|it| it == flow);
    let precision = mean(&|flow| both(flow) / count(&|it| it.0 == flow.0));
    (precision, mean(&|flow| both(flow) / count(&|it| it.1 == flow.1)))
}

/// A coordinator and the agents of the hosts.
struct Covey<'a> {
    namespaces: &'a Namespaces,
    folder: &'a TestFolder,
    agents: Vec<Killed>,
    coordinator: Coordinator,
}

impl Covey<'_> {
    async fn start<'a>(
        namespaces: &'a Namespaces,
        folder: &'a TestFolder,
        policy: &str,
    ) -> Covey<'a> {
        let settings = ["--port-rate", "190mbps", "--policy", policy];
        let coordinator = namespaces.serve(folder, &settings);
        let agent = |port: u32| {
            let (number, credentials) = (port.to_string(), format!("data/agents/{port}"));
            let words = ["attach", "--host", "--port", &number, "--coordinator", AGENTS];
            let mut command = folder.command(&words);
            let mut there = namespaces.on(port, command.args(["--credentials", &credentials]));
            Killed(there.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("covey attach"))
        };
        let agents = HOSTS.into_iter().map(agent).collect();
        let it = Covey { namespaces, folder, agents, coordinator };
        let mut client = it.client().await;
        until(10, "agents join", async || joined(&mut client).await == HOSTS.len()).await;
        it
    }

    /// A client in the namespace of the coordinator.
    async fn client(&self) -> Client {
        let tls = Credentials::of(&self.folder.path("data")).client().expect("certificates");
        let file = File::open(self.namespaces.file(COORDINATOR)).expect("a namespace");
        let own = File::open("/proc/thread-self/ns/net").expect("a namespace");
        let enter = |file: &File| {
            let kind = Some(LinkNameSpaceType::Network);
            move_into_link_name_space(file.as_fd(), kind).expect("root may");
        };
        enter(&file);
        let client =
            Client::connect(self.coordinator.clients, &token(self.folder), Some(tls)).await;
        enter(&own);
        client.expect("a connection")
    }
}

/// The flows that a coordinator knows.
async fn flows(client: &mut Client) -> Vec<UnnamedFlow> {
    let answer = client.get("/v1/flows?limit=1000").await.expect("an answer");
    serde_json::from_slice::<Page<UnnamedFlow>>(&answer.body).expect("a page of flows").items
}

/// Sends both shuffles.
async fn shuffles(
    sender: &Sender,
    namespaces: &Namespaces,
    folder: &TestFolder,
    mut client: Option<&mut Client>,
) -> Took {
    let mut seen = async || match &mut client {
        Some(client) => flows(client).await.into_iter().map(|flow| (flow.id, flow)).collect(),
        None => BTreeMap::new(),
    };
    // Those of earlier shuffles.
    let before = seen().await;
    let mut large = sender.send(namespaces, folder, 120_000_000, 4);
    tokio::time::sleep(Duration::from_millis(1500)).await;
    let mut known = seen().await;
    let of_large: BTreeSet<u64> = known.keys().copied().collect();
    let mut small = sender.send(namespaces, folder, 4_000_000, 2);
    let small_s = loop {
        known.extend(seen().await);
        if let Some(took_s) = small.took_s() {
            break took_s;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    };
    let large_s = large.ended().await;
    let to = address(TO);
    let flows = known.values().filter(|it| it.to.ip().to_string() == to);
    let flows = flows.filter(|it| !before.contains_key(&it.id));
    let flows = flows.filter_map(|it| Some((it.found?, of_large.contains(&it.id))));
    let (precision, recall) = grouped(&flows.collect::<Vec<Found>>());
    Took { large_s, small_s, precision, recall }
}

/// Sends both shuffles several times.
async fn runs(
    sender: &Sender,
    namespaces: &Namespaces,
    folder: &TestFolder,
    mut client: Option<&mut Client>,
) -> Took {
    let mut runs = Vec::new();
    for _ in 0..RUNS {
        runs.push(shuffles(sender, namespaces, folder, client.as_deref_mut()).await);
    }
    Took::median(&runs)
}

#[test]
#[ignore = "takes two minutes, needs root and BPF; make slow WHAT=attach"]
fn small_shuffles_of_unmodified_programs_overtake_large_ones() {
    let _quiet = quiet();
    let Some(namespaces) = Namespaces::new() else { return };
    namespaces.limit(LINK);
    let folder = TestFolder::new();
    let (there, missing): (Vec<Sender>, _) = Sender::ALL.into_iter().partition(Sender::is_there);
    for sender in &missing {
        assert!(std::env::var_os("SKIP_NOTHING").is_none(), "there is no {}", sender.name());
        println!("{} is left out: it is not installed", sender.name());
    }
    let start = |sender: &Sender| sender.receive(&namespaces, &folder);
    let _receivers: Vec<Vec<Killed>> = there.iter().map(start).collect();
    block_on(async {
        tokio::time::sleep(LISTENING).await;
        let mut tcp = Vec::new();
        for sender in &there {
            tcp.push(runs(sender, &namespaces, &folder, None).await);
        }
        let covey = Covey::start(&namespaces, &folder, "coda:q1=10MB").await;
        let mut client = covey.client().await;
        println!("| program | shuffle | TCP, s | `coda`, s | | precision | recall |");
        println!("|---|---|--:|--:|--:|--:|--:|");
        let mut wrong = Vec::new();
        for (sender, tcp) in there.iter().zip(tcp) {
            let coda = runs(sender, &namespaces, &folder, Some(&mut client)).await;
            let Took { precision, recall, .. } = coda;
            let (longer, sooner) = (coda.large_s / tcp.large_s, tcp.small_s / coda.small_s);
            let row = |name: &str, [tcp, coda]: [f64; 2], times: &str| {
                println!("| {} | {name} | {tcp:.2} | {coda:.2} | {times} |", sender.name());
            };
            let [large, small] = [[tcp.large_s, coda.large_s], [tcp.small_s, coda.small_s]];
            let times = format!("{longer:.2} times as long | {precision:.3} | {recall:.3}");
            row("large", large, &times);
            row("small", small, &format!("{sooner:.2} times as fast | |"));
            // Without a flow that was found, precision and recall are no numbers.
            let is_grouped = precision >= GROUPED && recall >= GROUPED;
            if sooner < FAST || longer > LONG || !is_grouped {
                wrong.push(sender.name());
            }
        }
        assert!(
            wrong.is_empty(),
            "{wrong:?}: expected the small shuffle at least {FAST} times as fast, the large one at \
             most {LONG} times as long, and precision and recall of at least {GROUPED}"
        );
    });
}

/// The sockets of host 0 that are paced.
fn paced(namespaces: &Namespaces) -> usize {
    let mut command = namespaces.on(0, Command::new("ss").arg("-tin"));
    let output = command.output().expect("it comes with iproute2");
    let text = String::from_utf8(output.stdout).expect("text");
    let rates =
        text.lines().filter_map(|line| line.split_once("pacing_rate ")?.1.split(' ').next());
    // The second rate is what the socket may send at most.
    rates.filter(|rates| rates.contains('/')).count()
}

#[test]
#[ignore = "takes half a minute, needs root and BPF; make slow WHAT=attach"]
fn detach_takes_back_what_a_killed_agent_has_left() {
    let _quiet = quiet();
    let Some(namespaces) = Namespaces::new() else { return };
    namespaces.limit(LINK);
    let folder = TestFolder::new();
    let _receiver = Sender::Sockets.receive(&namespaces, &folder);
    block_on(async {
        // It paces flows even if it cannot tell coflows apart.
        let mut covey = Covey::start(&namespaces, &folder, "coda:q1=10MB,confidence=0").await;
        let mut shuffle = Sender::Sockets.send(&namespaces, &folder, 240_000_000, 4);
        until(8, "both sockets are paced", async || paced(&namespaces) == 2).await;
        drop(covey.agents.remove(0));
        let left = paced(&namespaces);
        let began = Instant::now();
        let detach = folder.command(&["detach", "--host"]);
        let detached = namespaces.on(0, &detach).output().expect("covey detach");
        let took_s = began.elapsed().as_secs_f64();
        assert!(detached.status.success(), "{}", String::from_utf8_lossy(&detached.stderr));
        let paced = paced(&namespaces);
        println!("agent killed with {left} sockets paced: {took_s:.2} s later {paced} were");
        assert_eq!(left, 2, "an agent that is killed leaves its sockets paced");
        assert_eq!(paced, 0);
        assert_eq!(shuffle.took_s(), None, "the sockets are still open");
        shuffle.ended().await;
    });
}
