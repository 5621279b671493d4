//! Connections of a process, over loopback: seen, held, paced, and left as they were.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use covey_agent::Enforcer;
use covey_attach::attached::{Attached, Ignored, release};
use covey_attach::connection::UNPACED;
use covey_attach::connects::{Connects, Established};
use covey_attach::hold::Hold;
use covey_attach::pace::Socket;
use covey_attach::sockets::Sockets;
use covey_attach::target::Target;
use covey_proto::{FlowName, Service};

/// A connection to this process whose other side reads all that comes, and counts it.
fn connection() -> (TcpStream, Arc<AtomicU64>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("an address");
    let stream = TcpStream::connect(listener.local_addr().expect("its address")).expect("itself");
    let (mut other, _) = listener.accept().expect("a connection");
    let read = Arc::new(AtomicU64::new(0));
    let counted = read.clone();
    thread::spawn(move || {
        let mut buffer = vec![0; 1 << 16];
        while let Ok(count @ 1..) = other.read(&mut buffer) {
            counted.fetch_add(count as u64, Ordering::Relaxed);
        }
    });
    (stream, read)
}

/// Writes to a connection until it is told to stop.
struct Sender {
    stream: TcpStream,
    stops: Arc<AtomicBool>,
    read: Arc<AtomicU64>,
}

impl Sender {
    fn start() -> Sender {
        let (stream, read) = connection();
        let stops = Arc::new(AtomicBool::new(false));
        let (mut writer, stop) = (stream.try_clone().expect("a descriptor"), stops.clone());
        thread::spawn(move || {
            let bytes = vec![7; 1 << 16];
            while !stop.load(Ordering::Relaxed) && writer.write_all(&bytes).is_ok() {}
        });
        Sender { stream, stops, read }
    }

    /// Bytes a second that the other side reads.
    fn rate(&self) -> f64 {
        let (begin, before) = (Instant::now(), self.read.load(Ordering::Relaxed));
        thread::sleep(Duration::from_millis(200));
        let bytes = self.read.load(Ordering::Relaxed) - before;
        bytes as f64 / begin.elapsed().as_secs_f64()
    }

    /// The same while an agent follows its flows. First what has left the socket arrives.
    fn rate_under(&self, attached: &mut Attached) -> f64 {
        let mut follow = |ms: u64| {
            for _ in 0..ms / 10 {
                let _ = attached.progress();
                thread::sleep(Duration::from_millis(10));
            }
        };
        follow(50);
        let (begin, before) = (Instant::now(), self.read.load(Ordering::Relaxed));
        follow(200);
        let bytes = self.read.load(Ordering::Relaxed) - before;
        bytes as f64 / begin.elapsed().as_secs_f64()
    }

    fn port(&self) -> u16 {
        self.stream.local_addr().expect("its address").port()
    }
}

impl Drop for Sender {
    fn drop(&mut self) {
        self.stops.store(true, Ordering::Relaxed);
        let _ = self.stream.shutdown(std::net::Shutdown::Both);
    }
}

/// The rate that a socket may not exceed.
fn max_pace(port: u16) -> u64 {
    let all = Sockets::open().expect("INET_DIAG").list().expect("connections");
    let of = all.iter().find(|it| it.local.port() == port).expect("the connection");
    of.max_pace
}

fn own() -> Target {
    Target::Process(std::process::id())
}

/// Looks until the flow from this port is seen; its number.
fn number(attached: &mut Attached, port: u16) -> u64 {
    for _ in 0..200 {
        let _ = attached.look().expect("connections");
        let seen = attached.flows().open().iter();
        if let Some((number, _)) =
            { seen }.find(|(_, flow)| flow.from.port() == port && flow.sent > 0)
        {
            return *number;
        }
        thread::sleep(Duration::from_millis(10));
    }
    panic!("port {port} was not seen")
}

