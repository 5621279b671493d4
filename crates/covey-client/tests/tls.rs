//! Flows with TLS, over real sockets.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use covey_agent::{CoordinatorEvent, Enforcer, Local};
use covey_client::{
    Blocks, Client, FlowReceiver, FlowSender, Incoming, Listener, Mode, Options, StreamSetup,
    TlsFiles,
};
use covey_proto::{CodecName, FlowKey, Means, Service};
use rcgen::{BasicConstraints, CertificateParams, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// A CA with its key, and its certificate.
struct Ca(Issuer<'static, KeyPair>, String);

impl Ca {
    fn new() -> Ca {
        let key = KeyPair::generate().expect("a key");
        let mut params = CertificateParams::new(Vec::new()).expect("parameters");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let pem = params.self_signed(&key).expect("a certificate").pem();
        Ca(Issuer::new(params, key), pem)
    }

    /// The files of a host: a certificate of this CA, and that of the CA which it trusts.
    fn host(&self, folder: &Path, trusted: &Ca) -> TlsFiles {
        let key = KeyPair::generate().expect("a key");
        let names = vec!["port-0.agents.covey.internal".to_owned()];
        let mut params = CertificateParams::new(names).expect("names");
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        let certificate = params.signed_by(&key, &self.0).expect("a certificate");
        std::fs::create_dir_all(folder).expect("a folder");
        let files = TlsFiles::of_agent(folder);
        std::fs::write(&files.certificate, certificate.pem()).expect("a file");
        std::fs::write(&files.key, key.serialize_pem()).expect("a file");
        let secret = std::fs::Permissions::from_mode(0o600);
        std::fs::set_permissions(&files.key, secret).expect("a file");
        std::fs::write(&files.ca, &trusted.1).expect("a file");
        files
    }
}

async fn client(options: Options) -> Client {
    let options = Options { coordinator: None, hold_max: None, ..options };
    Client::start(options).await.expect("credentials")
}

async fn with_tls(tls: TlsFiles) -> Client {
    client(Options { agent: None, tls: Some(tls), ..Options::default() }).await
}

async fn without_tls() -> Client {
    client(Options { agent: None, ..Options::default() }).await
}

/// Two hosts with certificates of the same CA.
async fn hosts(folder: &Path) -> (Client, Client, Listener) {
    let ca = Ca::new();
    let sender = with_tls(ca.host(&folder.join("0"), &ca)).await;
    let receiver = with_tls(ca.host(&folder.join("1"), &ca)).await;
    let listener = receiver.listen("127.0.0.1:0").await.expect("a port");
    (sender, receiver, listener)
}

async fn next(listener: &mut Listener) -> FlowReceiver {
    match listener.accept().await.expect("a flow") {
        Incoming::Flow(flow) => flow,
        Incoming::Request(_) => panic!("no flow is asked for"),
    }
}

fn bytes(count: usize) -> Vec<u8> {
    (0..count as u32).map(|k| (k.wrapping_mul(2_654_435_761) >> 13) as u8).collect()
}

/// Sends bytes in pieces, and receives them.
async fn carry(mut sender: FlowSender, mut receiver: FlowReceiver, data: &[u8], piece: usize) {
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

#[tokio::test]
async fn what_is_written_is_read_sized_or_not() {
    let folder = tempfile::tempdir().expect("a folder");
    let (sender, _receiver, mut listener) = hosts(folder.path()).await;
    let data = bytes(3_000_001);
    for (sized, piece) in [(true, 10_007), (false, 10_007), (false, 3_000_001), (true, 3_000_001)] {
        let length = sized.then_some(data.len() as u64);
        let flow = sender.join(1).open(5, listener.local_addr(), length, b"part").await;
        let receiver = next(&mut listener).await;
        assert_eq!((receiver.label(), receiver.bytes()), (&b"part"[..], length));
        carry(flow.expect("a connection"), receiver, &data, piece).await;
    }
    let empty = sender.join(1).open(5, listener.local_addr(), None, b"").await;
    carry(empty.expect("a connection"), next(&mut listener).await, &[], 1).await;
}

#[tokio::test]
async fn nothing_of_a_flow_can_be_read_on_its_way() {
    let folder = tempfile::tempdir().expect("a folder");
    let (sender, _receiver, mut listener) = hosts(folder.path()).await;
    // Somebody stands between the two.
    let between = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let at = between.local_addr().expect("an address");
    let to = listener.local_addr();
    let heard = tokio::spawn(async move {
        let (mut near, _) = between.accept().await.expect("a connection");
        let mut far = TcpStream::connect(to).await.expect("a connection");
        let (mut heard, mut there, mut back) = (Vec::new(), [0; 4096], [0; 4096]);
        loop {
            tokio::select! {
                count = near.read(&mut there) => match count {
                    Ok(count @ 1..) => {
                        heard.extend_from_slice(&there[..count]);
                        far.write_all(&there[..count]).await.expect("room");
                    }
                    _ => return heard,
                },
                count = far.read(&mut back) => match count {
                    Ok(count @ 1..) => near.write_all(&back[..count]).await.expect("room"),
                    _ => return heard,
                },
            }
        }
    });
    let secret = b"nobody else is to read this, of all things".repeat(10);
    let flow = sender.join(1).open(0, at, Some(secret.len() as u64), b"a label to hide").await;
    let receiver = next(&mut listener).await;
    carry(flow.expect("a connection"), receiver, &secret, 64).await;
    let heard = heard.await.expect("no panic");
    let has = |text: &[u8]| heard.windows(text.len()).any(|part| part == text);
    assert!(heard.len() > secret.len());
    assert!(!has(b"nobody else") && !has(b"CVF") && !has(b"a label"));
}

#[tokio::test]
async fn a_flow_waits_for_its_share_and_is_compressed_as_without_tls() {
    let folder = tempfile::tempdir().expect("a folder");
    let ca = Ca::new();
    let socket = folder.path().join("agent.sock");
    let every = Duration::from_millis(5);
    let mut agent = Local::listen(&socket, 7, Means::Pacing, every).await.expect("a socket");
    agent.heard(CoordinatorEvent::Joined { codec: Some(CodecName::Lz4), openings: false });
    let tls = Some(ca.host(&folder.path().join("0"), &ca));
    let client = client(Options { agent: Some(socket), tls, ..Options::default() }).await;
    let mut listener = client.listen("127.0.0.1:0").await.expect("a port");
    let data = b"what is said often is said in few words; ".repeat(50_000);
    let coflow = client.join(1);
    let opened = coflow.open(0, listener.local_addr(), Some(data.len() as u64), b"");
    let mut sender = opened.await.expect("a connection");
    let mut receiver = next(&mut listener).await;
    let sending = data.clone();
    let sent = tokio::spawn(async move {
        sender.write_all(&sending).await?;
        sender.finish().await?;
        Ok::<_, std::io::Error>(sender.sent_on_wire())
    });
    let mut first = [0; 1];
    let early = tokio::time::timeout(Duration::from_millis(100), receiver.read(&mut first)).await;
    assert!(early.is_err(), "it has not waited");
    let service = Service { layer: 0, rate: 1e9, codec: Some(CodecName::Lz4) };
    let key = FlowKey { coflow: 1, flow: 0 };
    agent.apply((1, 1), &BTreeMap::from([(key.into(), service)])).expect("told");
    let mut read = Vec::new();
    receiver.read_to_end(&mut read).await.expect("it sends");
    assert!(read == data, "other bytes came");
    let wire = sent.await.expect("no panic").expect("all has come");
    assert!(wire < data.len() as u64 / 2, "{wire}");
}

#[tokio::test]
async fn only_certificates_of_the_ca_are_accepted_on_either_side() {
    let folder = tempfile::tempdir().expect("a folder");
    let (ours, other) = (Ca::new(), Ca::new());
    let files = |name: &str, ca: &Ca, trusted: &Ca| ca.host(&folder.path().join(name), trusted);
    let good = with_tls(files("good", &ours, &ours)).await;
    let mut listener = good.listen("127.0.0.1:0").await.expect("a port");
    // One whose certificate is of another CA, and one that trusts another CA alone.
    for (name, ca, trusted, expected) in [
        ("shows", &other, &ours, "received fatal alert"),
        ("trusts", &ours, &other, "invalid peer certificate"),
    ] {
        let client = with_tls(files(name, ca, trusted)).await;
        let coflow = client.join(1);
        let refused = async {
            let mut flow = coflow.open(0, listener.local_addr(), Some(1), b"").await?;
            flow.write_all(b"x").await?;
            flow.finish().await
        };
        let error = refused.await.expect_err(name).to_string();
        assert!(error.contains(expected) && error.contains("TLS with 127.0.0.1:"), "{error}");
    }
    let flow = good.join(1).open(0, listener.local_addr(), Some(5), b"").await;
    // It is the first that the application sees.
    carry(flow.expect("a connection"), next(&mut listener).await, b"hello", 5).await;
}

#[tokio::test]
async fn a_flow_that_waits_for_its_turn_learns_that_its_certificate_does_not_count() {
    let folder = tempfile::tempdir().expect("a folder");
    let (ours, other) = (Ca::new(), Ca::new());
    let socket = folder.path().join("agent.sock");
    let every = Duration::from_millis(5);
    let mut agent = Local::listen(&socket, 7, Means::Pacing, every).await.expect("a socket");
    agent.heard(CoordinatorEvent::Joined { codec: None, openings: false });
    let receiver = with_tls(ours.host(&folder.path().join("0"), &ours)).await;
    let listener = receiver.listen("127.0.0.1:0").await.expect("a port");
    let tls = Some(other.host(&folder.path().join("1"), &ours));
    let sender = client(Options { agent: Some(socket), tls, ..Options::default() }).await;
    let opened = sender.join(1).open(0, listener.local_addr(), Some(1), b"").await;
    let mut flow = opened.expect("its own side is content");
    let written = tokio::time::timeout(Duration::from_secs(10), flow.write_all(b"x")).await;
    let error = written.expect("it does not wait any more").expect_err("it is refused");
    assert!(error.to_string().contains("received fatal alert"), "{error}");
}

#[tokio::test]
async fn a_side_without_tls_is_told_that_it_needs_it_and_the_reverse() {
    let folder = tempfile::tempdir().expect("a folder");
    let (encrypted, _receiver, listener) = hosts(folder.path()).await;
    let plain = without_tls().await;
    let coflow = plain.join(1);
    let mut flow = coflow.open(0, listener.local_addr(), Some(1), b"").await.expect("open");
    flow.write_all(b"x").await.expect("room");
    let error = flow.finish().await.expect_err("it is refused");
    let text = "the other side refuses the flow: it has no TLS: expected a connection with TLS";
    assert_eq!(error.to_string(), text);
    let error = coflow.fetch(0, listener.local_addr(), b"").await.expect_err("it is refused");
    assert_eq!(error.to_string(), text);

    let mut listener = plain.listen("127.0.0.1:0").await.expect("a port");
    let opened = encrypted.join(1).open(0, listener.local_addr(), Some(1), b"").await;
    let error = opened.err().expect("it is refused").to_string();
    let names_both = error.starts_with("TLS with 127.0.0.1:") && error.contains("may have no TLS");
    assert!(names_both, "{error}");
    let flow = plain.join(1).open(0, listener.local_addr(), Some(5), b"").await;
    carry(flow.expect("a connection"), next(&mut listener).await, b"hello", 5).await;
}

#[tokio::test]
async fn a_coflow_without_a_coordinator_has_tls_too() {
    let folder = tempfile::tempdir().expect("a folder");
    let ca = Ca::new();
    let client = async |name: &str| {
        let tls = Some(ca.host(&folder.path().join(name), &ca));
        let mode = Mode::Stream(covey_sched::stream::settings("q1=10kB").expect("settings"));
        client(Options { mode, tls, ..Options::default() }).await
    };
    let (sender, receiver) = (client("0").await, client("1").await);
    let mut listener = receiver.listen("127.0.0.1:0").await.expect("a port");
    let coflow = sender.join(1 << 63 | 1 << 40);
    let data = bytes(1_000_000);
    let flow = coflow.open(0, listener.local_addr(), None, b"").await.expect("open");
    carry(flow, next(&mut listener).await, &data, 10_000).await;
    // The receiver has decided, and the sender has heard it.
    assert!(!sender.decision_delays().is_empty());
    // A sender without TLS is told that it needs TLS.
    let mode = Mode::Stream(StreamSetup::default());
    let plain = Client::start(Options { mode, ..Options::default() }).await.expect("a mode");
    let opened = plain.join(1 << 63).open(0, listener.local_addr(), None, b"").await;
    let mut flow = opened.expect("open");
    let sent = async {
        flow.write_all(b"x").await?;
        flow.finish().await
    };
    let error = sent.await.expect_err("it is refused");
    assert!(error.to_string().contains("expected a connection with TLS"), "{error}");
}

#[tokio::test]
async fn blocks_go_with_tls() {
    let folder = tempfile::tempdir().expect("a folder");
    let (sender, receiver, _) = hosts(folder.path()).await;
    let blocks = Blocks::listen(&receiver, "127.0.0.1:0").await.expect("a port");
    let coflow = sender.join(9);
    let data = bytes(500_000);
    let pushing = Blocks::push(&coflow, 0, blocks.local_addr(), b"a", &data);
    let (pushed, pulled) = tokio::join!(pushing, blocks.pull(9, b"a"));
    pushed.expect("all has come");
    assert!(pulled.expect("it comes") == data);
    blocks.put(9, b"b", data.clone());
    let got = Blocks::get(&coflow, 1, blocks.local_addr(), b"b").await;
    assert!(got.expect("it comes") == data);
}

#[tokio::test]
async fn a_sender_that_goes_early_is_an_error_not_an_end() {
    let folder = tempfile::tempdir().expect("a folder");
    let (sender, _receiver, mut listener) = hosts(folder.path()).await;
    for length in [Some(1000), None] {
        let opened = sender.join(1).open(0, listener.local_addr(), length, b"").await;
        let mut flow = opened.expect("a connection");
        flow.write_all(&bytes(999)).await.expect("room");
        let mut receiver = next(&mut listener).await;
        drop(flow);
        let error = receiver.read_to_end(&mut Vec::new()).await.expect_err("it was cut");
        assert_eq!(error.kind(), std::io::ErrorKind::UnexpectedEof);
    }
}

/// The applications of others use other providers. One that comes from the process would be theirs,
/// or none.
#[tokio::test]
async fn no_provider_of_cryptography_is_asked_of_the_process() {
    let folder = tempfile::tempdir().expect("a folder");
    let (sender, _receiver, mut listener) = hosts(folder.path()).await;
    let flow = sender.join(1).open(0, listener.local_addr(), Some(5), b"").await;
    carry(flow.expect("a connection"), next(&mut listener).await, b"hello", 5).await;
    assert!(tokio_rustls::rustls::crypto::CryptoProvider::get_default().is_none());
}

#[tokio::test]
async fn files_that_cannot_be_used_are_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let ca = Ca::new();
    let files = ca.host(folder.path(), &ca);
    let error = async |files: &TlsFiles| {
        let options = Options {
            agent: None,
            coordinator: None,
            tls: Some(files.clone()),
            ..Options::default()
        };
        Client::start(options).await.err().expect("it cannot be used").to_string()
    };
    let open = std::fs::Permissions::from_mode(0o644);
    std::fs::set_permissions(&files.key, open).expect("a file");
    let found = error(&files).await;
    assert!(found.ends_with("agent.key: expected mode 0600, found 0644"), "{found}");
    let secret = std::fs::Permissions::from_mode(0o600);
    std::fs::set_permissions(&files.key, secret).expect("a file");
    // A list that says nothing would let everybody in whom it has kept out.
    std::fs::write(&files.crl, "").expect("a file");
    let found = error(&files).await;
    assert!(
        found.ends_with("crl.pem: expected a list of revoked certificates, found none"),
        "{found}"
    );
    let nowhere = TlsFiles { crl: files.ca.join("crl.pem"), ..files.clone() };
    let found = error(&nowhere).await;
    assert!(found.contains("ca.pem/crl.pem: "), "{found}");
    std::fs::write(&files.ca, "nonsense").expect("a file");
    let found = error(&files).await;
    assert!(found.ends_with("ca.pem: expected a certificate, found none"), "{found}");
    let missing = TlsFiles { ca: folder.path().join("absent.pem"), ..files };
    let found = error(&missing).await;
    assert!(found.contains("absent.pem"), "{found}");
}
