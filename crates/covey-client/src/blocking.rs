//! The client for applications without `async`: flows are [`std::io::Read`] and [`std::io::Write`].

use std::io::{self, Read, Write};
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::Arc;

use covey_api::{CoflowSpec, CoflowStatus, Update};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::runtime::{Builder, Runtime};

use crate::blocks;
use crate::client::{self, Options};
use crate::flow;
use crate::listener;
use crate::own_flows::Scheduled;
use crate::receiver;
use crate::rest::RestError;

/// [`crate::Client`] with a thread of its own for its connections.
#[derive(Clone)]
pub struct Client {
    runtime: Arc<Runtime>,
    inner: client::Client,
}

impl Client {
    /// Starts a client, as [`crate::Client::start`] does.
    ///
    /// # Errors
    /// When there are credentials that cannot be used, or no thread can be started.
    pub fn start(options: Options) -> io::Result<Client> {
        let runtime = Arc::new(Builder::new_multi_thread().worker_threads(1).enable_all().build()?);
        let inner = runtime.block_on(client::Client::start(options)).map_err(io::Error::other)?;
        Ok(Client { runtime, inner })
    }

    /// Whether the flows of this application are scheduled now.
    pub fn scheduled(&self) -> Scheduled {
        self.inner.scheduled()
    }

    /// Waits until the coordinator has acknowledged the ends of all flows.
    pub fn settled(&self) {
        self.runtime.block_on(self.inner.settled());
    }

    /// The coflows that are present, or `all` that the coordinator remembers.
    ///
    /// # Errors
    /// When the coordinator is away, or refuses.
    pub fn coflows(&self, all: bool) -> Result<Vec<CoflowStatus>, RestError> {
        self.runtime.block_on(self.inner.coflows(all))
    }

    /// Registers a coflow, as [`crate::Client::register`] does.
    ///
    /// # Errors
    /// When the coordinator refuses.
    pub fn register(&self, spec: &CoflowSpec) -> Result<Coflow, RestError> {
        let inner = self.runtime.block_on(self.inner.register(spec))?;
        Ok(Coflow { runtime: self.runtime.clone(), inner })
    }

    /// The coflow of this id, which another application has registered.
    pub fn join(&self, id: u64) -> Coflow {
        Coflow { runtime: self.runtime.clone(), inner: self.inner.join(id) }
    }

    /// Accepts flows at an address.
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
    /// The coflow's id, by which other applications join it.
    pub fn id(&self) -> u64 {
        self.inner.id()
    }

    /// Opens a flow to a listener, as [`crate::Coflow::open`] does.
    ///
    /// # Errors
    /// When the connection cannot be made.
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

    /// Asks a listener to send a flow, as [`crate::Coflow::fetch`] does.
    ///
    /// # Errors
    /// When the connection cannot be made, or the other side does not send it.
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

    /// The coflow's status; `None` if no coordinator knows the coflow.
    ///
    /// # Errors
    /// When the coordinator is away, or has forgotten the coflow.
    pub fn status(&self) -> Result<Option<CoflowStatus>, RestError> {
        self.runtime.block_on(self.inner.status())
    }

    /// Waits for the end of the coflow, as [`crate::Coflow::ended`] does.
    ///
    /// # Errors
    /// When the coordinator has forgotten the coflow, or is away for long.
    pub fn ended(&self) -> Result<Option<CoflowStatus>, RestError> {
        self.runtime.block_on(self.inner.ended())
    }

    /// Changes the coflow.
    ///
    /// # Errors
    /// When the coordinator is away, or refuses.
    pub fn update(&self, update: &Update) -> Result<(), RestError> {
        self.runtime.block_on(self.inner.update(update))
    }

    /// Deregisters the coflow before its last flow has ended.
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
    /// Listens for blocks, and for requests of blocks.
    ///
    /// # Errors
    /// When the address cannot be used.
    pub fn listen(client: &Client, address: impl ToSocketAddrs) -> io::Result<Blocks> {
        let addresses: Vec<SocketAddr> = address.to_socket_addrs()?.collect();
        let listen = blocks::Blocks::listen(&client.inner, addresses.as_slice());
        Ok(Blocks { inner: client.runtime.block_on(listen)?, runtime: client.runtime.clone() })
    }

    /// The address where it listens.
    pub fn local_addr(&self) -> SocketAddr {
        self.inner.local_addr()
    }

    /// Sends a block, as [`crate::Blocks::push`] does.
    ///
    /// # Errors
    /// When the connection breaks, or the other side refuses the block.
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

    /// Receives a block that is pushed here, now or later.
    ///
    /// # Errors
    /// When its connection breaks.
    pub fn pull(&self, coflow: u64, name: &[u8]) -> io::Result<Vec<u8>> {
        self.runtime.block_on(self.inner.pull(coflow, name))
    }

    /// Offers a block for others to get.
    pub fn put(&self, coflow: u64, name: &[u8], data: impl Into<Arc<[u8]>>) {
        self.inner.put(coflow, name, data);
    }

    /// Gets a block, as [`crate::Blocks::get`] does.
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

    /// Removes a block that has been put.
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
    /// Ends the flow: waits until the receiver has confirmed all bytes.
    ///
    /// # Errors
    /// When the receiver confirms another number of bytes, or the connection breaks.
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
    inner: listener::Listener,
}

impl Listener {
    /// The address.
    pub fn local_addr(&self) -> SocketAddr {
        self.inner.local_addr()
    }

    /// Waits for the next flow that comes here. Requests for flows are refused.
    ///
    /// # Errors
    /// When no flow can come any more.
    pub fn accept(&mut self) -> io::Result<FlowReceiver> {
        loop {
            let accepted = self.runtime.block_on(self.inner.accept())?;
            if let listener::Incoming::Flow(inner) = accepted {
                return Ok(FlowReceiver { runtime: self.runtime.clone(), inner });
            }
        }
    }
}

/// [`crate::FlowReceiver`].
pub struct FlowReceiver {
    runtime: Arc<Runtime>,
    inner: receiver::FlowReceiver,
}

impl FlowReceiver {
    /// Id of the coflow.
    pub fn coflow(&self) -> u64 {
        self.inner.coflow()
    }

    /// Index of the flow in its coflow.
    pub fn flow(&self) -> u32 {
        self.inner.flow()
    }

    /// The label that the sender has given the flow.
    pub fn label(&self) -> &[u8] {
        self.inner.label()
    }
}

impl Read for FlowReceiver {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.runtime.block_on(self.inner.read(buffer))
    }
}