fn service(number: u64, rate: f64) -> BTreeMap<FlowName, Service> {
    BTreeMap::from([(FlowName::Number(number), Service { layer: 0, rate, codec: None })])
}

/// Rates are taken back of all sockets of the process: tests of rates come one after the other.
fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether this is a machine where everything must be there.
fn must_run() -> bool {
    std::env::var_os("SKIP_NOTHING").is_some() && rustix::process::geteuid().is_root()
}

#[test]
fn what_a_connection_sends_is_seen_to_the_byte() {
    let mut attached = Attached::new(own(), Ignored::default(), None, None).expect("INET_DIAG");
    let (mut stream, read) = connection();
    let port = stream.local_addr().expect("its address").port();
    let appeared = attached.look().expect("connections").appeared;
    assert!(appeared.iter().all(|flow| flow.from.port() != port), "nothing was sent");
    stream.write_all(&[1; 1234]).expect("the other side reads");
    let number = number(&mut attached, port);
    assert_eq!(attached.flows().open()[&number].sent, 1234);
    stream.write_all(&[1; 100_000]).expect("the other side reads");
    while read.load(Ordering::Relaxed) < 101_234 {
        thread::sleep(Duration::from_millis(1));
    }
    drop(stream);
    let begin = Instant::now();
    let over = loop {
        let _ = attached.look().expect("connections");
        let over = attached.take_over();
        if let Some(over) = over.iter().find(|over| over.flow.from.port() == port) {
            break *over;
        }
        assert!(begin.elapsed() < Duration::from_secs(10), "its end was not seen");
        thread::sleep(Duration::from_millis(10));
    };
    assert_eq!(over.flow.sent, 101_234);
}

#[test]
fn the_beginning_of_a_connection_is_noted_and_it_is_found_by_itself() {
    let mut connects = match Connects::new() {
        Ok(connects) => connects,
        Err(error) if must_run() => panic!("{error}"),
        Err(error) => return eprintln!("skipped: {error}"),
    };
    let (stream, _) = connection();
    let ends = (stream.local_addr().expect("its address"), stream.peer_addr().expect("the other"));
    // Tests beside this one have connections, too.
    let established = std::iter::from_fn(|| connects.take_established())
        .find(|it| (it.local, it.remote) == ends)
        .expect("it is established");
    let begun = connects.begun(established.cookie).expect("it is noted");
    assert!(begun.asked_us >= begun.established_us && begun.asked_us < 60_000_000, "{begun:?}");
    let mut sockets = Sockets::open().expect("INET_DIAG");
    let found = sockets.find(&established).expect("an answer").expect("it is open");
    assert_eq!((found.cookie, found.local, found.remote), (established.cookie, ends.0, ends.1));
    let other = Established { cookie: established.cookie + 1, ..established };
    assert_eq!(sockets.find(&other).expect("an answer"), None);
}

#[test]
fn a_flow_is_held_paced_and_left_as_it_was() {
    let _alone = alone();
    let hold = match Hold::new() {
        Ok(hold) => hold,
        Err(error) if must_run() => panic!("{error}"),
        Err(error) => return eprintln!("skipped: {error}"),
    };
    let sender = Sender::start();
    let mut attached =
        Attached::new(own(), Ignored::default(), Some(hold), None).expect("INET_DIAG");
    let number = number(&mut attached, sender.port());
    let free = sender.rate();
    attached.apply((1, 1), &service(number, 0.0)).expect("a schedule");
    assert_eq!(sender.rate_under(&mut attached), 0.0, "it is held");
    attached.apply((1, 2), &service(number, 4e6)).expect("a schedule");
    let paced = sender.rate();
    assert!((1e6..8e6).contains(&paced), "{paced} of {free} bytes a second");
    assert_eq!(max_pace(sender.port()), 4_000_000);
    attached.apply((1, 3), &service(number, 0.0)).expect("a schedule");
    assert_eq!(sender.rate_under(&mut attached), 0.0, "it is held again");
    // The end of the one who holds lets it go.
    drop(attached);
    assert_eq!(max_pace(sender.port()), UNPACED);
    let after = sender.rate();
    assert!(after > 10.0 * paced, "{after} bytes a second");
}

