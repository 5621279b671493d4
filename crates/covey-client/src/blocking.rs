//! The same for applications without `async`: flows are [`std::io::Read`] and [`std::io::Write`].

use std::io::{self, Read, Write};
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::Arc;

use covey_api::{CoflowSpec, CoflowStatus, Update};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::runtime::{Builder, Runtime};

use crate::blocks;
use crate::client::{self, Options};
use crate::flow;
use crate::link::Scheduled;
use crate::rest::RestError;

/// [`crate::Client`], with a thread of its own for its connections.
#[derive(Clone)]
pub struct Client {
    runtime: Arc<Runtime>,
    inner: client::Client,
}

impl Client {
    /// See [`crate::Client::start`].
    ///
    /// # Errors
    /// When there are credentials that cannot be used, or no thread.
    pub fn start(options: Options) -> io::Result<Client> {
        let runtime = Arc::new(Builder::new_multi_thread().worker_threads(1).enable_all().build()?);
        let inner = runtime.block_on(client::Client::start(options)).map_err(io::Error::other)?;
        Ok(Client { runtime, inner })
    }

    /// See [`crate::Client::scheduled`].
    pub fn scheduled(&self) -> Scheduled {
        self.inner.scheduled()
    }

    /// See [`crate::Client::settled`].
    pub fn settled(&self) {
        self.runtime.block_on(self.inner.settled());
    }

    /// See [`crate::Client::coflows`].
    ///
    /// # Errors
    /// When the coordinator is away, or refuses.
    pub fn coflows(&self, all: bool) -> Result<Vec<CoflowStatus>, RestError> {
        self.runtime.block_on(self.inner.coflows(all))
    }

    /// See [`crate::Client::register`].
    ///
    /// # Errors
    /// When the coordinator refuses.
    pub fn register(&self, spec: &CoflowSpec) -> Result<Coflow, RestError> {
        let inner = self.runtime.block_on(self.inner.register(spec))?;
        Ok(Coflow { runtime: self.runtime.clone(), inner })
    }

    /// See [`crate::Client::join`].
    pub fn join(&self, id: u64) -> Coflow {
        Coflow { runtime: self.runtime.clone(), inner: self.inner.join(id) }
    }

    /// See [`crate::Client::listen`].
    ///
    /// # Errors
    /// When the address cannot be used.
    pub fn listen(&self, address: impl ToSocketAddrs) -> io::Result<Listener> {
        let addresses: Vec<SocketAddr> = address.to_socket_addrs()?.collect();
        let inner = self.runtime.block_on(self.inner.listen(addresses.as_slice()))?;
        Ok(Listener { runtime: self.runtime.clone(), inner })
    }
}

/// [`crate::Coflow`].
#[derive(Clone)]
pub struct Coflow {
    runtime: Arc<Runtime>,
    inner: client::Coflow,
}

impl Coflow {
    /// See [`crate::Coflow::id`].
    pub fn id(&self) -> u64 {
        self.inner.id()
    }

    /// See [`crate::Coflow::open`].
    ///
    /// # Errors
    /// When there is no connection.
    pub fn open(
        &self,
        flow: u32,
        to: impl ToSocketAddrs,
        bytes: Option<u64>,
        label: &[u8],
    ) -> io::Result<FlowSender> {
        let to: Vec<SocketAddr> = to.to_socket_addrs()?.collect();
        let inner = self.runtime.block_on(self.inner.open(flow, to.as_slice(), bytes, label))?;
        Ok(FlowSender { runtime: self.runtime.clone(), inner })
    }

    /// See [`crate::Coflow::fetch`].
    ///
    /// # Errors
    /// When there is no connection, or the other side does not send it.
    pub fn fetch(
        &self,
        flow: u32,
        from: impl ToSocketAddrs,
        label: &[u8],
    ) -> io::Result<FlowReceiver> {
        let from: Vec<SocketAddr> = from.to_socket_addrs()?.collect();
        let inner = self.runtime.block_on(self.inner.fetch(flow, from.as_slice(), label))?;
        Ok(FlowReceiver { runtime: self.runtime.clone(), inner })
    }

    /// See [`crate::Coflow::status`].
    ///
    /// # Errors
    /// When the coordinator is away, or has forgotten it.
    pub fn status(&self) -> Result<Option<CoflowStatus>, RestError> {
        self.runtime.block_on(self.inner.status())
    }

    /// See [`crate::Coflow::ended`].
    ///
    /// # Errors
    /// When the coordinator has forgotten it.
    pub fn ended(&self) -> Result<Option<CoflowStatus>, RestError> {
        self.runtime.block_on(self.inner.ended())
    }

    /// See [`crate::Coflow::update`].
    ///
    /// # Errors
    /// When the coordinator is away, or refuses.
    pub fn update(&self, update: &Update) -> Result<(), RestError> {
        self.runtime.block_on(self.inner.update(update))
    }

