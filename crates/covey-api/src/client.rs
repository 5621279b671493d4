//! A client of the REST API, for commands and tests.

use std::sync::Arc;

use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::{Request, header};
use hyper_util::rt::TokioIo;
use thiserror::Error;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::ClientConfig;

use crate::endpoint::Endpoint;

/// Why there is no answer.
#[derive(Debug, Error)]
pub enum ClientError {
    /// No connection.
    #[error("{0}: {1}")]
    Connect(Endpoint, std::io::Error),
    /// The connection broke.
    #[error("{0}: {1}")]
    Http(Endpoint, hyper::Error),
    /// The request cannot be made.
    #[error("{0}")]
    Request(#[from] hyper::http::Error),
}

impl ClientError {
    /// Whether the request was never sent.
    pub fn is_unsent(&self) -> bool {
        match self {
            ClientError::Connect(..) | ClientError::Request(_) => true,
            ClientError::Http(_, error) => error.is_canceled() || error.is_closed(),
        }
    }
}

/// An answer.
#[derive(Debug, Clone)]
pub struct Response {
    /// The HTTP status.
    pub status: u16,
    /// The entity tag, if there is one.
    pub etag: Option<String>,
    /// The body.
    pub body: Vec<u8>,
}

impl Response {
    /// The body as JSON; null when it is not.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
}

/// One connection to a coordinator.
pub struct Client {
    address: Endpoint,
    sender: SendRequest<Full<Bytes>>,
    token: String,
}

impl Client {
    /// Connects, with TLS if `tls` says how. The coordinator's certificate must have the name or
    /// the address that is connected to.
    ///
    /// # Errors
    /// When there is no connection.
    pub async fn connect(
        address: impl Into<Endpoint>,
        token: &[u8],
        tls: Option<Arc<ClientConfig>>,
    ) -> Result<Client, ClientError> {
        let address: Endpoint = address.into();
        let io = |error| ClientError::Connect(address.clone(), error);
        let http = |error| ClientError::Http(address.clone(), error);
        let stream = address.connect().await.map_err(io)?;
        stream.set_nodelay(true).map_err(io)?;
        let sender = match tls {
            None => {
                let (sender, connection) = handshake(TokioIo::new(stream)).await.map_err(http)?;
                tokio::spawn(connection);
                sender
            }
            Some(tls) => {
                let name = address.server_name();
                let stream = TlsConnector::from(tls).connect(name, stream).await.map_err(io)?;
                let (sender, connection) = handshake(TokioIo::new(stream)).await.map_err(http)?;
                tokio::spawn(connection);
                sender
            }
        };
        let token = String::from_utf8_lossy(token).into_owned();
        Ok(Client { address, sender, token })
    }

    /// Asks, with more headers.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn ask(
        &mut self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> Result<Response, ClientError> {
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header(header::HOST, "covey")
            .header(header::AUTHORIZATION, format!("Bearer {}", self.token));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Full::new(body.into()))?;
        let http = |error| ClientError::Http(self.address.clone(), error);
        self.sender.ready().await.map_err(http)?;
        let response = self.sender.send_request(request).await.map_err(http)?;
        let status = response.status().as_u16();
        let etag = response.headers().get(header::ETAG).and_then(|tag| tag.to_str().ok());
        let etag = etag.map(str::to_owned);
        let body = response.into_body().collect().await.map_err(http)?.to_bytes().to_vec();
        Ok(Response { status, etag, body })
    }

    /// Asks for something to read.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn get(&mut self, path: &str) -> Result<Response, ClientError> {
        self.ask("GET", path, &[], Bytes::new()).await
    }
}
