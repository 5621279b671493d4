//! Connections that other applications open for flows.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use covey_door::{Door, Guest, Limits, Peer, Reason};
use covey_proto::{Direction, FlowHeader, HeaderError, ProofRefusal, Side, TLS_HANDSHAKE};
use tokio::net::{TcpListener, TcpStream, ToSocketAddrs};
use tokio::sync::mpsc;

use crate::client::Client;
use crate::connection::Connection;
use crate::flow::FlowSender;
use crate::header::{LINGER, MAX_LINGERING, read_header, turn_away, write_header};
use crate::receiver::FlowReceiver;
use crate::stream::{UNREGISTERED, refuse};

impl Client {
    /// Accepts flows at an address.
    ///
    /// # Errors
    /// When the address cannot be used.
    pub async fn listen(&self, address: impl ToSocketAddrs) -> io::Result<Listener> {
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        let (sender, receiver) = mpsc::channel(128);
        let task = tokio::spawn(accept(listener, self.clone(), sender, WITHOUT_HEADER, CROWDED));
        Ok(Listener { address, receiver, task })
    }
}

/// A connection that another application has opened for a flow.
pub enum Incoming {
    /// The flow comes here.
    Flow(FlowReceiver),
    /// The other application asks for the flow.
    Request(FlowRequest),
}

/// Another application's request for a flow.
pub struct FlowRequest {
    client: Client,
    stream: Connection,
    header: FlowHeader,
}

impl FlowRequest {
    /// Id of the coflow.
    pub fn coflow(&self) -> u64 {
        self.header.key.coflow
    }

    /// Index of the flow in its coflow.
    pub fn flow(&self) -> u32 {
        self.header.key.flow
    }

    /// The label of what is asked for.
    pub fn label(&self) -> &[u8] {
        &self.header.label
    }

    /// Returns when the other application does not wait for the flow any more.
    pub(crate) async fn given_up(&self) {
        // The other application says nothing before the flow comes. A broken connection is an end,
        // too.
        let _ = self.stream.drain(MAX_LINGERING).await;
    }

    /// Sends the flow. `bytes` is its size if it is known.
    ///
    /// # Errors
    /// When the connection breaks, or those of [`Coflow::open`](crate::Coflow::open).
    pub async fn send(mut self, bytes: Option<u64>) -> io::Result<FlowSender> {
        self.header.direction = Direction::Pushed;
        self.header.bytes = bytes;
        self.header.with_notes &= self.client.0.host.is_some();
        let known = self.header.key.coflow & UNREGISTERED == 0;
        self.header.chunked =
            bytes.is_none() || self.header.with_notes || known && self.client.may_compress();
        let opening = self.client.opening(&self.header, Side::Sends);
        let proof = self.client.0.link.prove(self.header.key, self.header.direction).await;
        if let Some(wrong) = opening.as_ref().and_then(|opening| opening.check().err()) {
            // The other side may be gone.
            let refused = turn_away(&self.stream, ProofRefusal::OtherHost);
            let _ = tokio::time::timeout(LINGER, refused).await;
            return Err(wrong);
        }
        write_header(&self.stream, &self.header, proof.as_ref()).await?;
        Ok(self.client.sender(self.stream, &self.header, opening))
    }
}

/// An address at which other applications open flows to this one.
pub struct Listener {
    address: SocketAddr,
    receiver: mpsc::Receiver<Incoming>,
    task: tokio::task::JoinHandle<()>,
}

