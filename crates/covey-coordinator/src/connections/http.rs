//! Connections that speak HTTP.

use std::sync::Arc;
use std::time::Duration;

use covey_door::{Door, Guest, Limits};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};

use super::accept::{Stop, accept};
use super::admission::handshake_failed;
use covey_credentials::Tls;

/// Connections that speak HTTP. Each request has its [`Guest`] as an extension.
#[derive(Clone)]
pub(crate) struct Http {
    pub router: axum::Router,
    pub tls: Tls,
}

impl Http {
    /// Serves the connections that `door` lets in, until `stop` says so.
    pub async fn listen(self, listener: TcpListener, door: Arc<Door>, stop: Stop) {
        accept(listener, door, stop, move |stream, guest, stop| {
            self.clone().run(stream, guest, stop)
        })
        .await;
    }

    /// Serves one connection until it ends, or the server stops.
    async fn run(self, stream: TcpStream, guest: Arc<Guest>, stop: Stop) {
        if let Err(error) = self.serve(stream, guest, stop).await {
            tracing::debug!(error, "connection of a client ended");
        }
    }

    async fn serve(self, stream: TcpStream, guest: Arc<Guest>, stop: Stop) -> Result<(), String> {
        stream.set_nodelay(true).map_err(|error| error.to_string())?;
        let tls = self.tls.borrow().clone();
        match tls {
            None => self.talk(TokioIo::new(stream), guest, stop).await,
            Some(tls) => {
                let accepted = tls.acceptor.accept(stream).await;
                let failed = |error: &_| handshake_failed(&guest, error);
                let stream = accepted.inspect_err(failed).map_err(|error| error.to_string())?;
                self.talk(TokioIo::new(stream), guest, stop).await
            }
        }
    }

    async fn talk(
        self,
        io: impl hyper::rt::Read + hyper::rt::Write + Unpin,
        guest: Arc<Guest>,
        mut stop: Stop,
    ) -> Result<(), String> {
        let router = TowerToHyperService::new(self.router);
        let service = service_fn(move |mut request: hyper::Request<Incoming>| {
            request.extensions_mut().insert(guest.clone());
            router.call(request)
        });
        let mut builder = http1::Builder::new();
        builder.timer(TokioTimer::new()).header_read_timeout(IDLE);
        let mut connection = std::pin::pin!(builder.serve_connection(io, service));
        tokio::select! {
            served = connection.as_mut() => served.map_err(|error| error.to_string()),
            () = stop.asked() => {
                connection.as_mut().graceful_shutdown();
                // A stream of events would go on for ever.
                let ended = tokio::time::timeout(LAST_ANSWER, connection).await;
                ended.map_or(Ok(()), |served| served.map_err(|error| error.to_string()))
            }
        }
    }
}

/// How long an answer that is under way may take when the server stops.
const LAST_ANSWER: Duration = Duration::from_secs(1);

/// How long a connection that has shown a credential may be idle, or take for the header of a
/// request.
const IDLE: Duration = Duration::from_secs(60);

/// Limits of connections for probes. A connection is for one or a few requests, also without a
/// token.
pub(crate) const PROBES: Limits =
    Limits { max: 64, max_per_peer: 32, max_unauthenticated: 64, patience: Duration::from_secs(2) };
