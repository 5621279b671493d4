//! A relay that listens.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use covey_api::{AgentTls, Credentials};
use covey_door::{Door, Guest};
use covey_proto::Refusal;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, watch};

use super::config::{RelayConfig, RelayError};
use super::uplink::{Uplink, UplinkEnd, join};
use super::{agents, probes};
use crate::connections::{Admission, Http, PROBES, Stop, accept, bind};
use covey_credentials::Tokens;
use covey_credentials::Watched;
use covey_credentials::{Listener, LiveTls};

/// The time before the second attempt to join; it doubles with each failure.
const FIRST_WAIT: Duration = Duration::from_millis(50);

/// The most time between two attempts.
const MAX_WAIT: Duration = Duration::from_millis(800);

/// A relay that listens.
pub struct Relay {
    config: RelayConfig,
    listener: TcpListener,
    health: Option<TcpListener>,
    live: Arc<LiveTls>,
    /// What is read again when it changes.
    watched: Watched,
    admission: Arc<Admission>,
    /// For the connection to the coordinator, to which the relay shows an agent's certificate.
    tls: Option<Arc<AgentTls>>,
}

impl Relay {
    /// Reads the credentials and begins to listen. To be called in a runtime.
    ///
    /// # Errors
    /// When it cannot start.
    pub async fn start(config: RelayConfig) -> Result<Relay, RelayError> {
        let credentials = Credentials::of(&config.folder);
        let live = LiveTls::start(&credentials, Listener::Relay)?;
        let tls = match live.is_used() {
            true => Some(AgentTls::start(credentials.clone())?),
            false => {
                let addresses = [config.listen].into_iter().chain(config.health);
                let mut others = addresses.filter(|address| !address.ip().is_loopback());
                let other = others.next().map(|address| address.to_string());
                let above = &config.coordinator;
                let above = (!above.is_loopback()).then(|| above.to_string());
                if let Some(address) = other.or(above) {
                    return Err(RelayError::Public(address));
                }
                // Without TLS, the relay shows a token: there must be one.
                covey_api::read_token(&credentials.token_path())?;
                None
            }
        };
        let tokens = Tokens::start(&config.folder)?;
        let admission = Admission { tls: live.for_agents(), tokens: tokens.clone() };
        let listen = |address: SocketAddr| {
            bind(address).map_err(|source| RelayError::Io { what: address.to_string(), source })
        };
        let (listener, health) = (listen(config.listen)?, config.health.map(listen).transpose()?);
        let watched = Watched::of(vec![live.clone(), tokens]);
        let admission = Arc::new(admission);
        Ok(Relay { config, listener, health, live, watched, admission, tls })
    }

    /// Where agents can connect.
    ///
    /// # Errors
    /// When the system does not tell.
    pub fn address(&self) -> std::io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Where probes can connect, if they are to.
    ///
    /// # Errors
    /// When the system does not tell.
    pub fn health_address(&self) -> std::io::Result<Option<SocketAddr>> {
        self.health.as_ref().map(TcpListener::local_addr).transpose()
    }

    /// Relays until `stop` resolves. Reads credentials again when they change, and when `reload`
    /// has a message.
    ///
    /// # Errors
    /// When the coordinator refuses the relay for good.
    pub async fn run(
        self,
        stop: impl Future<Output = ()>,
        reload: mpsc::Receiver<()>,
    ) -> Result<(), RelayError> {
        let Relay { config, listener, health, live, watched, admission, tls } = self;
        let (uplinks, uplink) = watch::channel(None);
        let (_stopper, stop_all) = watch::channel(false);
        let stop_all = Stop(stop_all);
        let (door, probing) = (Door::new("agents", config.limits), Door::new("health", PROBES));
        if let Some(listener) = health {
            let doors = Arc::from([door.clone(), probing.clone()]);
            let tls = live.for_clients();
            let http = Http { router: probes::router(uplink.clone(), doors, live), tls };
            tokio::spawn(http.listen(listener, probing, stop_all.clone()));
        }
        let serving = admission.clone();
        let serve = move |stream, guest, _| run(serving.clone(), uplink.clone(), stream, guest);
        let accepting = accept(listener, door, stop_all, serve);
        tokio::select! {
            () = accepting => Ok(()),
            () = watched.keep(reload) => Ok(()),
            refused = keep_joined(&config, tls.as_deref(), &uplinks) => Err(refused),
            () = stop => Ok(()),
        }
    }
}

/// Joins the coordinator, again and again, and tells which connection there is.
async fn keep_joined(
    config: &RelayConfig,
    tls: Option<&AgentTls>,
    uplinks: &watch::Sender<Option<Arc<Uplink>>>,
) -> RelayError {
    let coordinator = &config.coordinator;
    let path = Credentials::of(&config.folder).token_path();
    let mut wait = FIRST_WAIT;
    loop {
        // The token may have changed since the last attempt. If there is none, the relay shows an
        // empty one, which the coordinator refuses.
        let token = match tls {
            Some(_) => Vec::new(),
            None => covey_api::read_token(&path).unwrap_or_default(),
        };
        let (over, agents) = match join(coordinator, tls, &token).await {
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
                    return RelayError::Refused(coordinator.clone(), why);
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

/// Serves the connection of an agent while the coordinator is there. Without it the connection is
/// closed: the agent tries again later, or elsewhere.
async fn run(
    admission: Arc<Admission>,
    uplink: watch::Receiver<Option<Arc<Uplink>>>,
    stream: TcpStream,
    guest: Arc<Guest>,
) {
    let Some(uplink) = uplink.borrow().clone() else { return };
    let mut over = uplink.over();
    let served = tokio::select! {
        served = agents::serve(&admission, &uplink, stream, &guest) => served,
        () = over.asked() => Ok(()),
    };
    if let Err(error) = served {
        tracing::debug!(%error, "connection of an agent ended");
    }
}
