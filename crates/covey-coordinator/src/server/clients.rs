//! Connections of clients.

use std::net::SocketAddr;
use std::time::Duration;

use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;

use super::caller::Caller;
use crate::connections::Stop;

/// Connections of clients.
#[derive(Clone)]
pub(super) struct Clients {
    pub router: axum::Router,
    pub tls: Option<TlsAcceptor>,
}

impl Clients {
    pub async fn run(self, stream: TcpStream, peer: SocketAddr, stop: Stop) {
        if let Err(error) = self.serve(stream, peer, stop).await {
            tracing::debug!(%peer, error, "connection of a client ended");
        }
    }

    async fn serve(self, stream: TcpStream, peer: SocketAddr, stop: Stop) -> Result<(), String> {
        stream.set_nodelay(true).map_err(|error| error.to_string())?;
        match self.tls.clone() {
            None => self.talk(TokioIo::new(stream), peer, stop).await,
            Some(tls) => {
                let accepted = tokio::time::timeout(HANDSHAKE, tls.accept(stream)).await;
                let stream = accepted.map_err(|error| error.to_string())?;
                let stream = stream.map_err(|error| error.to_string())?;
                self.talk(TokioIo::new(stream), peer, stop).await
            }
        }
    }

    async fn talk(
        self,
        io: impl hyper::rt::Read + hyper::rt::Write + Unpin,
        peer: SocketAddr,
        mut stop: Stop,
    ) -> Result<(), String> {
        let router = TowerToHyperService::new(self.router);
        let service = service_fn(move |mut request: Request<Incoming>| {
            request.extensions_mut().insert(Caller { peer, token: None });
            router.call(request)
        });
        let mut builder = http1::Builder::new();
        builder.timer(hyper_util::rt::TokioTimer::new()).header_read_timeout(IDLE);
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

/// How long a connection of a client may be idle.
const IDLE: Duration = Duration::from_secs(60);

/// How long a TLS handshake may take.
const HANDSHAKE: Duration = Duration::from_secs(5);
