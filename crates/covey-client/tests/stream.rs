//! Flows over real sockets where nobody is in charge. Both ends run the whole library.

use std::time::Duration;

use covey_client::{Blocks, Client, Coflow, CoflowSpec, Flow, FlowReceiver, FlowSender};
use covey_client::{Incoming, Listener, Mode, Options, Scheduled, StreamSetup};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

async fn start(mode: Mode) -> Client {
    let options = Options { mode, agent: None, coordinator: None, ..Options::default() };
    Client::start(options).await.expect("settings of stream")
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

async fn register(client: &Client, parents: Vec<u64>) -> Coflow {
    let flow = Flow::new(0, 1, None);
    let spec = CoflowSpec { parents, ..CoflowSpec::of(vec![flow]) };
    client.register(&spec).await.expect("nobody refuses")
}

/// A flow to somebody who does not run the library, and the other end of its connection.
async fn open_to_stranger(coflow: &Coflow) -> (FlowSender, TcpStream) {
    let other = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let at = other.local_addr().expect("it has one");
    let flow = coflow.open(0, at, None, b"").await.expect("open");
    (flow, other.accept().await.expect("a connection").0)
}

/// Bytes of which no two positions look alike.
fn bytes(seed: u64, length: usize) -> Vec<u8> {
    let word = |k: u64| (k ^ seed << 32).wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes();
    (0..).flat_map(word).take(length).collect()
}

/// Sends `data` and checks that it comes.
async fn carry(mut sender: FlowSender, mut receiver: FlowReceiver, data: &[u8]) {
    let write = async {
        for piece in data.chunks(100_000) {
            sender.write_all(piece).await.expect("the other side reads");
        }
        sender.finish().await.expect("all has come");
    };
    let mut read = Vec::new();
    let receive = async {
        let count = receiver.read_to_end(&mut read).await.expect("nothing breaks");
        assert_eq!(count, data.len());
    };
    tokio::join!(write, receive);
    assert!(read == data, "other bytes came");
}

#[tokio::test(flavor = "multi_thread")]
async fn all_bytes_come_and_senders_hear_what_receivers_decide() {
    let setup = covey_sched::stream::settings("K=8,q1=100kB,E=2").expect("settings");
    let [sender, first, second] = [0; 3].map(|_| start(Mode::Stream(setup.clone())));
    let (sender, receivers) = (sender.await, [first.await, second.await]);
    assert_eq!(sender.scheduled(), Scheduled::ByReceivers);
    let coflow = register(&sender, Vec::new()).await;
    let mut all = Vec::new();
    for (k, receiver) in (0_u32..).zip(&receivers) {
        let mut listener = listen(receiver).await;
        let size = (k == 0).then_some(5_000_000);
        let opened = coflow.open(k, listener.local_addr(), size, b"").await.expect("open");
        all.push((k, opened, next(&mut listener).await, listener));
    }
    let mut tasks = tokio::task::JoinSet::new();
    for (k, opened, accepted, listener) in all {
        tasks.spawn(async move {
            carry(opened, accepted, &bytes(k.into(), 5_000_000)).await;
            drop(listener);
        });
    }
    while let Some(result) = tasks.join_next().await {
        result.expect("it carries all");
    }
    // 5 MB fall through queues that end at 0.1 to 6.4 MB, later ones of the coflow of both
    // receivers.
    let delays = sender.decision_delays();
    assert!(delays.len() >= 2, "{delays:?}");
    assert!(delays.iter().all(|delay| *delay < Duration::from_secs(10)), "{delays:?}");
    assert!(receivers.iter().all(|receiver| receiver.decision_delays().is_empty()));
}

#[tokio::test]
async fn stages_of_a_job_pass_their_bytes_on() {
    let (mapper, reducer, sink) = (
        start(Mode::Stream(StreamSetup::default())).await,
        start(Mode::Stream(StreamSetup::default())).await,
        start(Mode::Stream(StreamSetup::default())).await,
    );
    let first = register(&mapper, Vec::new()).await;
    let mut listener = listen(&reducer).await;
    let opened = first.open(0, listener.local_addr(), None, b"").await.expect("open");
    carry(opened, next(&mut listener).await, &bytes(1, 300_000)).await;
    let second = register(&reducer, vec![first.id()]).await;
    let mut listener = listen(&sink).await;
    let opened = second.open(0, listener.local_addr(), None, b"").await.expect("open");
    // The note on the first stage goes ahead of the first byte.
    carry(opened, next(&mut listener).await, &bytes(2, 300_000)).await;
}

#[tokio::test]
async fn blocks_are_asked_for_and_sent() {
    let (there, here) = (
        start(Mode::Stream(StreamSetup::default())).await,
        start(Mode::Stream(StreamSetup::default())).await,
    );
    let blocks = Blocks::listen(&there, "127.0.0.1:0").await.expect("a port");
    let coflow = register(&here, Vec::new()).await;
    let data = bytes(3, 700_000);
    blocks.put(coflow.id(), b"block", data.clone());
    let come = Blocks::get(&coflow, 0, blocks.local_addr(), b"block").await.expect("it comes");
    assert!(come == data, "other bytes came");
}

#[tokio::test]
async fn an_application_in_another_mode_refuses_and_says_so() {
    let (sender, receiver) =
        (start(Mode::Stream(StreamSetup::default())).await, start(Mode::Coordinator).await);
    let listener = listen(&receiver).await;
    let coflow = register(&sender, Vec::new()).await;
    let mut flow = coflow.open(0, listener.local_addr(), None, b"").await.expect("open");
    let error = loop {
        if let Err(error) = flow.write_all(&[1; 100_000]).await {
            break error.to_string();
        }
    };
    assert!(error.contains("does not run in mode stream") || error.contains("reset"), "{error}");
    // The other way round the flow comes, and nobody decides.
    let mut listener = listen(&sender).await;
    let coflow = receiver.join(1);
    let opened = coflow.open(0, listener.local_addr(), None, b"").await.expect("open");
    carry(opened, next(&mut listener).await, &bytes(4, 100_000)).await;
}

#[tokio::test]
async fn the_end_of_the_other_side_is_an_error_at_once() {
    let client = start(Mode::Stream(StreamSetup::default())).await;
    let coflow = register(&client, Vec::new()).await;
    // Somebody who closes without a word, as a version without this mode does.
    let (mut flow, mut stream) = open_to_stranger(&coflow).await;
    let mut header = [0; 28];
    stream.read_exact(&mut header).await.expect("a header");
    drop(stream);
    // The connection may break before the bytes are in it.
    let written = flow.write_all(&[1; 10]).await;
    let error = match written {
        Ok(()) => flow.finish().await.expect_err("nobody confirms").to_string(),
        Err(error) => error.to_string(),
    };
    let is_said =
        ["without mode stream", "reset", "Broken pipe"].iter().any(|it| error.contains(it));
    assert!(is_said, "{error}");

    // A receiver whose sender is gone.
    let mut listener = listen(&client).await;
    let mut flow = coflow.open(0, listener.local_addr(), None, b"").await.expect("open");
    let mut receiver = next(&mut listener).await;
    flow.write_all(&[1; 10]).await.expect("there is room");
    drop(flow);
    assert!(receiver.read_to_end(&mut Vec::new()).await.is_err());
}

#[tokio::test]
async fn garbage_instead_of_replies_and_of_notes_is_an_error() {
    let client = start(Mode::Stream(StreamSetup::default())).await;
    let coflow = register(&client, Vec::new()).await;
    let (mut flow, mut stream) = open_to_stranger(&coflow).await;
    stream.write_all(&[77; 24]).await.expect("there is room");
    let error = loop {
        if let Err(error) = flow.write_all(&[1; 10]).await {
            break error.to_string();
        }
    };
    assert!(error.contains("a reply"), "{error}");

    let mut listener = listen(&client).await;
    let mut stream = TcpStream::connect(listener.local_addr()).await.expect("a connection");
    let mut wire = b"CVF2\x01\0\x02\0".to_vec();
    wire.extend([0; 20]);
    wire.extend([0, 0, 0, 0, 0, 0, 0, 0, 24, 0, 0, 0, 0, 0, 0, 0]);
    wire.extend([77; 24]);
    stream.write_all(&wire).await.expect("there is room");
    let mut receiver = next(&mut listener).await;
    let error = receiver.read_to_end(&mut Vec::new()).await.expect_err("garbage").to_string();
    assert!(error.contains("note"), "{error}");
}