    /// See [`crate::Coflow::deregister`].
    ///
    /// # Errors
    /// When the coordinator is away, or refuses.
    pub fn deregister(self) -> Result<(), RestError> {
        self.runtime.block_on(self.inner.deregister())
    }
}

/// [`crate::Blocks`].
pub struct Blocks {
    runtime: Arc<Runtime>,
    inner: blocks::Blocks,
}

impl Blocks {
    /// See [`crate::Blocks::listen`].
    ///
    /// # Errors
    /// When the address cannot be used.
    pub fn listen(client: &Client, address: impl ToSocketAddrs) -> io::Result<Blocks> {
        let addresses: Vec<SocketAddr> = address.to_socket_addrs()?.collect();
        let listen = blocks::Blocks::listen(&client.inner, addresses.as_slice());
        Ok(Blocks { inner: client.runtime.block_on(listen)?, runtime: client.runtime.clone() })
    }

    /// See [`crate::Blocks::local_addr`].
    pub fn local_addr(&self) -> SocketAddr {
        self.inner.local_addr()
    }

    /// See [`crate::Blocks::push`].
    ///
    /// # Errors
    /// When the connection breaks, or the other side does not want the block.
    pub fn push(
        coflow: &Coflow,
        flow: u32,
        to: impl ToSocketAddrs,
        name: &[u8],
        data: &[u8],
    ) -> io::Result<()> {
        let to: Vec<SocketAddr> = to.to_socket_addrs()?.collect();
        let push = blocks::Blocks::push(&coflow.inner, flow, to.as_slice(), name, data);
        coflow.runtime.block_on(push)
    }

    /// See [`crate::Blocks::pull`].
    ///
    /// # Errors
    /// When its connection breaks.
    pub fn pull(&self, coflow: u64, name: &[u8]) -> io::Result<Vec<u8>> {
        self.runtime.block_on(self.inner.pull(coflow, name))
    }

    /// See [`crate::Blocks::put`].
    pub fn put(&self, coflow: u64, name: &[u8], data: impl Into<Arc<[u8]>>) {
        self.inner.put(coflow, name, data);
    }

    /// See [`crate::Blocks::get`].
    ///
    /// # Errors
    /// When the connection breaks.
    pub fn get(
        coflow: &Coflow,
        flow: u32,
        from: impl ToSocketAddrs,
        name: &[u8],
    ) -> io::Result<Vec<u8>> {
        let from: Vec<SocketAddr> = from.to_socket_addrs()?.collect();
        let get = blocks::Blocks::get(&coflow.inner, flow, from.as_slice(), name);
        coflow.runtime.block_on(get)
    }

    /// See [`crate::Blocks::remove`].
    pub fn remove(&self, coflow: u64, name: &[u8]) {
        self.inner.remove(coflow, name);
    }
}

/// [`crate::FlowSender`]. [`FlowSender::finish`] ends the flow.
pub struct FlowSender {
    runtime: Arc<Runtime>,
    inner: flow::FlowSender,
}

impl FlowSender {
    /// See [`crate::FlowSender::finish`].
    ///
    /// # Errors
    /// When the receiver has not had all, or the connection breaks.
    pub fn finish(mut self) -> io::Result<()> {
        self.runtime.block_on(self.inner.finish())
    }
}

impl Write for FlowSender {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        self.runtime.block_on(self.inner.write(data))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.runtime.block_on(self.inner.flush())
    }
}

/// [`crate::Listener`], for flows that come here.
pub struct Listener {
    runtime: Arc<Runtime>,
    inner: client::Listener,
}

impl Listener {
    /// Its address.
    pub fn local_addr(&self) -> SocketAddr {
        self.inner.local_addr()
    }

    /// The next flow that comes here; who asks for one is sent away.
    ///
    /// # Errors
    /// When there will be none any more.
    pub fn accept(&mut self) -> io::Result<FlowReceiver> {
        loop {
            let accepted = self.runtime.block_on(self.inner.accept())?;
            if let client::Incoming::Flow(inner) = accepted {
                return Ok(FlowReceiver { runtime: self.runtime.clone(), inner });
            }
        }
    }
}

/// [`crate::FlowReceiver`].
pub struct FlowReceiver {
    runtime: Arc<Runtime>,
    inner: flow::FlowReceiver,
}

impl FlowReceiver {
    /// The number of its coflow.
    pub fn coflow(&self) -> u64 {
        self.inner.coflow()
    }

    /// Its place in the coflow.
    pub fn flow(&self) -> u32 {
        self.inner.flow()
    }

    /// What the application calls it.
    pub fn label(&self) -> &[u8] {
        self.inner.label()
    }
}

impl Read for FlowReceiver {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.runtime.block_on(self.inner.read(buffer))
    }
}
