//! Flows over real sockets, with a real agent's socket. The tests take the coordinator's part. They
//! check bytes and order, never durations.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use covey_agent::{CoordinatorEvent, Enforcer, Local};
use covey_client::{Blocks, Client, Flow, Incoming, Listener, Options, Scheduled};
use covey_client::{CoflowSpec, FlowReceiver, blocking};
use covey_proto::{CodecName, Direction, Ended, FlowHeader, FlowKey, FlowName, Means, Service};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Longer than anything here may take.
const LONG: Duration = Duration::from_secs(30);

struct AgentFolder(tempfile::TempDir);

impl AgentFolder {
    fn new() -> AgentFolder {
        AgentFolder(tempfile::tempdir().expect("a folder"))
    }

    fn socket(&self) -> PathBuf {
        self.0.path().join("agent.sock")
    }

    async fn agent(&self) -> Local {
        let every = Duration::from_millis(5);
        Local::listen(&self.socket(), 7, Means::Pacing, every).await.expect("a socket")
    }

    async fn client(&self) -> Client {
        start(Some(&self.socket())).await
    }
}

async fn start(agent: Option<&Path>) -> Client {
    let options = Options {
        agent: agent.map(Path::to_owned),
        coordinator: None,
        hold_max: None,
        ..Options::default()
    };
    Client::start(options).await.expect("no credentials are needed")
}

fn key(flow: u32) -> FlowKey {
    FlowKey { coflow: 1, flow }
}

fn service(rate: f64) -> Service {
    Service { layer: 0, rate, codec: None }
}

async fn listen(client: &Client) -> Listener {
    client.listen("127.0.0.1:0").await.expect("a port")
}

async fn next(listener: &mut Listener) -> FlowReceiver {
    match listener.accept().await.expect("a flow") {
        Incoming::Flow(flow) => flow,
        Incoming::Request(_) => panic!("no flow is asked for"),
    }
}

