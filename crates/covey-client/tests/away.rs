//! Coordinators that do not answer, or refuse what they would accept at another time: an
//! application continues without them, and waits once at most.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use covey_client::{Client, CoflowSpec, Flow, Options, RestError, Update};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// Maximum time of a call here, and what a busy machine may add to it.
const DEADLINE: Duration = Duration::from_millis(300);
const BUSY: Duration = Duration::from_millis(700);

/// A coordinator that gives the same answer to all requests, or none.
#[derive(Clone, Default)]
struct Canned {
    /// The HTTP status; 0 for none, 1 for a connection that is closed.
    status: Arc<AtomicUsize>,
    requests: Arc<AtomicUsize>,
}

impl Canned {
    async fn serve(status: usize) -> (Canned, SocketAddr) {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let it = Canned::default();
        it.status.store(status, Ordering::Relaxed);
        let canned = it.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(canned.clone().talk(stream));
            }
        });
        (it, address)
    }

    async fn talk(self, mut stream: TcpStream) -> io::Result<()> {
        let mut buffer = vec![0; 64 << 10];
        loop {
            let count = stream.read(&mut buffer).await?;
            if count == 0 {
                return Ok(());
            }
            self.requests.fetch_add(1, Ordering::Relaxed);
            let asked = String::from_utf8_lossy(&buffer[..count]).into_owned();
            let status = match self.status.load(Ordering::Relaxed) {
                0 => {
                    std::future::pending::<()>().await;
                    0
                }
                1 => return Ok(()),
                // Only requests for a status get no answer.
                2 if asked.starts_with("GET /v1/coflows/") => {
                    std::future::pending::<()>().await;
                    0
                }
                2 => 201,
                // A coordinator of the previous version.
                3 if asked.contains("lease_s") => 422,
                3 => 201,
                status => status,
            };
            let detail =
                if status == 422 { "unknown field `lease_s`, expected" } else { "said so" };
            let body = format!(r#"{{"id":7,"items":[],"detail":"{detail}"}}"#);
            let length = body.len();
            let answer = format!("HTTP/1.1 {status} -\r\ncontent-length: {length}\r\n\r\n{body}");
            stream.write_all(answer.as_bytes()).await?;
        }
    }
}

async fn client(coordinator: SocketAddr, strict: bool) -> (tempfile::TempDir, Client) {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("token"), "secret").expect("a file");
    let options = Options {
        agent: None,
        coordinator: Some(coordinator.into()),
        credentials: folder.path().to_owned(),
        deadline: DEADLINE,
        strict,
        ..Options::default()
    };
    (folder, Client::start(options).await.expect("credentials"))
}

fn spec() -> CoflowSpec {
    CoflowSpec::of(vec![Flow::new(0, 1, None)])
}

#[tokio::test]
async fn a_coordinator_that_says_nothing_is_waited_for_once() {
    let (canned, address) = Canned::serve(0).await;
    let (_folder, client) = client(address, false).await;
    let begin = Instant::now();
    let coflow = client.register(&spec()).await.expect("it goes on without");
    assert!(!coflow.is_registered());
    assert!(begin.elapsed() >= DEADLINE && begin.elapsed() < DEADLINE + BUSY);
    let why = client.unregistered_because().expect("a reason");
    assert_eq!(why, format!("the coordinator does not answer within 0.3 s: {address}"));
    let begin = Instant::now();
    for _ in 0..1000 {
        assert!(!client.register(&spec()).await.expect("it goes on without").is_registered());
    }
    assert!(begin.elapsed() < DEADLINE, "{:?} for a thousand", begin.elapsed());
    // The client looks for the coordinator.
    canned.status.store(201, Ordering::Relaxed);
    let begin = Instant::now();
    while !client.register(&spec()).await.expect("it goes on").is_registered() {
        assert!(begin.elapsed() < Duration::from_secs(10), "it is there again");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn what_passes_leaves_coflows_unscheduled_and_is_an_error_for_the_strict() {
    for status in [401, 408, 429, 500, 503, 1] {
        let (_canned, address) = Canned::serve(status).await;
        let (_folder, lenient) = client(address, false).await;
        let coflow = lenient.register(&spec()).await.expect("it goes on without");
        assert!(!coflow.is_registered(), "{status}");
        let why = lenient.unregistered_because().expect("a reason");
        let says =
            if status == 1 { "does not answer".to_owned() } else { format!("{status} said so") };
        assert!(why.contains(&says), "{status}: {why}");
        let (_folder, strict) = client(address, true).await;
        let error = strict.register(&spec()).await.err().expect("strict");
        assert!(error.is_passing(), "{status}: {error}");
    }
    // An error of the request itself is always returned.
    let (_canned, address) = Canned::serve(422).await;
    let (_folder, lenient) = client(address, false).await;
    let error = lenient.register(&spec()).await.err().expect("it is wrong");
    assert!(matches!(error, RestError::Refused { status: 422, .. }), "{error}");
}

#[tokio::test]
async fn a_coordinator_that_takes_no_lease_is_told_none() {
    let (canned, address) = Canned::serve(3).await;
    let (_folder, client) = client(address, true).await;
    for requests in [2, 3] {
        assert!(client.register(&spec()).await.expect("it is taken").is_registered());
        assert_eq!(canned.requests.load(Ordering::Relaxed), requests);
    }
}

#[tokio::test]
async fn every_call_has_its_deadline_and_none_waits_for_another() {
    let (canned, address) = Canned::serve(2).await;
    let (_folder, client) = client(address, false).await;
    let coflow = client.register(&spec()).await.expect("it answers");
    assert!(coflow.is_registered());
    let begin = Instant::now();
    let hung = async { coflow.status().await.expect_err("it hangs").is_away() };
    let other = async {
        client.register(&spec()).await.expect("it answers");
        begin.elapsed()
    };
    let (is_away, other) = tokio::join!(hung, other);
    assert!(is_away && other < DEADLINE, "{other:?}");
    canned.status.store(0, Ordering::Relaxed);
    let begin = Instant::now();
    let update = Update::default();
    assert!(coflow.update(&update).await.expect_err("it hangs").is_away());
    assert!(client.coflows(false).await.expect_err("it hangs").is_away());
    assert!(coflow.deregister().await.expect_err("it hangs").is_away());
    assert!(begin.elapsed() < 3 * (DEADLINE + BUSY));
}

#[tokio::test]
async fn a_change_that_may_have_been_made_is_not_asked_for_again() {
    let (canned, address) = Canned::serve(2).await;
    let (_folder, client) = client(address, false).await;
    let coflow = client.register(&spec()).await.expect("it answers");
    canned.status.store(1, Ordering::Relaxed);
    canned.requests.store(0, Ordering::Relaxed);
    assert!(coflow.update(&Update::default()).await.expect_err("it is gone").is_away());
    assert_eq!(canned.requests.load(Ordering::Relaxed), 1);
    // A request that changes nothing is repeated until the deadline.
    assert!(coflow.status().await.expect_err("it is gone").is_away());
    assert!(canned.requests.load(Ordering::Relaxed) > 2);
}
