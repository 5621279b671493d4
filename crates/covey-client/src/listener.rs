//! Connections that other applications open for flows.

use std::io;
use std::net::{Shutdown, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use covey_door::{Reason, Refusals};
use covey_proto::{Direction, FlowHeader, HeaderError, ProofRefusal, TLS_HANDSHAKE, refusal_to};
use socket2::SockRef;
use tokio::net::{TcpListener, TcpStream, ToSocketAddrs};
use tokio::sync::{Semaphore, mpsc};

use crate::client::Client;
use crate::connection::Connection;
use crate::flow::{FlowReceiver, FlowSender};
use crate::header::{read_header, write_header};
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
        let task = tokio::spawn(accept(listener, self.clone(), sender));
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

    /// Sends the flow. `bytes` is its size if it is known.
    ///
    /// # Errors
    /// When the connection breaks.
    pub async fn send(mut self, bytes: Option<u64>) -> io::Result<FlowSender> {
        self.header.direction = Direction::Pushed;
        self.header.bytes = bytes;
        self.header.with_notes &= self.client.0.host.is_some();
        let known = self.header.key.coflow & UNREGISTERED == 0;
        self.header.chunked =
            bytes.is_none() || self.header.with_notes || known && self.client.may_compress();
        let proof = self.client.0.link.prove(self.header.key, self.header.direction).await;
        write_header(&self.stream, &self.header, proof.as_ref()).await?;
        Ok(self.client.sender(self.stream, &self.header))
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

    /// Waits for the next flow. Connections that do not begin with a flow's header are closed and logged.
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

/// Maximum time until a connection has sent its header, and maximum number of connections that have not. Where very many
/// flows begin together, TCP may lose a header several times, and tries again after up to 13 seconds.
const HEADER_WITHIN: Duration = Duration::from_secs(30);
const MAX_WITHOUT_HEADER: usize = 4096;

/// How long a connection that is refused may go on to send, and how many bytes of it are read. If the connection were
/// closed at once, the refusal could be lost.
const LINGER: Duration = Duration::from_secs(1);
const MAX_LINGERING: usize = 1 << 20;

async fn accept(listener: TcpListener, client: Client, sender: mpsc::Sender<Incoming>) {
    let without_header = Arc::new(Semaphore::new(MAX_WITHOUT_HEADER));
    let refusals = Arc::new(Refusals::new("flows"));
    // Nothing closes the semaphore.
    while let Ok(permit) = without_header.clone().acquire_owned().await {
        let (stream, peer) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!(%error, "a flow was not accepted");
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        let (client, sender, refusals) = (client.clone(), sender.clone(), refusals.clone());
        tokio::spawn(async move {
            let Some(stream) = secured(&client, stream, peer, &refusals).await else { return };
            let read = read_header(&stream);
            match tokio::time::timeout(HEADER_WITHIN, read).await.map_err(io::Error::from).flatten()
            {
                Err(error) if is_tls(&error) => {
                    refusals.refuse(Reason::Handshake, peer, None, error);
                }
                Err(error) => {
                    tracing::debug!(%peer, %error, "a connection does not begin like a flow")
                }
                Ok((header, proof)) => {
                    let refusal = client.0.link.check(&header, proof, peer).await;
                    match refusal {
                        None => {
                            drop(permit);
                            pass_on(client, stream, peer, header, &sender).await;
                        }
                        // It has its place until it is closed.
                        Some(refusal) => {
                            let (flow, coflow) = (header.key.flow, header.key.coflow);
                            let detail = format!("flow {flow} of coflow {coflow}: {refusal}");
                            refusals.refuse(Reason::Credential, peer, None, detail);
                            // The other side may be gone.
                            let _ = tokio::time::timeout(LINGER, turn_away(&stream, refusal)).await;
                        }
                    }
                }
            }
        });
    }
}

/// Whether a connection begins with TLS where there should be a header.
fn is_tls(error: &io::Error) -> bool {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref());
    matches!(inner, Some(HeaderError::Tls))
}

/// Tells the other side why its flow is refused.
async fn turn_away(stream: &Connection, refusal: ProofRefusal) -> io::Result<()> {
    stream.write_all(&refusal_to(refusal)).await?;
    SockRef::from(stream.socket()).shutdown(Shutdown::Write)?;
    stream.drain(MAX_LINGERING).await
}

/// Begins TLS on a connection that has come in, if flows have it. Refuses one that begins otherwise than it should.
async fn secured(
    client: &Client,
    stream: TcpStream,
    peer: SocketAddr,
    refusals: &Refusals,
) -> Option<Connection> {
    let Some(tls) = &client.0.tls else { return Some(Connection::plain(stream)) };
    let mut first = [0];
    let come = tokio::time::timeout(HEADER_WITHIN, stream.peek(&mut first)).await;
    // Whoever says nothing is no flow, and nobody needs to know.
    let Ok(Ok(1..)) = come else { return None };
    if first == [TLS_HANDSHAKE] {
        let accepted = tls.accept(stream).await;
        return accepted
            .inspect_err(|error| refusals.refuse(Reason::Handshake, peer, None, error))
            .ok();
    }
    refusals.refuse(Reason::Handshake, peer, None, ProofRefusal::NoTls);
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
        Direction::Pushed => Incoming::Flow(client.receiver(stream, header)),
        Direction::Pulled => Incoming::Request(FlowRequest { client, stream, header }),
    };
    // The listener may be gone.
    let _ = sender.send(incoming).await;
}
