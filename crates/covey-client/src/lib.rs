//! What an application links to have its flows scheduled as coflows.
//!
//! A [`Client`] finds the agent on its host. It registers a [`Coflow`] with the coordinator, or
//! joins one that another application has registered; it opens flows ([`Coflow::open`]) and accepts
//! them ([`Client::listen`]). A [`FlowSender`] is an `AsyncWrite` that keeps to the schedule, a
//! [`FlowReceiver`] an `AsyncRead` that ends where the flow ends. [`Blocks`] has Swallow's `push`
//! and `pull` and Aalo's `put` and `get` of named blocks, and [`blocking`] has all of it without
//! `async`.
//!
//! Without an agent, or while the coordinator is away, flows send as fast as they can. In
//! [`Mode::Stream`] nobody is in charge: receivers give priorities, senders mark packets, and
//! switches with strict queues do the rest:
//!
//! ```
//! // docs/no-coordinator.md has these lines, too.
//! use covey_client::{Mode, Options, StreamSetup};
//! let options = Options { mode: Mode::Stream(StreamSetup::default()), ..Options::default() };
//! let setup: StreamSetup = covey_sched::stream::settings("K=8,q1=1MB")?;
//! assert_eq!(setup.rules.queues(), 8);
//! let options = Options { mode: Mode::Stream(setup), ..options };
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! With a coordinator:
//!
//! ```no_run
//! use covey_client::{Client, CoflowSpec, Flow, Incoming, Options};
//! use tokio::io::{AsyncReadExt, AsyncWriteExt};
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let client = Client::start(Options::default()).await?;
//! let flows = vec![Flow::new(0, 1, Some(5.0))];
//! let coflow = client.register(&CoflowSpec::of(flows)).await?;
//! // On the host that sends:
//! let mut flow = coflow.open(0, "10.0.0.2:9000", Some(5), b"").await?;
//! flow.write_all(b"hello").await?;
//! flow.finish().await?;
//! // On the host that receives:
//! let mut listener = client.listen("10.0.0.2:9000").await?;
//! if let Incoming::Flow(mut flow) = listener.accept().await? {
//!     let mut text = String::new();
//!     flow.read_to_string(&mut text).await?;
//! }
//! # Ok(())
//! # }
//! ```

pub mod blocking;
mod blocks;
mod client;
mod connection;
mod flow;
mod framing;
mod gate;
mod header;
mod link;
mod listener;
mod opening;
mod own_flows;
mod pacing;
mod proving;
mod reach;
mod receiver;
mod rest;
mod stream;
mod tls;
mod token_bucket;

pub use blocks::Blocks;
pub use client::{Client, Coflow, Options};
pub use covey_api::{CoflowSpec, CoflowState, CoflowStatus, Flow, Move, Update};
pub use covey_proto::{OpeningError, WrongOpening};
pub use covey_stream::Setup as StreamSetup;
pub use flow::FlowSender;
pub use listener::{FlowRequest, Incoming, Listener};
pub use own_flows::Scheduled;
pub use pacing::{
    mark, mark_of, mark_of_queue, mark_of_socket, set_datagram_size, set_max_pacing_rate,
};
pub use receiver::FlowReceiver;
pub use rest::RestError;
pub use stream::Mode;
pub use tls::TlsFiles;