impl Listener {
    /// The address.
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// Waits for the next flow. Connections that do not begin with a flow's header are closed and
    /// logged.
    ///
    /// # Errors
    /// When no flow can come any more.
    pub async fn accept(&mut self) -> io::Result<Incoming> {
        self.receiver.recv().await.ok_or_else(|| io::ErrorKind::NotConnected.into())
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Limits of connections that have not sent their headers. Where very many flows begin together,
/// TCP may lose a header several times, and tries again after up to 13 seconds.
const WITHOUT_HEADER: Limits = Limits {
    max: 4096,
    max_per_peer: 4096,
    max_unauthenticated: 4096,
    patience: Duration::from_secs(30),
};

/// For how long a listener accepts nobody when so many connections have sent no headers: flows that
/// begin together need a moment, and up to 5 s where their agent is gone. From then on the oldest
/// of the host that has the most makes room for a new one, until half of the places are free.
const CROWDED: Duration = Duration::from_secs(6);
/// Time between two looks for a free place.
const LOOK: Duration = Duration::from_millis(5);

async fn accept(
    listener: TcpListener,
    client: Client,
    sender: mpsc::Sender<Incoming>,
    limits: Limits,
    crowded: Duration,
) {
    let door = Door::new("flows", limits);
    let without_header = || door.occupancy().unauthenticated;
    let mut full_since = None;
    loop {
        if without_header() < limits.max / 2 {
            full_since = None;
        }
        while without_header() >= limits.max
            && full_since.get_or_insert_with(Instant::now).elapsed() < crowded
        {
            tokio::time::sleep(LOOK).await;
        }
        let (stream, peer) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                if !door.make_room() {
                    tracing::warn!(%error, "a flow was not accepted");
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        let Some(entrance) = door.enter(Peer::of(peer), peer.to_string()) else { continue };
        let (client, sender) = (client.clone(), sender.clone());
        tokio::spawn(async move {
            let mut come = None;
            let hear = async |guest: Arc<Guest>| come = hear(&client, stream, peer, &guest).await;
            entrance.serve(hear).await;
            // The connection had its place at the door until its header came, or until it was
            // closed.
            if let Some((stream, header)) = come {
                pass_on(client, stream, peer, header, &sender).await;
            }
        });
    }
}

/// Reads the header of a connection, and has its proof checked. `None`: it is no flow, or is
/// refused.
async fn hear(
    client: &Client,
    stream: TcpStream,
    peer: SocketAddr,
    guest: &Guest,
) -> Option<(Connection, FlowHeader)> {
    let stream = secured(client, stream, guest).await?;
    match read_header(&stream).await {
        Err(error) if is_tls(&error) => guest.refuse(Reason::Handshake, None, error),
        Err(error) => tracing::debug!(%peer, %error, "a connection does not begin like a flow"),
        Ok((header, proof)) => match client.0.link.check(&header, proof, peer).await {
            None => return Some((stream, header)),
            Some(refusal) => {
                let (flow, coflow) = (header.key.flow, header.key.coflow);
                let detail = format!("flow {flow} of coflow {coflow}: {refusal}");
                guest.refuse(Reason::Credential, None, detail);
                // The other side may be gone.
                let _ = tokio::time::timeout(LINGER, turn_away(&stream, refusal)).await;
            }
        },
    }
    None
}

/// Whether a connection begins with TLS where there should be a header.
fn is_tls(error: &io::Error) -> bool {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref());
    matches!(inner, Some(HeaderError::Tls))
}

/// Begins TLS on a connection that has come in, if flows have it. Refuses one that begins otherwise
/// than it should.
async fn secured(client: &Client, stream: TcpStream, guest: &Guest) -> Option<Connection> {
    let Some(tls) = &client.0.tls else { return Some(Connection::plain(stream)) };
    let mut first = [0];
    // Whoever leaves without a word is no flow, and nobody needs to know.
    let Ok(1..) = stream.peek(&mut first).await else { return None };
    if first == [TLS_HANDSHAKE] {
        let accepted = tls.accept(stream).await;
        return accepted.inspect_err(|error| guest.refuse(Reason::Handshake, None, error)).ok();
    }
    guest.refuse(Reason::Handshake, None, ProofRefusal::NoTls);
    let stream = Connection::plain(stream);
    // The other side may be gone.
    let _ = tokio::time::timeout(LINGER, turn_away(&stream, ProofRefusal::NoTls)).await;
    None
}

/// Hands a connection to the application.
async fn pass_on(
    client: Client,
    stream: Connection,
    peer: SocketAddr,
    header: FlowHeader,
    sender: &mpsc::Sender<Incoming>,
) {
    if header.with_notes && client.0.host.is_none() && header.direction == Direction::Pushed {
        tracing::warn!(%peer, "a flow was refused: its sender runs in mode stream, this application does not");
        // The other side may be gone.
        let _ = refuse(&stream).await;
        return;
    }
    let incoming = match header.direction {
        Direction::Pushed => {
            let opening = client.opening(&header, Side::Receives);
            Incoming::Flow(client.receiver(stream, header, opening))
        }
        Direction::Pulled => Incoming::Request(FlowRequest { client, stream, header }),
    };
    // The listener may be gone.
    let _ = sender.send(incoming).await;
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncWriteExt;

    use super::*;
    use crate::client::Options;

    /// However many connections begin and say no more, flows come.
    #[tokio::test]
    async fn connections_that_stall_in_their_headers_make_room_for_flows() {
        let options = Options { agent: None, coordinator: None, ..Options::default() };
        let client = Client::start(options).await.expect("no credentials are needed");
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let to = listener.local_addr().expect("an address");
        let (sender, mut incoming) = mpsc::channel(1);
        let limits = Limits { max: 4, max_per_peer: 4, max_unauthenticated: 4, ..WITHOUT_HEADER };
        let crowded = Duration::from_millis(200);
        let task = tokio::spawn(accept(listener, client.clone(), sender, limits, crowded));
        let mut stalled = Vec::new();
        for begin in ["", "C", "CVF3", "CVF2\u{1}\u{1}"].repeat(5) {
            let mut stream = TcpStream::connect(to).await.expect("a connection");
            stream.write_all(begin.as_bytes()).await.expect("room");
            stalled.push(stream);
        }
        let flow = client.join(1).open(0, to, Some(0), b"").await.expect("a connection");
        let come = tokio::time::timeout(Duration::from_secs(5), incoming.recv()).await;
        assert!(matches!(come, Ok(Some(Incoming::Flow(_)))), "it does not come");
        drop(flow);
        task.abort();
    }
}