#[test]
fn an_agent_that_does_not_run_holds_nobody() {
    let _alone = alone();
    let hold = match Hold::new() {
        Ok(hold) => hold,
        Err(error) if must_run() => panic!("{error}"),
        Err(error) => return eprintln!("skipped: {error}"),
    };
    let sender = Sender::start();
    let mut attached =
        Attached::new(own(), Ignored::default(), Some(hold), None).expect("INET_DIAG");
    let number = number(&mut attached, sender.port());
    attached.apply((1, 1), &service(number, 0.0)).expect("a schedule");
    assert_eq!(sender.rate_under(&mut attached), 0.0, "it is held");
    // The lease is over after a quarter of a second, and TCP tries again twice a second.
    thread::sleep(Duration::from_secs(1));
    assert!(sender.rate() > 1e6, "nobody follows it");
    assert_eq!(sender.rate_under(&mut attached), 0.0, "it is held again");
}

/// The mark of packets that a connection sends.
fn mark(sender: &Sender) -> u32 {
    covey_client::mark_of_socket(&sender.stream).expect("its own socket")
}

#[test]
fn packets_are_marked_by_layer_if_that_is_wanted_and_later_as_their_program_wants() {
    let _alone = alone();
    let hold = match Hold::new() {
        Ok(hold) => hold,
        Err(error) if must_run() => panic!("{error}"),
        Err(error) => return eprintln!("skipped: {error}"),
    };
    let sender = Sender::start();
    covey_client::mark(&sender.stream, 0x20).expect("its own socket");
    let attached = Attached::new(own(), Ignored::default(), Some(hold), None).expect("INET_DIAG");
    let mut attached = attached.with_marks();
    let number = number(&mut attached, sender.port());
    let in_layer = |layer: u32, rate: f64| {
        let service = Service { layer, rate, codec: None };
        BTreeMap::from([(FlowName::Number(number), service)])
    };
    for (layer, expected) in [(0, 0xe0), (1, 0xc0), (9, 0x20)] {
        attached.apply((1, 1), &in_layer(layer, 4e6)).expect("a schedule");
        assert_eq!(mark(&sender), expected, "layer {layer}");
    }
    attached.apply((1, 2), &in_layer(0, 4e6)).expect("a schedule");
    attached.apply((1, 3), &in_layer(0, 0.0)).expect("a schedule");
    attached.apply((1, 4), &BTreeMap::new()).expect("a schedule");
    assert_eq!(mark(&sender), 0x20, "as its program has asked for");
    attached.apply((1, 5), &in_layer(0, 4e6)).expect("a schedule");
    assert_eq!(mark(&sender), 0xe0);
    drop(attached);
    assert_eq!((mark(&sender), max_pace(sender.port())), (0x20, UNPACED));
}

#[test]
fn rates_and_marks_that_a_process_has_left_behind_are_taken_back() {
    let _alone = alone();
    let sender = Sender::start();
    let mut attached = Attached::new(own(), Ignored::default(), None, None).expect("INET_DIAG");
    number(&mut attached, sender.port());
    let target = own();
    let all = Sockets::open().expect("INET_DIAG").list().expect("connections");
    let of = all.iter().find(|it| it.local.port() == sender.port()).expect("the connection");
    let socket = Socket::new(&target.sockets()[&of.inode], of.cookie).expect("its own socket");
    socket.pace(1_000_000).expect("its own socket");
    covey_client::mark(&sender.stream, covey_client::mark_of(Some(1))).expect("its own socket");
    assert_eq!(max_pace(sender.port()), 1_000_000);
    assert!(release(&target).expect("connections") >= 1);
    assert_eq!((max_pace(sender.port()), mark(&sender)), (UNPACED, 0));
}
