//! The coordinator's REST API, as an application uses it.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use covey_coordinator::{Client as Connection, ClientError, CoflowSpec, Response, Update};
use serde::Deserialize;
use thiserror::Error;
use tokio::sync::Mutex;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use crate::status::Status;

/// Why the coordinator has not done what it was asked.
#[derive(Debug, Error)]
pub enum RestError {
    /// It cannot be reached.
    #[error("the coordinator does not answer: {0}")]
    Away(#[from] ClientError),
    /// It has refused.
    #[error("the coordinator refuses: {status} {detail}")]
    Refused {
        /// The HTTP status.
        status: u16,
        /// What it has against the request.
        detail: String,
    },
    /// Its answer is of another API.
    #[error("the coordinator answers what means nothing here: {0}")]
    Answer(#[from] serde_json::Error),
    /// The credentials cannot be read.
    #[error("{path}: {what}")]
    Credentials {
        /// The file.
        path: String,
        /// What is wrong.
        what: String,
    },
}

/// A coordinator, and what is shown to it.
pub struct Rest {
    address: SocketAddr,
    token: Vec<u8>,
    tls: Option<Arc<ClientConfig>>,
    connection: Mutex<Option<Connection>>,
}

impl Rest {
    /// The coordinator at `address`, with the `token` of the folder, and TLS if that has a `ca.pem`.
    ///
    /// # Errors
    /// When the credentials cannot be read.
    pub fn new(address: SocketAddr, folder: &Path) -> Result<Rest, RestError> {
        let bad = |path: &Path, what: &dyn std::fmt::Display| RestError::Credentials {
            path: path.display().to_string(),
            what: what.to_string(),
        };
        let path = folder.join("token");
        let token = std::fs::read(&path).map_err(|error| bad(&path, &error))?;
        let token = token.trim_ascii().to_vec();
        let path = folder.join("ca.pem");
        let tls = if path.exists() {
            let mut roots = RootCertStore::empty();
            let ca = CertificateDer::from_pem_file(&path).map_err(|error| bad(&path, &error))?;
            roots.add(ca).map_err(|error| bad(&path, &error))?;
            let config = ClientConfig::builder().with_root_certificates(roots);
            Some(Arc::new(config.with_no_client_auth()))
        } else {
            None
        };
        Ok(Rest { address, token, tls, connection: Mutex::new(None) })
    }

    /// Registers a coflow, once however often it has to be said. Returns its number.
    ///
    /// # Errors
    /// When the coordinator is away, or refuses.
    pub async fn register(&self, spec: &CoflowSpec) -> Result<u64, RestError> {
        let mut random = [0; 16];
        // Without random numbers there is no key, and nothing is said twice.
        let key = getrandom::fill(&mut random)
            .ok()
            .map(|()| random.iter().map(|byte| format!("{byte:02x}")).collect::<String>());
        let headers: Vec<(&str, &str)> =
            key.iter().map(|key| ("idempotency-key", key.as_str())).collect();
        let body = serde_json::to_string(spec).unwrap_or_default();
        let answer = self.ask("POST", "/v1/coflows", &headers, body).await?;
        let id = answer.json()["id"].as_u64();
        id.ok_or_else(|| refused(&answer))
    }

    /// Keeps a coflow for so many seconds from now on.
    ///
    /// # Errors
    /// When the coordinator is away, or does not know it any more.
    pub async fn keep(&self, id: u64, lease_s: f64) -> Result<(), RestError> {
        let body = format!(r#"{{"lease_s":{lease_s}}}"#);
        self.ask("POST", &format!("/v1/coflows/{id}/keep"), &[], body).await.map(|_| ())
    }

    /// Changes a coflow.
    ///
    /// # Errors
    /// When the coordinator is away, or refuses.
    pub async fn update(&self, id: u64, update: &Update) -> Result<(), RestError> {
        let body = serde_json::to_string(update).unwrap_or_default();
        self.ask("PATCH", &format!("/v1/coflows/{id}"), &[], body).await.map(|_| ())
    }

    /// Deregisters a coflow.
    ///
    /// # Errors
    /// When the coordinator is away, or refuses.
    pub async fn remove(&self, id: u64) -> Result<(), RestError> {
        self.ask("DELETE", &format!("/v1/coflows/{id}"), &[], String::new()).await.map(|_| ())
    }

    /// Tells of a coflow.
    ///
    /// # Errors
    /// When the coordinator is away, or does not know it.
    pub async fn status(&self, id: u64) -> Result<Status, RestError> {
        let path = format!("/v1/coflows/{id}");
        let answer = self.ask("GET", &path, &[], String::new()).await?;
        Ok(serde_json::from_slice(&answer.body)?)
    }

    /// Tells of the coflows that are present, or of all that are remembered.
    ///
    /// # Errors
    /// When the coordinator is away, or refuses.
    pub async fn list(&self, all: bool) -> Result<Vec<Status>, RestError> {
        let state = if all { "all" } else { "present" };
        let mut coflows = Vec::new();
        let mut path = format!("/v1/coflows?state={state}&limit=1000");
        loop {
            let answer = self.ask("GET", &path, &[], String::new()).await?;
            let page: Page = serde_json::from_slice(&answer.body)?;
            coflows.extend(page.items);
            let Some(next) = page.next else { return Ok(coflows) };
            path = format!("/v1/coflows?state={state}&limit=1000&cursor={next}");
        }
    }

    async fn ask(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: String,
    ) -> Result<Response, RestError> {
        let mut connection = self.connection.lock().await;
        // One that was open may have been closed meanwhile: then another is tried.
        if let Some(open) = connection.as_mut()
            && let Ok(answer) = open.ask(method, path, headers, body.clone()).await
        {
            return check(answer);
        }
        *connection = None;
        let mut new = Connection::connect(self.address, &self.token, self.tls.clone()).await?;
        let answer = new.ask(method, path, headers, body).await?;
        *connection = Some(new);
        check(answer)
    }
}

/// Some of a list.
#[derive(Deserialize)]
struct Page {
    items: Vec<Status>,
    #[serde(default)]
    next: Option<String>,
}

fn check(answer: Response) -> Result<Response, RestError> {
    if (200..300).contains(&answer.status) { Ok(answer) } else { Err(refused(&answer)) }
}

fn refused(answer: &Response) -> RestError {
    let json = answer.json();
    let detail = json["detail"].as_str().unwrap_or("an answer that means nothing");
    RestError::Refused { status: answer.status, detail: detail.to_owned() }
}
