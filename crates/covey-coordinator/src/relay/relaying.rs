//! A relay that listens.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use covey_api::Credentials;
use covey_proto::Refusal;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio_rustls::{TlsAcceptor, TlsConnector};

use super::agents;
use super::config::{RelayConfig, RelayError};
use super::uplink::{Uplink, UplinkEnd, join};
use crate::connections::{Admission, Stop, accept};
use crate::server::Authority;

/// The time before the second attempt to join; it doubles with each failure.
const FIRST_WAIT: Duration = Duration::from_millis(50);

/// The most time between two attempts.
const MAX_WAIT: Duration = Duration::from_millis(800);

/// A relay that listens.
pub struct Relay {
    config: RelayConfig,
    listener: TcpListener,
    admission: Arc<Admission>,
    /// For the connection to the coordinator, to which the relay shows an agent's certificate.
    tls: Option<TlsConnector>,
}

impl Relay {
    /// Reads the credentials and begins to listen. To be called in a runtime.
    ///
    /// # Errors
    /// When it cannot start.
    pub async fn start(config: RelayConfig) -> Result<Relay, RelayError> {
        let credentials = Credentials::of(&config.folder);
        let (admission, tls) = match credentials.has_certificates() {
            true => {
                let below = TlsAcceptor::from(Authority::of(&config.folder).for_relayed_agents()?);
                let above = TlsConnector::from(credentials.agent()?);
                (Admission { tls: Some(below), token: Vec::new() }, Some(above))
            }
            false => {
                for address in [config.listen, config.coordinator] {
                    if !address.ip().is_loopback() {
                        return Err(RelayError::Public(address));
                    }
                }
                let token = covey_api::read_token(&credentials.token_path())?;
                (Admission { tls: None, token }, None)
            }
        };
        let listener = TcpListener::bind(config.listen)
            .await
            .map_err(|source| RelayError::Io { what: config.listen.to_string(), source })?;
        Ok(Relay { config, listener, admission: Arc::new(admission), tls })
    }

    /// Where agents can connect.
    ///
    /// # Errors
    /// When the system does not tell.
    pub fn address(&self) -> std::io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Relays until `stop` resolves.
    ///
    /// # Errors
    /// When the coordinator refuses the relay for good.
    pub async fn run(self, stop: impl Future<Output = ()>) -> Result<(), RelayError> {
        let Relay { config, listener, admission, tls } = self;
        let (uplinks, uplink) = watch::channel(None);
        let (_stopper, stop_all) = watch::channel(false);
        let (serving, max) = (admission.clone(), config.max_agents);
        let serve = move |stream, peer, _| run(serving.clone(), uplink.clone(), stream, peer);
        let full = || tracing::warn!("a connection above --max-agents was closed");
        let accepting = accept(listener, max, full, Stop(stop_all), serve);
        tokio::select! {
            () = accepting => Ok(()),
            refused = keep_joined(&config, tls.as_ref(), &admission.token, &uplinks) => Err(refused),
            () = stop => Ok(()),
        }
    }
}

/// Joins the coordinator, again and again, and tells which connection there is.
async fn keep_joined(
    config: &RelayConfig,
    tls: Option<&TlsConnector>,
    token: &[u8],
    uplinks: &watch::Sender<Option<Arc<Uplink>>>,
) -> RelayError {
    let coordinator = config.coordinator;
    let mut wait = FIRST_WAIT;
    loop {
        let (over, agents) = match join(coordinator, tls, token).await {
            Ok(joined) => {
                wait = FIRST_WAIT;
                uplinks.send_replace(Some(joined.uplink.clone()));
                let over = joined.serve().await;
                uplinks.send_replace(None);
                over
            }
            Err(over) => (over, 0),
        };
        match over {
            UplinkEnd::Refused(refusal) => {
                if let Some(why) = for_good(refusal) {
                    return RelayError::Refused(coordinator, why);
                }
                tracing::warn!(%coordinator, ?refusal, "the coordinator refuses this relay");
            }
            UplinkEnd::Broken(error) => {
                tracing::warn!(%coordinator, %error, agents, "not connected to the coordinator");
            }
        }
        tokio::time::sleep(wait).await;
        wait = MAX_WAIT.min(2 * wait);
    }
}

fn for_good(refusal: Refusal) -> Option<&'static str> {
    match refusal {
        Refusal::Version => Some("it speaks another version"),
        Refusal::Credential => Some("the credential is wrong"),
        Refusal::Port | Refusal::Order | Refusal::Replaced | Refusal::Full => None,
    }
}

/// Serves the connection of an agent while the coordinator is there. Without it the connection is closed: the agent
/// tries again later, or elsewhere.
async fn run(
    admission: Arc<Admission>,
    uplink: watch::Receiver<Option<Arc<Uplink>>>,
    stream: TcpStream,
    peer: SocketAddr,
) {
    let Some(uplink) = uplink.borrow().clone() else { return };
    let mut over = uplink.over();
    let served = tokio::select! {
        served = agents::serve(&admission, &uplink, stream, peer) => served,
        () = over.asked() => Ok(()),
    };
    if let Err(error) = served {
        tracing::debug!(%peer, %error, "connection of an agent ended");
    }
}
