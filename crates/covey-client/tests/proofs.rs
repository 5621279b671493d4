//! Flows that prove themselves, over real sockets and with the sockets of real agents. The tests
//! take the coordinator's part.

use std::path::PathBuf;
use std::time::Duration;

use covey_agent::{CoordinatorEvent, Enforcer, Local};
use covey_api::hmac_sha256;
use covey_client::{Client, FlowReceiver, FlowSender, Incoming, Listener, Options, Scheduled};
use covey_proto::{
    Direction, FlowAnswer, FlowHeader, FlowKey, FlowKeys, FlowTokens, Key, LOCAL_VERSION, Means,
    Proof, ProofRefusal, Purpose, REFUSAL, ToApp, Token, encode, refusal_of,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const SECRET: Key = Key([7; 32]);
const KEY: FlowKey = FlowKey { coflow: 1, flow: 0 };
const LONG: Duration = Duration::from_secs(30);

fn token(port: u32, direction: Direction, key: FlowKey) -> Token {
    SECRET.receiving(hmac_sha256, port).sign(hmac_sha256, direction, key)
}

/// A host: an agent, and an application.
struct Host {
    _folder: tempfile::TempDir,
    socket: PathBuf,
    port: u32,
    agent: Option<Local>,
    client: Client,
}

impl Host {
    /// A host whose agent hears a coordinator.
    async fn start(port: u32, mode: FlowTokens) -> Host {
        // No schedule mentions flows here.
        Host::holding(port, mode, Some(Duration::ZERO)).await
    }

    /// A host whose flows wait for so long.
    async fn holding(port: u32, mode: FlowTokens, hold: Option<Duration>) -> Host {
        let folder = tempfile::tempdir().expect("a folder");
        let socket = folder.path().join("agent.sock");
        let mut agent = listen(&socket, port).await;
        join(&mut agent, port, mode);
        let options = Options {
            agent: Some(socket.clone()),
            coordinator: None,
            hold_max: hold,
            ..Options::default()
        };
        let client = Client::start(options).await.expect("no credentials are needed");
        Host { _folder: folder, socket, port, agent: Some(agent), client }
    }

    fn agent(&mut self) -> &mut Local {
        self.agent.as_mut().expect("an agent")
    }

    /// Answers what its agent asks, as the coordinator does, for the flow from port 0 to port 1.
    /// Returns for how many flows.
    fn answer(&mut self) -> usize {
        let port = self.port;
        let asks = self.agent().progress().asks;
        let answers = asks.iter().map(|&ask| {
            let begins = u32::from(ask.direction == Direction::Pulled);
            let is_known = ask.key.coflow == KEY.coflow;
            let granted = match ask.purpose {
                Purpose::Show if is_known && port == begins => {
                    Some(token(1 - begins, ask.direction, ask.key))
                }
                Purpose::Confirm(seal) if is_known && port != begins => {
                    let key = SECRET.sending(hmac_sha256, begins);
                    let right = key.sign(hmac_sha256, ask.direction, ask.key);
                    (right == Token(seal)).then(Token::default)
                }
                _ => None,
            };
            FlowAnswer { ask, granted }
        });
        let answers: Vec<FlowAnswer> = answers.collect();
        self.agent().heard(CoordinatorEvent::Answered(&answers));
        answers.len()
    }

    /// Answers until `work` is done.
    async fn answering<T>(&mut self, work: impl Future<Output = T>) -> T {
        let answer = async {
            loop {
                self.answer();
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        let both = async {
            tokio::select! {
                done = work => done,
                () = answer => unreachable!("it never ends"),
            }
        };
        tokio::time::timeout(LONG, both).await.expect("it takes no time")
    }
}

async fn listen(socket: &std::path::Path, port: u32) -> Local {
    let every = Duration::from_millis(5);
    Local::listen(socket, port, Means::Pacing, every).await.expect("a socket")
}

fn join(agent: &mut Local, port: u32, mode: FlowTokens) {
    let receiving = SECRET.receiving(hmac_sha256, port);
    let (sending, fabric) = (SECRET.sending(hmac_sha256, port), SECRET.fabric(hmac_sha256));
    let keys = FlowKeys { mode, receiving, sending, fabric };
    agent.heard(CoordinatorEvent::Joined { codec: None, openings: false });
    agent.heard(CoordinatorEvent::Keys(Some(&keys)));
}

/// The hosts of ports 0 and 1, and where the second one listens.
async fn hosts(mode: FlowTokens) -> (Host, Host, Listener) {
    let (a, b) = (Host::start(0, mode).await, Host::start(1, mode).await);
    let listener = b.client.listen("127.0.0.1:0").await.expect("a port");
    (a, b, listener)
}

async fn next(listener: &mut Listener) -> FlowReceiver {
    match listener.accept().await.expect("a flow") {
        Incoming::Flow(flow) => flow,
        Incoming::Request(_) => panic!("no flow is asked for"),
    }
}

/// Sends a few bytes, and receives them.
async fn carry(mut sender: FlowSender, mut receiver: FlowReceiver) {
    let write = async {
        sender.write_all(b"hello").await.expect("it is taken");
        sender.finish().await.expect("all has come");
    };
    let mut read = String::new();
    let (_, count) = tokio::join!(write, receiver.read_to_string(&mut read));
    assert_eq!((count.expect("nothing breaks"), read.as_str()), (5, "hello"));
}

/// Why a connection with this header is refused.
async fn refusal(listener: &Listener, key: FlowKey, proof: Option<Proof>) -> Option<ProofRefusal> {
    let mut stream = TcpStream::connect(listener.local_addr()).await.expect("open");
    let header = FlowHeader {
        key,
        direction: Direction::Pushed,
        bytes: Some(5),
        chunked: false,
        with_notes: false,
        label: b"x".to_vec(),
    };
    let mut bytes = Vec::new();
    header.encode_with(proof.as_ref(), &mut bytes);
    stream.write_all(&bytes).await.expect("room");
    stream.write_all(b"hello").await.expect("room");
    let mut answer = [0; REFUSAL];
    stream.read_exact(&mut answer).await.expect("an answer");
    assert_eq!(stream.read(&mut [0; 1]).await.expect("it is closed"), 0);
    refusal_of(&answer)
}

#[tokio::test]
async fn a_flow_with_its_token_comes_and_others_are_refused() {
    let (mut a, _b, mut listener) = hosts(FlowTokens::On).await;
    let right = token(1, Direction::Pushed, KEY);
    let other = FlowKey { flow: 1, ..KEY };
    for (key, proof, expected) in [
        (KEY, None, ProofRefusal::Missing),
        (other, Some(Proof::Coordinator(right)), ProofRefusal::Wrong),
        (KEY, Some(Proof::Agent { token: right, seal: right }), ProofRefusal::Wrong),
        (KEY, Some(Proof::Coordinator(Token::default())), ProofRefusal::Wrong),
        (KEY, Some(Proof::Coordinator(token(0, Direction::Pushed, KEY))), ProofRefusal::Wrong),
    ] {
        assert_eq!(refusal(&listener, key, proof).await, Some(expected), "{key:?} {proof:?}");
    }
    let coflow = a.client.join(1);
    let opened = coflow.open(0, listener.local_addr(), Some(5), b"x");
    let sender = a.answering(opened).await.expect("a connection");
    // It is the first that the application sees.
    let receiver = next(&mut listener).await;
    assert_eq!((receiver.coflow(), receiver.flow(), receiver.label()), (1, 0, &b"x"[..]));
    carry(sender, receiver).await;
    // In chunks, too.
    let opened = coflow.open(0, listener.local_addr(), None, b"");
    let sender = a.answering(opened).await.expect("a connection");
    carry(sender, next(&mut listener).await).await;
}

#[tokio::test]
async fn a_sender_is_told_why_its_flow_is_refused() {
    let (mut a, _b, listener) = hosts(FlowTokens::On).await;
    // The coordinator does not know the coflow.
    let coflow = a.client.join(5);
    for bytes in [3, 64 << 20] {
        let opened = coflow.open(0, listener.local_addr(), Some(bytes), b"");
        let mut sender = a.answering(opened).await.expect("a connection");
        let data = vec![7; bytes as usize];
        let sent = async {
            sender.write_all(&data).await?;
            sender.finish().await
        };
        let error = sent.await.expect_err("it is refused");
        let text = "the other side refuses the flow: it shows no proof that it is this flow";
        assert_eq!(
            (error.kind(), error.to_string().as_str()),
            (std::io::ErrorKind::PermissionDenied, text)
        );
    }
}

#[tokio::test]
async fn a_sender_that_waits_for_its_turn_is_told_too() {
    let (_a, _b, listener) = hosts(FlowTokens::On).await;
    for hold in [None, Some(LONG)] {
        let mut a = Host::holding(0, FlowTokens::On, hold).await;
        let coflow = a.client.join(5);
        let opened = coflow.open(0, listener.local_addr(), Some(3), b"");
        let mut sender = a.answering(opened).await.expect("a connection");
        let error = sender.write_all(b"abc").await.expect_err("it is refused");
        assert_eq!(error.kind(), std::io::ErrorKind::PermissionDenied, "{error}");
    }
}

#[tokio::test]
async fn a_flow_that_is_asked_for_is_proven_in_both_directions() {
    let (mut a, mut b, _) = hosts(FlowTokens::On).await;
    // Port 1 asks port 0 for the flow.
    let mut listener = a.client.listen("127.0.0.1:0").await.expect("a port");
    let at = listener.local_addr();
    let coflow = b.client.join(1);
    let fetched = tokio::spawn(async move { coflow.fetch(0, at, b"x").await });
    let accepted = b.answering(listener.accept()).await.expect("a request");
    let Incoming::Request(request) = accepted else { panic!("it is asked for") };
    assert_eq!((request.coflow(), request.flow(), request.label()), (1, 0, &b"x"[..]));
    let sender = a.answering(request.send(Some(5))).await.expect("a connection");
    carry(sender, fetched.await.expect("no panic").expect("it comes")).await;
    // A request for a flow that the coordinator does not know.
    let coflow = b.client.join(5);
    let error = b.answering(coflow.fetch(0, at, b"x")).await.expect_err("it is refused");
    assert_eq!(error.kind(), std::io::ErrorKind::PermissionDenied, "{error}");
}

#[tokio::test]
async fn an_answer_without_a_proof_is_refused() {
    let (_a, mut b, _) = hosts(FlowTokens::On).await;
    // An application without an agent answers in the place of port 0.
    let options = Options { agent: None, coordinator: None, ..Options::default() };
    let stranger = Client::start(options).await.expect("no credentials");
    let mut listener = stranger.listen("127.0.0.1:0").await.expect("a port");
    let at = listener.local_addr();
    let answered = tokio::spawn(async move {
        match listener.accept().await.expect("a request") {
            Incoming::Request(request) => request.send(Some(5)).await.map(|_| ()),
            Incoming::Flow(_) => panic!("it is asked for"),
        }
    });
    let coflow = b.client.join(1);
    let error = b.answering(coflow.fetch(0, at, b"x")).await.expect_err("it is refused");
    assert!(error.to_string().contains("it shows no proof"), "{error}");
    answered.await.expect("no panic").expect("it is sent");
}

#[tokio::test]
async fn without_the_coordinator_flows_go_on_and_strangers_stay_out() {
    let (mut a, mut b, mut listener) = hosts(FlowTokens::On).await;
    let to = listener.local_addr();
    // No coordinator knows the coflow.
    let sender = a.client.join(1 << 63).open(0, to, Some(5), b"").await.expect("a connection");
    carry(sender, next(&mut listener).await).await;
    // The coordinator goes.
    a.agent().heard(CoordinatorEvent::Left);
    b.agent().heard(CoordinatorEvent::Left);
    let sender = a.client.join(1).open(0, to, Some(5), b"").await.expect("a connection");
    carry(sender, next(&mut listener).await).await;
    assert_eq!(refusal(&listener, KEY, None).await, Some(ProofRefusal::Missing));
    // It comes back to the receiver alone, and says that the proof is that of the sender's agent.
    join(b.agent(), 1, FlowTokens::On);
    let sender = a.client.join(1).open(0, to, Some(5), b"").await.expect("a connection");
    let receiver = b.answering(next(&mut listener)).await;
    carry(sender, receiver).await;
    // Another agent's does not count.
    let token = SECRET.fabric(hmac_sha256).sign(hmac_sha256, Direction::Pushed, KEY);
    let seal = SECRET.sending(hmac_sha256, 2).sign(hmac_sha256, Direction::Pushed, KEY);
    let stolen = Some(Proof::Agent { token, seal });
    let refused = b.answering(refusal(&listener, KEY, stolen)).await;
    assert_eq!(refused, Some(ProofRefusal::OtherPort));
    // One that does not answer counts as away.
    let sender = a.client.join(1).open(0, to, Some(5), b"").await.expect("a connection");
    carry(sender, next(&mut listener).await).await;
}

#[tokio::test]
async fn hosts_that_need_no_proof_take_flows_without_one() {
    let (mut a, mut b, mut listener) = hosts(FlowTokens::Allow).await;
    let to = listener.local_addr();
    let options = Options { agent: None, coordinator: None, ..Options::default() };
    let older = Client::start(options).await.expect("no credentials");
    let sender = older.join(1).open(0, to, Some(5), b"").await.expect("a connection");
    carry(sender, next(&mut listener).await).await;
    let wrong = Some(Proof::Coordinator(Token::default()));
    assert_eq!(refusal(&listener, KEY, wrong).await, Some(ProofRefusal::Wrong));
    let coflow = a.client.join(1);
    let opened = coflow.open(0, to, Some(5), b"");
    let sender = a.answering(opened).await.expect("a connection");
    carry(sender, next(&mut listener).await).await;
    let progress = b.agent().progress();
    assert_eq!((progress.refused, progress.unproven), (1, 1));
    // Without an agent nobody checks.
    b.agent = None;
    while b.client.port().is_some() {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    let sender = older.join(1).open(0, to, Some(5), b"").await.expect("a connection");
    carry(sender, next(&mut listener).await).await;
}

#[tokio::test]
async fn a_flow_waits_for_an_agent_that_is_started_again() {
    let (mut a, _b, mut listener) = hosts(FlowTokens::On).await;
    a.agent = None;
    while a.client.port().is_some() {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    let (to, coflow) = (listener.local_addr(), a.client.join(1));
    let opening = tokio::spawn(async move { coflow.open(0, to, Some(5), b"").await });
    let mut agent = listen(&a.socket, 0).await;
    // The application is back before the coordinator.
    while a.client.port().is_none() {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    join(&mut agent, 0, FlowTokens::On);
    a.agent = Some(agent);
    let sender = a.answering(opening).await.expect("no panic").expect("a connection");
    carry(sender, next(&mut listener).await).await;
}

/// An agent of which an application understands each message, but not the sense.
#[tokio::test]
async fn an_agent_that_wants_reports_once_in_an_age_is_heard() {
    let folder = tempfile::tempdir().expect("a folder");
    let socket = folder.path().join("agent.sock");
    let agent = tokio::net::UnixListener::bind(&socket).expect("a socket");
    tokio::spawn(async move {
        let (mut stream, _) = agent.accept().await.expect("an application");
        let mut bytes = Vec::new();
        let (version, means) = (LOCAL_VERSION, Means::Pacing);
        encode(&ToApp::Welcome { version, port: 7, means, report_every_s: 1e300 }, &mut bytes);
        encode(&ToApp::Coordinator { heard: true, codec: None }, &mut bytes);
        stream.write_all(&bytes).await.expect("room");
        std::future::pending::<()>().await;
    });
    let options = Options { agent: Some(socket), coordinator: None, ..Options::default() };
    let client = Client::start(options).await.expect("no credentials are needed");
    assert_eq!((client.port(), client.scheduled()), (Some(7), Scheduled::Yes));
}

/// All are asked for in a few messages.
#[tokio::test]
async fn twenty_thousand_flows_have_their_proofs() {
    let (mut a, ..) = hosts(FlowTokens::On).await;
    let client = a.client.clone();
    // Nobody listens there: only the proofs matter.
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let to = nobody.local_addr().expect("an address");
    drop(nobody);
    let opening = async move {
        let mut all = tokio::task::JoinSet::new();
        for flow in 0..20_000 {
            let coflow = client.join(1);
            all.spawn(async move { coflow.open(flow, to, Some(5), b"").await.is_err() });
        }
        all.join_all().await
    };
    let mut asked = 0;
    let answer = async {
        let mut opening = std::pin::pin!(opening);
        loop {
            tokio::select! {
                failed = &mut opening => return failed,
                () = tokio::time::sleep(Duration::from_millis(2)) => asked += a.answer(),
            }
        }
    };
    let failed = tokio::time::timeout(LONG, answer).await.expect("they are answered");
    assert_eq!((failed.len(), failed.iter().all(|failed| *failed)), (20_000, true));
    assert_eq!(asked, 20_000);
}