/// Waits until `is` returns true.
async fn until(what: &str, mut is: impl FnMut() -> bool) {
    let waiting = async {
        while !is() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    tokio::time::timeout(LONG, waiting).await.unwrap_or_else(|_| panic!("{what}: never"));
}

fn bytes(count: usize) -> Vec<u8> {
    (0..count as u32).map(|k| (k.wrapping_mul(2_654_435_761) >> 13) as u8).collect()
}

#[tokio::test]
async fn what_is_written_is_read_sized_or_not() {
    let client = start(None).await;
    let mut listener = listen(&client).await;
    let data = bytes(3_000_001);
    for (sized, piece) in [(true, 10_007), (false, 10_007), (false, 3_000_001), (true, 3_000_001)] {
        let coflow = client.join(1);
        let to = listener.local_addr();
        let length = sized.then_some(data.len() as u64);
        let mut sender = coflow.open(5, to, length, b"part").await.expect("a connection");
        let mut receiver = next(&mut listener).await;
        assert_eq!((receiver.coflow(), receiver.flow()), (1, 5));
        assert_eq!((receiver.label(), receiver.bytes()), (&b"part"[..], length));
        let write = async {
            for piece in data.chunks(piece) {
                sender.write_all(piece).await.expect("the other side reads");
            }
            sender.finish().await.expect("all has come");
        };
        let mut read = Vec::new();
        let (_, count) = tokio::join!(write, receiver.read_to_end(&mut read));
        assert_eq!(count.expect("nothing breaks"), data.len());
        assert!(read == data, "other bytes came");
    }
}

#[tokio::test]
async fn an_empty_flow_ends() {
    let client = start(None).await;
    let mut listener = listen(&client).await;
    for length in [Some(0), None] {
        let coflow = client.join(1);
        let mut sender = coflow.open(0, listener.local_addr(), length, b"").await.expect("open");
        let mut receiver = next(&mut listener).await;
        let mut read = Vec::new();
        let (sent, had) = tokio::join!(sender.finish(), receiver.read_to_end(&mut read));
        sent.expect("all has come");
        assert_eq!(had.expect("nothing breaks"), 0);
    }
}

#[tokio::test]
async fn a_sender_that_goes_early_is_an_error_not_an_end() {
    let client = start(None).await;
    let mut listener = listen(&client).await;
    for length in [Some(1000), None] {
        let coflow = client.join(1);
        let mut sender = coflow.open(0, listener.local_addr(), length, b"").await.expect("open");
        sender.write_all(&bytes(999)).await.expect("room");
        if length.is_some() {
            assert!(sender.finish().await.is_err(), "a byte is missing");
        }
        let mut receiver = next(&mut listener).await;
        drop(sender);
        let error = receiver.read_to_end(&mut Vec::new()).await.expect_err("it was cut");
        assert_eq!(error.kind(), std::io::ErrorKind::UnexpectedEof);
    }
    // More bytes than announced are refused before they are sent.
    let coflow = client.join(1);
    let mut sender = coflow.open(0, listener.local_addr(), Some(1), b"").await.expect("open");
    assert!(sender.write_all(b"two").await.is_err());
}

#[tokio::test]
async fn a_flow_waits_for_its_share_and_stops_when_it_is_taken_back() {
    let place = AgentFolder::new();
    let mut agent = place.agent().await;
    agent.heard(CoordinatorEvent::Joined { codec: None, openings: false });
    let client = place.client().await;
    until("the coordinator is heard", || client.scheduled() == Scheduled::Yes).await;
    assert_eq!(client.port(), Some(7));
    let mut listener = listen(&client).await;
    let data = bytes(4_000_000);
    let coflow = client.join(1);
    let to = listener.local_addr();
    let length = Some(data.len() as u64);
    let mut sender = coflow.open(0, to, length, b"").await.expect("open");
    let mut receiver = next(&mut listener).await;
    let sending = data.clone();
    let sent = tokio::spawn(async move {
        sender.write_all(&sending).await?;
        sender.finish().await
    });
    // Nothing arrives before the flow has a rate.
    let mut first = [0; 1];
    let early = tokio::time::timeout(Duration::from_millis(100), receiver.read(&mut first)).await;
    assert!(early.is_err(), "it has not waited");
    agent.apply((1, 1), &BTreeMap::from([(key(0).into(), service(2e6))])).expect("told");
    let mut read = vec![0; 100_000];
    receiver.read_exact(&mut read).await.expect("it sends");
    // The rate is taken back: bytes on the way arrive, then no more.
    agent.apply((1, 2), &BTreeMap::new()).expect("told");
    let rest = loop {
        let mut more = vec![0; 100_000];
        match tokio::time::timeout(Duration::from_millis(300), receiver.read(&mut more)).await {
            Err(_) => break read.len(),
            Ok(count) => read.extend(&more[..count.expect("nothing breaks")]),
        }
    };
    assert!(rest < data.len(), "it has not stopped");
    agent.apply((1, 3), &BTreeMap::from([(key(0).into(), service(1e9))])).expect("told");
    receiver.read_to_end(&mut read).await.expect("it goes on");
    assert!(read == data, "other bytes came");
    sent.await.expect("no panic").expect("all has come");
    // The end is reported, and kept until it is acknowledged.
    let mut ended = Vec::new();
    until("the end is reported", || {
        ended.extend(agent.progress().ended);
        !ended.is_empty()
    })
    .await;
    assert_eq!(ended, [Ended { key: key(0).into(), bytes: 4e6, wire: 4e6 }]);
    assert_eq!(client.unsettled(), 1);
    agent.heard(CoordinatorEvent::Acknowledged(&[key(0).into()]));
    until("its end is acknowledged", || client.unsettled() == 0).await;
}

#[tokio::test]
async fn a_restarted_agent_learns_all_again() {
    let place = AgentFolder::new();
    let mut agent = place.agent().await;
    agent.heard(CoordinatorEvent::Joined { codec: None, openings: false });
    let client = place.client().await;
    let mut listener = listen(&client).await;
    let coflow = client.join(1);
    let to = listener.local_addr();
    agent.apply((1, 1), &BTreeMap::from([(key(0).into(), service(1e9))])).expect("told");
    let mut sender = coflow.open(0, to, Some(3), b"").await.expect("open");
    let mut receiver = next(&mut listener).await;
    let mut text = String::new();
    let write = async {
        sender.write_all(b"abc").await?;
        sender.finish().await
    };
    let (sent, _) = tokio::join!(write, receiver.read_to_string(&mut text));
    assert_eq!(text, "abc");
    sent.expect("all has come");
    let mut waits = coflow.open(1, to, Some(3), b"").await.expect("open");
    let mut receiver = next(&mut listener).await;
    let write = tokio::spawn(async move {
        waits.write_all(b"xyz").await?;
        waits.finish().await
    });
    // The agent dies: flows that waited are sent unscheduled.
    drop(agent);
    receiver.read_to_string(&mut text).await.expect("it comes");
    assert_eq!(text, "abcxyz");
    let mut agent = place.agent().await;
    agent.heard(CoordinatorEvent::Joined { codec: None, openings: false });
    write.await.expect("no panic").expect("all has come");
    // The new agent hears of the ends that are not acknowledged.
    let mut ended = BTreeMap::new();
    until("the ends are said again", || {
        ended.extend(agent.progress().ended.iter().map(|it| (it.key, it.bytes)));
        ended.len() == 2
    })
    .await;
    assert_eq!(ended, BTreeMap::from([(key(0).into(), 3.0), (key(1).into(), 3.0)]));
}

#[tokio::test]
async fn a_flow_is_compressed_as_the_schedule_says_and_otherwise_while_it_runs() {
    let place = AgentFolder::new();
    let mut agent = place.agent().await;
    agent.heard(CoordinatorEvent::Joined { codec: Some(CodecName::Zstd), openings: false });
    let client = place.client().await;
    until("the coordinator is heard", || client.scheduled() == Scheduled::Yes).await;
    let mut listener = listen(&client).await;
    let coflow = client.join(1);
    let data: Vec<u8> = b"what is said often is said in few words; ".repeat(50_000);
    for (flow, length) in [(0, Some(data.len() as u64)), (1, None)] {
        let told = |version, codec| {
            ((1, version), BTreeMap::from([(key(flow).into(), Service { codec, ..service(1e9) })]))
        };
        let to = listener.local_addr();
        let mut sender = coflow.open(flow, to, length, b"").await.expect("open");
        let mut receiver = next(&mut listener).await;
        let mut read = vec![0; 800_000];
        let mut on_wire = Vec::new();
        for (version, codec) in [(1, Some(CodecName::Zstd)), (2, None), (3, Some(CodecName::Lz4))] {
            let version = u64::from(flow) * 3 + version;
            let (holds, flows) = told(version, codec);
            agent.apply(holds, &flows).expect("told");
            let before = (sender.sent(), sender.sent_on_wire());
            // Until the service has come: the first bytes are sent as before.
            let from = (on_wire.len() * 600_000).min(data.len());
            tokio::time::sleep(Duration::from_millis(50)).await;
            let part = &data[from..from + 600_000];
            let write = async {
                sender.write_all(part).await?;
                sender.flush().await
            };
            let (sent, had) = tokio::join!(write, receiver.read_exact(&mut read[..600_000]));
            sent.expect("room");
            had.expect("it comes");
            assert!(&read[..600_000] == part, "other bytes came");
            assert_eq!(sender.sent() - before.0, 600_000);
            on_wire.push(sender.sent_on_wire() - before.1);
        }
        assert!(on_wire[0] < 60_000 && on_wire[2] < 60_000, "{on_wire:?}");
        assert!((600_000..601_000).contains(&on_wire[1]), "{on_wire:?}");
        let rest = &data[1_800_000..];
        let write = async {
            sender.write_all(rest).await?;
            sender.finish().await
        };
        let mut last = Vec::new();
        let (sent, _) = tokio::join!(write, receiver.read_to_end(&mut last));
        sent.expect("all has come");
        assert!(last == rest);
        let mut ended = Vec::new();
        until("the end is reported", || {
            ended.extend(agent.progress().ended);
            !ended.is_empty()
        })
        .await;
        assert_eq!((ended[0].key, ended[0].bytes), (key(flow).into(), data.len() as f64));
        assert_eq!(ended[0].wire, sender.sent_on_wire() as f64);
    }
}

#[tokio::test]
async fn a_flow_that_was_opened_before_compression_was_offered_is_sent_plain() {
    let place = AgentFolder::new();
    let mut agent = place.agent().await;
    agent.heard(CoordinatorEvent::Joined { codec: None, openings: false });
    let client = place.client().await;
    until("the coordinator is heard", || client.scheduled() == Scheduled::Yes).await;
    let mut listener = listen(&client).await;
    let lz4 = Service { codec: Some(CodecName::Lz4), ..service(1e9) };
    agent.apply((1, 1), &BTreeMap::from([(key(0).into(), lz4)])).expect("told");
    let to = listener.local_addr();
    let mut sender = client.join(1).open(0, to, Some(300_000), b"").await.expect("open");
    let mut receiver = next(&mut listener).await;
    let write = async {
        sender.write_all(&[7; 300_000]).await?;
        sender.finish().await
    };
    let mut read = Vec::new();
    let (sent, _) = tokio::join!(write, receiver.read_to_end(&mut read));
    sent.expect("all has come");
    assert!(read == [7; 300_000]);
    assert_eq!((sender.sent(), sender.sent_on_wire()), (300_000, 300_000));
}

#[tokio::test]
async fn an_agents_socket_is_its_owners_alone_and_replaces_what_is_left_of_another() {
    use std::os::unix::fs::PermissionsExt;
    let place = AgentFolder::new();
    let agent = place.agent().await;
    let mode = std::fs::metadata(place.socket()).expect("a socket").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let again = Local::listen(&place.socket(), 7, Means::Pacing, Duration::from_millis(5)).await;
    assert_eq!(again.err().map(|error| error.kind()), Some(std::io::ErrorKind::AddrInUse));
    drop(agent);
    // The file that a killed agent leaves.
    drop(std::os::unix::net::UnixListener::bind(place.socket()).expect("room"));
    let _agent = place.agent().await;
    start(Some(&place.socket())).await;
    // No other file stays but the lock on the socket's name.
    assert_eq!(std::fs::read_dir(place.0.path()).expect("a folder").count(), 2);
}

#[tokio::test]
async fn blocks_are_pushed_and_pulled_put_and_got() {
    let client = start(None).await;
    let blocks = Blocks::listen(&client, "127.0.0.1:0").await.expect("a port");
    let coflow = client.join(9);
    let to = blocks.local_addr();
    let (a, b) = (bytes(500_000), bytes(7));
    let pushing = async {
        tokio::join!(Blocks::push(&coflow, 0, to, b"a", &a), Blocks::push(&coflow, 1, to, b"b", &b))
    };
    let pulling = async {
        // In another order than they were pushed.
        let second = blocks.pull(9, b"b").await.expect("it comes");
        (blocks.pull(9, b"a").await.expect("it comes"), second)
    };
    let (pushed, pulled) = tokio::join!(pushing, pulling);
    pushed.0.and(pushed.1).expect("all has come");
    assert!(pulled == (a.clone(), b.clone()));
    // The block is asked for before it is put.
    let getting = Blocks::get(&coflow, 2, to, b"c");
    let putting = async {
        tokio::time::sleep(Duration::from_millis(20)).await;
        blocks.put(9, b"c", a.clone());
    };
    let (got, ()) = tokio::join!(getting, putting);
    assert!(got.expect("it is there") == a);
    assert!(Blocks::get(&coflow, 3, to, b"c").await.expect("as often as one likes") == a);
}

#[tokio::test]
async fn a_request_that_is_given_up_is_not_kept() {
    let client = start(None).await;
    let blocks = Blocks::listen(&client, "127.0.0.1:0").await.expect("a port");
    let mut other = TcpStream::connect(blocks.local_addr()).await.expect("open");
    let header = FlowHeader {
        key: key(0),
        direction: Direction::Pulled,
        bytes: None,
        chunked: true,
        with_notes: false,
        label: b"never put".to_vec(),
    };
    let mut bytes = Vec::new();
    header.encode(&mut bytes);
    other.write_all(&bytes).await.expect("room");
    other.shutdown().await.expect("it is open");
    let closed = tokio::time::timeout(LONG / 3, other.read(&mut [0])).await;
    assert_eq!(closed.expect("it is kept open").expect("an end"), 0);
}

#[tokio::test]
async fn a_connection_that_does_not_begin_like_a_flow_is_closed() {
    let client = start(None).await;
    let mut listener = listen(&client).await;
    let mut stranger = TcpStream::connect(listener.local_addr()).await.expect("open");
    stranger.write_all(b"GET / HTTP/1.1\r\nHost: covey\r\n\r\n").await.expect("room");
    let mut answer = Vec::new();
    // The connection is closed, with or without an error about unread bytes.
    let _ = stranger.read_to_end(&mut answer).await;
    assert!(answer.is_empty());
    let coflow = client.join(1);
    let mut sender = coflow.open(0, listener.local_addr(), Some(0), b"").await.expect("open");
    let mut receiver = next(&mut listener).await;
    let (sent, _) = tokio::join!(sender.finish(), receiver.read_to_end(&mut answer));
    sent.expect("others come through");
}

#[test]
fn without_async_and_without_a_schedule() {
    use std::io::{Read, Write};
    let options = Options { agent: None, coordinator: None, ..Options::default() };
    let client = blocking::Client::start(options).expect("threads");
    let spec = CoflowSpec::of(vec![Flow::new(0, 1, None)]);
    let coflow = client.register(&spec).expect("nobody refuses");
    assert!(coflow.id() >= 1 << 63, "no coordinator knows it");
    let mut listener = client.listen("127.0.0.1:0").expect("a port");
    let to = listener.local_addr();
    let reader = std::thread::spawn(move || {
        let mut flow = listener.accept().expect("a flow");
        let mut text = String::new();
        flow.read_to_string(&mut text).expect("nothing breaks");
        (flow.coflow(), text)
    });
    let mut flow = coflow.open(0, to, None, b"").expect("open");
    flow.write_all(b"hello, covey").expect("room");
    flow.finish().expect("all has come");
    assert_eq!(reader.join().expect("no panic"), (coflow.id(), "hello, covey".to_owned()));
}

#[tokio::test]
async fn no_wait_is_longer_than_the_application_allows() {
    let place = AgentFolder::new();
    let mut agent = place.agent().await;
    agent.heard(CoordinatorEvent::Joined { codec: None, openings: false });
    let options = Options {
        agent: Some(place.socket()),
        coordinator: None,
        hold_max: Some(Duration::from_millis(200)),
        ..Options::default()
    };
    let client = Client::start(options).await.expect("no credentials are needed");
    let mut listener = listen(&client).await;
    let to = listener.local_addr();
    let data = bytes(2_000_000);
    for was_served in [false, true] {
        let flow = u32::from(was_served);
        let mut sender = client.join(1).open(flow, to, None, b"").await.expect("open");
        let mut receiver = next(&mut listener).await;
        if was_served {
            // The flow is served for a short time, and then never again.
            agent
                .apply((1, 1), &BTreeMap::from([(key(flow).into(), service(1e6))]))
                .expect("applied");
            sender.write_all(&data[..20_000]).await.expect("it is served");
            agent.apply((1, 2), &BTreeMap::new()).expect("applied");
        }
        let from = if was_served { 20_000 } else { 0 };
        let write = async {
            sender.write_all(&data[from..]).await.expect("the other side reads");
            sender.finish().await.expect("all has come");
        };
        let mut read = Vec::new();
        let both = async { tokio::join!(write, receiver.read_to_end(&mut read)) };
        let (_, count) = tokio::time::timeout(LONG, both).await.expect("it does not wait for ever");
        assert_eq!(count.expect("nothing breaks"), data.len());
        assert!(read == data, "other bytes came");
    }
}

#[tokio::test]
async fn a_flow_that_is_cancelled_breaks_at_both_ends_wherever_it_waits() {
    let place = AgentFolder::new();
    let mut agent = place.agent().await;
    agent.heard(CoordinatorEvent::Joined { codec: None, openings: false });
    let client = place.client().await;
    let mut listener = listen(&client).await;
    let data = bytes(30_000_000);
    // One waits for a rate, one for room in its socket.
    for (flow, is_served) in [(0, false), (1, true)] {
        let to = listener.local_addr();
        let mut sender = client.join(1).open(flow, to, None, b"").await.expect("open");
        let mut receiver = next(&mut listener).await;
        let rates = BTreeMap::from([(key(flow).into(), service(1e9))]);
        let rates = if is_served { rates } else { BTreeMap::new() };
        agent.apply((1, 1 + u64::from(flow)), &rates).expect("told");
        let data = data.clone();
        let writing = tokio::spawn(async move {
            let result = sender.write_all(&data).await;
            (result, sender.is_cancelled())
        });
        let mut some = [0; 1000];
        if is_served {
            receiver.read_exact(&mut some).await.expect("it is served");
        }
        let is_it = |(opened, _): &(FlowName, bool)| *opened == key(flow).into();
        until("it is opened", || agent.progress().opened.iter().any(is_it)).await;
        agent.heard(CoordinatorEvent::Acknowledged(&[key(flow).into()]));
        let (result, is_cancelled) =
            tokio::time::timeout(LONG, writing).await.expect("it does not wait").expect("no panic");
        let error = result.expect_err("nobody needs it");
        assert_eq!(error.kind(), std::io::ErrorKind::ConnectionAborted, "{error}");
        assert!(is_cancelled && error.to_string().starts_with("the flow was cancelled"), "{error}");
        let mut read = Vec::new();
        let broken = tokio::time::timeout(LONG, receiver.read_to_end(&mut read)).await;
        broken.expect("it does not wait").expect_err("the flow is not whole");
    }
}
