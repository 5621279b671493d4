//! The coordinator's REST API, as an application uses it.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use covey_api::{
    Client as Connection, ClientError, CoflowSpec, CoflowStatus, CredentialError, Credentials,
    Endpoint, Page, Response, Update,
};
use thiserror::Error;
use tokio_rustls::rustls::ClientConfig;

/// Why the coordinator has not done what it was asked.
#[derive(Debug, Error)]
pub enum RestError {
    /// It cannot be reached.
    #[error("the coordinator does not answer: {0}")]
    Away(#[from] ClientError),
    /// It has not answered in time.
    #[error("the coordinator does not answer within {} s: {}", .1.as_secs_f64(), .0)]
    Late(Endpoint, Duration),
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
    /// The files for TLS, with the coordinator or with other hosts, cannot be used.
    #[error(transparent)]
    Tls(#[from] CredentialError),
}

impl RestError {
    /// Whether the coordinator cannot be heard.
    pub fn is_away(&self) -> bool {
        matches!(self, RestError::Away(_) | RestError::Late(..))
    }

    /// Whether it is not the request's fault: later, or with another credential, it may be done.
    pub fn is_passing(&self) -> bool {
        match self {
            RestError::Refused { status, .. } => {
                matches!(status, 401 | 403 | 408 | 429 | 500..)
            }
            RestError::Answer(_) => true,
            other => other.is_away(),
        }
    }
}

/// A coordinator, and the credential for it.
pub struct Rest {
    address: Endpoint,
    folder: PathBuf,
    token: Mutex<Vec<u8>>,
    tls: Option<Arc<ClientConfig>>,
    /// Maximum time of a call.
    deadline: Duration,
    /// Connections that no call uses at present. Each call has a connection of its own.
    idle: Mutex<Vec<Connection>>,
}

/// Where coflows are registered.
const REGISTER: &str = "/v1/coflows";
/// Maximum number of connections that are kept for later calls.
const MAX_IDLE: usize = 4;
/// Time between two attempts of a call.
const PAUSE: Duration = Duration::from_millis(50);

impl Rest {
    /// The coordinator at `address`, with the `token` of the folder, and TLS if that has a
    /// `ca.pem`.
    ///
    /// # Errors
    /// When the credentials cannot be read.
    pub fn new(address: Endpoint, folder: &Path, deadline: Duration) -> Result<Rest, RestError> {
        let bad = |path: &Path, what: &dyn std::fmt::Display| RestError::Credentials {
            path: path.display().to_string(),
            what: what.to_string(),
        };
        let path = folder.join("token");
        let token = read_token(folder).map_err(|error| bad(&path, &error))?;
        let credentials = Credentials::of(folder);
        let tls = credentials.has_certificates().then(|| credentials.client()).transpose()?;
        let (folder, token, idle) = (folder.to_owned(), Mutex::new(token), Mutex::default());
        Ok(Rest { address, folder, token, tls, deadline, idle })
    }

    /// Whether the coordinator answers and accepts the credential. Reads the credential again
    /// first.
    pub async fn answers(&self) -> bool {
        if let Ok(token) = read_token(&self.folder)
            && token != *lock(&self.token)
        {
            *lock(&self.token) = token;
            lock(&self.idle).clear();
        }
        self.ask("GET", "/v1/coflows?limit=1", &[], String::new()).await.is_ok()
    }

    /// Registers a coflow. Repeated attempts register it once. Returns its id.
    ///
    /// # Errors
    /// When the coordinator is away, or refuses.
    pub async fn register(&self, spec: &CoflowSpec) -> Result<u64, RestError> {
        let mut random = [0; 16];
        // Without random numbers there is no key, and no second attempt.
        let key = getrandom::fill(&mut random)
            .ok()
            .map(|()| random.iter().map(|byte| format!("{byte:02x}")).collect::<String>());
        let headers: Vec<(&str, &str)> =
            key.iter().map(|key| ("idempotency-key", key.as_str())).collect();
        let body = serde_json::to_string(spec).unwrap_or_default();
        let answer = self.ask("POST", REGISTER, &headers, body).await?;
        let id = answer.json()["id"].as_u64();
        id.ok_or_else(|| refused(&answer))
    }

    /// Renews the lease of a coflow for `lease_s` seconds from now on.
    ///
    /// # Errors
    /// When the coordinator is away, or does not know the coflow any more.
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

    /// The status of a coflow.
    ///
    /// # Errors
    /// When the coordinator is away, or does not know the coflow.
    pub async fn status(&self, id: u64) -> Result<CoflowStatus, RestError> {
        let path = format!("/v1/coflows/{id}");
        let answer = self.ask("GET", &path, &[], String::new()).await?;
        Ok(serde_json::from_slice(&answer.body)?)
    }

    /// The coflows that are present, or `all` that the coordinator remembers.
    ///
    /// # Errors
    /// When the coordinator is away, or refuses.
    pub async fn list(&self, all: bool) -> Result<Vec<CoflowStatus>, RestError> {
        let state = if all { "all" } else { "present" };
        let mut coflows = Vec::new();
        let mut path = format!("/v1/coflows?state={state}&limit=1000");
        loop {
            let answer = self.ask("GET", &path, &[], String::new()).await?;
            let page: Page<CoflowStatus> = serde_json::from_slice(&answer.body)?;
            coflows.extend(page.items);
            let Some(next) = page.next else { return Ok(coflows) };
            path = format!("/v1/coflows?state={state}&limit=1000&cursor={next}");
        }
    }

    /// Makes a call within the deadline. If the connection breaks, a call that may be repeated is
    /// tried again.
    async fn ask(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: String,
    ) -> Result<Response, RestError> {
        // Each of these calls takes effect, so none is repeated.
        let is_once =
            method == "PATCH" || (path == REGISTER && method == "POST" && headers.is_empty());
        let asking = async {
            loop {
                match self.ask_once(method, path, headers, body.clone()).await {
                    Ok(answer) => return check(answer),
                    // No coordinator listens.
                    Err(error @ ClientError::Connect(..)) => return Err(error.into()),
                    Err(error) if is_once && !error.is_unsent() => return Err(error.into()),
                    // The coordinator may have closed this connection meanwhile, and the others
                    // with it.
                    Err(_) => lock(&self.idle).clear(),
                }
                tokio::time::sleep(PAUSE).await;
            }
        };
        let answer = tokio::time::timeout(self.deadline, asking).await;
        answer.unwrap_or(Err(RestError::Late(self.address.clone(), self.deadline)))
    }

    async fn ask_once(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: String,
    ) -> Result<Response, ClientError> {
        let open = lock(&self.idle).pop();
        let mut connection = match open {
            Some(open) => open,
            None => {
                let token = lock(&self.token).clone();
                Connection::connect(self.address.clone(), &token, self.tls.clone()).await?
            }
        };
        let answer = connection.ask(method, path, headers, body).await?;
        let mut idle = lock(&self.idle);
        if idle.len() < MAX_IDLE {
            idle.push(connection);
        }
        Ok(answer)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn read_token(folder: &Path) -> std::io::Result<Vec<u8>> {
    Ok(std::fs::read(folder.join("token"))?.trim_ascii().to_vec())
}

fn check(answer: Response) -> Result<Response, RestError> {
    if (200..300).contains(&answer.status) { Ok(answer) } else { Err(refused(&answer)) }
}

fn refused(answer: &Response) -> RestError {
    let json = answer.json();
    let detail = json["detail"].as_str().unwrap_or("an answer that means nothing");
    RestError::Refused { status: answer.status, detail: detail.to_owned() }
}
