//! Blocks with names: Swallow's `push` and `pull` (§V, Table IV), Aalo's `put` and `get` (§6.1).
//!
//! A block that is pushed waits in its connection, not in memory, until it is pulled: the sender's
//! `push` returns when the receiver has it. A block that is put stays with who has put it until others
//! have got it as often as they like, and it is removed.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::ToSocketAddrs;
use tokio::sync::Notify;

use crate::client::{Client, Coflow, FlowRequest, Incoming, Listener};
use crate::flow::FlowReceiver;

/// A block: its coflow, and its name there.
type Name = (u64, Vec<u8>);

/// The most blocks that wait to be pulled; more are refused.
const MOST_WAITING: usize = 16_384;

#[derive(Default)]
struct Store {
    /// Blocks that have been put.
    put: BTreeMap<Name, Arc<[u8]>>,
    /// Blocks that have been pushed here and not been pulled.
    pushed: BTreeMap<Name, FlowReceiver>,
}

struct Shared {
    store: Mutex<Store>,
    arrived: Notify,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Store> {
        self.store.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Where this application's blocks come and go.
pub struct Blocks {
    shared: Arc<Shared>,
    address: SocketAddr,
    task: tokio::task::JoinHandle<()>,
}

impl Blocks {
    /// Listens for blocks, and for who wants some.
    ///
    /// # Errors
    /// When the address cannot be used.
    pub async fn listen(client: &Client, address: impl ToSocketAddrs) -> io::Result<Blocks> {
        let listener = client.listen(address).await?;
        let address = listener.local_addr();
        let shared = Arc::new(Shared { store: Mutex::default(), arrived: Notify::new() });
        let task = tokio::spawn(serve(listener, shared.clone()));
        Ok(Blocks { shared, address, task })
    }

    /// The address where it listens.
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// Sends a block, as the flow at place `flow` of its coflow, to where `to` listens. Returns when it
    /// has been pulled there.
    ///
    /// # Errors
    /// When the connection breaks, or the other side does not want the block.
    pub async fn push(
        coflow: &Coflow,
        flow: u32,
        to: impl ToSocketAddrs,
        name: &[u8],
        data: &[u8],
    ) -> io::Result<()> {
        let mut sender = coflow.open(flow, to, Some(data.len() as u64), name).await?;
        sender.write_all(data).await?;
        sender.finish().await
    }

    /// Receives a block that is, or will be, pushed here.
    ///
    /// # Errors
    /// When its connection breaks.
    pub async fn pull(&self, coflow: u64, name: &[u8]) -> io::Result<Vec<u8>> {
        let name = (coflow, name.to_vec());
        loop {
            let mut arrived = std::pin::pin!(self.shared.arrived.notified());
            // From here on no arrival is missed.
            arrived.as_mut().enable();
            let pushed = self.shared.lock().pushed.remove(&name);
            match pushed {
                Some(receiver) => return read(receiver).await,
                None => arrived.await,
            }
        }
    }

    /// Has a block ready for others to get.
    pub fn put(&self, coflow: u64, name: &[u8], data: impl Into<Arc<[u8]>>) {
        self.shared.lock().put.insert((coflow, name.to_vec()), data.into());
        self.shared.arrived.notify_waiters();
    }

    /// Gets a block, as the flow at place `flow` of its coflow, from where it has been put. Waits if it
    /// has not been yet.
    ///
    /// # Errors
    /// When the connection breaks.
    pub async fn get(
        coflow: &Coflow,
        flow: u32,
        from: impl ToSocketAddrs,
        name: &[u8],
    ) -> io::Result<Vec<u8>> {
        read(coflow.fetch(flow, from, name).await?).await
    }

    /// Takes back a block that has been put. Who is getting it still gets all of it.
    pub fn remove(&self, coflow: u64, name: &[u8]) {
        self.shared.lock().put.remove(&(coflow, name.to_vec()));
    }
}

impl Drop for Blocks {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn read(mut receiver: FlowReceiver) -> io::Result<Vec<u8>> {
    let mut data = Vec::new();
    receiver.read_to_end(&mut data).await?;
    Ok(data)
}

async fn serve(mut listener: Listener, shared: Arc<Shared>) {
    while let Ok(incoming) = listener.accept().await {
        match incoming {
            Incoming::Flow(receiver) => {
                let mut store = shared.lock();
                if store.pushed.len() >= MOST_WAITING {
                    tracing::warn!(most = MOST_WAITING, "a block was refused: too many wait");
                    continue;
                }
                let name = (receiver.coflow(), receiver.label().to_vec());
                store.pushed.insert(name, receiver);
                drop(store);
                shared.arrived.notify_waiters();
            }
            Incoming::Request(request) => {
                let shared = shared.clone();
                tokio::spawn(async move {
                    if let Err(error) = answer(request, &shared).await {
                        tracing::debug!(%error, "a block was not sent");
                    }
                });
            }
        }
    }
}

async fn answer(request: FlowRequest, shared: &Shared) -> io::Result<()> {
    let name = (request.coflow(), request.label().to_vec());
    let data = loop {
        let mut arrived = std::pin::pin!(shared.arrived.notified());
        arrived.as_mut().enable();
        let found = shared.lock().put.get(&name).cloned();
        match found {
            Some(data) => break data,
            None => arrived.await,
        }
    };
    let mut sender = request.send(Some(data.len() as u64)).await?;
    sender.write_all(&data).await?;
    sender.finish().await
}
