//! Named blocks: Swallow's `push` and `pull` (§V, Table IV), Aalo's `put` and `get` (§6.1).
//!
//! A block that is pushed waits in its connection, not in memory, until it is pulled; the sender's
//! `push` returns when the receiver has it. A block that is put stays with the application that has
//! put it, and others can get it any number of times, until it is removed.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::ToSocketAddrs;
use tokio::sync::Notify;

use crate::client::{Client, Coflow};
use crate::listener::{FlowRequest, Incoming, Listener};
use crate::receiver::FlowReceiver;

/// A block: the id of its coflow, and its name in it.
type BlockKey = (u64, Vec<u8>);

/// Maximum number of blocks that wait to be pulled; more are refused.
const MAX_WAITING: usize = 16_384;

#[derive(Default)]
struct Store {
    /// Blocks that have been put.
    put: BTreeMap<BlockKey, Arc<[u8]>>,
    /// Blocks that have been pushed here and have not been pulled.
    pushed: BTreeMap<BlockKey, FlowReceiver>,
}

/// What [`Blocks`] shares with the tasks that serve connections.
struct Exchange {
    store: Mutex<Store>,
    /// Notified when a block was pushed or put.
    arrived: Notify,
}

impl Exchange {
    fn lock(&self) -> MutexGuard<'_, Store> {
        self.store.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The blocks of this application: those pushed to it, and those it has put.
pub struct Blocks {
    exchange: Arc<Exchange>,
    address: SocketAddr,
    task: tokio::task::JoinHandle<()>,
}

impl Blocks {
    /// Listens for blocks, and for requests of blocks.
    ///
    /// # Errors
    /// When the address cannot be used.
    pub async fn listen(client: &Client, address: impl ToSocketAddrs) -> io::Result<Blocks> {
        let listener = client.listen(address).await?;
        let address = listener.local_addr();
        let exchange = Arc::new(Exchange { store: Mutex::default(), arrived: Notify::new() });
        let task = tokio::spawn(serve(listener, exchange.clone()));
        Ok(Blocks { exchange, address, task })
    }

    /// The address where it listens.
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// Sends a block to the [`Blocks`] at `to`, as the flow of index `flow`. Returns when it has
    /// been pulled there.
    ///
    /// # Errors
    /// When the connection breaks, or the other side refuses the block.
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

    /// Receives a block that is pushed here, now or later.
    ///
    /// # Errors
    /// When the block's connection breaks.
    pub async fn pull(&self, coflow: u64, name: &[u8]) -> io::Result<Vec<u8>> {
        let name = (coflow, name.to_vec());
        loop {
            let mut arrived = std::pin::pin!(self.exchange.arrived.notified());
            // From here on the task is woken by every arrival.
            arrived.as_mut().enable();
            let pushed = self.exchange.lock().pushed.remove(&name);
            match pushed {
                Some(receiver) => return read(receiver).await,
                None => arrived.await,
            }
        }
    }

    /// Offers a block for others to get.
    pub fn put(&self, coflow: u64, name: &[u8], data: impl Into<Arc<[u8]>>) {
        self.exchange.lock().put.insert((coflow, name.to_vec()), data.into());
        self.exchange.arrived.notify_waiters();
    }

    /// Gets a block from the [`Blocks`] at `from`, as the flow of index `flow`. Waits until it has
    /// been put there.
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

    /// Removes a block that has been put. Transfers that have begun still complete.
    pub fn remove(&self, coflow: u64, name: &[u8]) {
        self.exchange.lock().put.remove(&(coflow, name.to_vec()));
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

async fn serve(mut listener: Listener, exchange: Arc<Exchange>) {
    while let Ok(incoming) = listener.accept().await {
        match incoming {
            Incoming::Flow(receiver) => {
                let mut store = exchange.lock();
                if store.pushed.len() >= MAX_WAITING {
                    tracing::warn!(max = MAX_WAITING, "a block was refused: too many wait");
                    continue;
                }
                let name = (receiver.coflow(), receiver.label().to_vec());
                store.pushed.insert(name, receiver);
                drop(store);
                exchange.arrived.notify_waiters();
            }
            Incoming::Request(request) => {
                let exchange = exchange.clone();
                tokio::spawn(async move {
                    if let Err(error) = answer(request, &exchange).await {
                        tracing::debug!(%error, "a block was not sent");
                    }
                });
            }
        }
    }
}

async fn answer(request: FlowRequest, exchange: &Exchange) -> io::Result<()> {
    let name = (request.coflow(), request.label().to_vec());
    let data = loop {
        let mut arrived = std::pin::pin!(exchange.arrived.notified());
        arrived.as_mut().enable();
        let found = exchange.lock().put.get(&name).cloned();
        match found {
            Some(data) => break data,
            None => tokio::select! {
                () = arrived => {}
                () = request.given_up() => return Err(io::ErrorKind::ConnectionAborted.into()),
            },
        }
    };
    let mut sender = request.send(Some(data.len() as u64)).await?;
    sender.write_all(&data).await?;
    sender.finish().await
}
