//! What a coordinator reports.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::time::Duration;

use covey_api::{
    AgentStatus, Client, ClientError, CoflowState, CoflowStatus, CoordinatorStatus, Endpoint, Page,
    Presence, RelayStatus, UnnamedFlow, Waiting, read_token,
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::failure::Failure;
use crate::live::process::{self, Shown};

/// Maximum time to wait for all answers of the coordinator.
const PATIENCE: Duration = Duration::from_secs(10);

/// Items of a page.
const PAGE: usize = 1000;

/// Where the coordinator is, and what it has to be shown.
pub struct Source {
    address: Endpoint,
    shown: Shown,
}

impl Source {
    /// The coordinator at the address that `--coordinator` says.
    pub fn of(coordinator: &str, shown: Shown) -> Result<Source, Failure> {
        let address = process::endpoint("--coordinator", coordinator)?;
        let source = Source { address, shown };
        source.shown.token()?.ok_or_else(|| source.shown.none(&source.address))?;
        Ok(source)
    }

    /// A connection. The credentials are read each time, because they may have been renewed.
    async fn connect(&self) -> Result<Client, String> {
        let credentials = self.shown.credentials();
        let tls = credentials.has_certificates().then(|| credentials.client()).transpose();
        let tls = tls.map_err(|error| error.to_string())?;
        let token = read_token(&credentials.token_path()).map_err(|error| error.to_string())?;
        let client = Client::connect(self.address.clone(), &token, tls).await;
        client.map_err(|error| match error {
            ClientError::Connect(_, ref why) if why.kind() == ErrorKind::ConnectionRefused => {
                format!(
                    "{error}: no coordinator is there; covey serve starts one, --coordinator names another address"
                )
            }
            _ => error.to_string(),
        })
    }

    /// Asks for something that may change, which needs the right to operate. The answer is an
    /// object.
    pub async fn change<T: DeserializeOwned>(
        &self,
        method: &str,
        path: &str,
    ) -> Result<T, Failure> {
        let other = |error: String| Failure::Other(error);
        let mut client = self.connect().await.map_err(other)?;
        let asked = timeout(PATIENCE, client.ask(method, path, &[], Vec::new())).await;
        let late =
            |_| other(format!("{}: no answer within {} s", self.address, PATIENCE.as_secs()));
        let answer = asked.map_err(late)?.map_err(|error| other(error.to_string()))?;
        let detail = answer.json()["detail"].as_str().unwrap_or("not understood").to_owned();
        match answer.status {
            200 => serde_json::from_slice(&answer.body).map_err(|error| other(error.to_string())),
            401 | 403 | 404 => Err(Failure::Input(format!("{}: {detail}", self.address))),
            _ => Err(other(format!("{}: {detail}", self.address))),
        }
    }

    /// Asks for everything, with at most so many coflows and agents. The error says why there is no
    /// answer.
    pub async fn ask(&self, max: usize) -> Result<Facts, String> {
        let asked = timeout(PATIENCE, self.ask_all(max)).await;
        asked.unwrap_or_else(|_| {
            Err(format!("{}: no answer within {} s", self.address, PATIENCE.as_secs()))
        })
    }

    async fn ask_all(&self, max: usize) -> Result<Facts, String> {
        let mut client = self.connect().await?;
        let ready = client.get("/readyz").await.map_err(|error| error.to_string())?;
        let one = get(&mut client, &self.address, "/v1/coordinator").await?;
        let waiting: Page<Waiting> = list(&mut client, &self.address, "waiting", max).await?;
        Ok(Facts {
            ready: ready.status == 200,
            coordinator: one.and_then(|one| serde_json::from_value(one).ok()),
            coflows: list(&mut client, &self.address, "coflows", max).await?,
            waiting: waiting.items.into_iter().map(|it| (it.coflow, it)).collect(),
            agents: list(&mut client, &self.address, "agents", max).await?,
            relays: list(&mut client, &self.address, "relays", max).await?,
            // Those who look at coflows want to see all flows of one.
            flows: match list(&mut client, &self.address, "flows?why=true", PAGE).await {
                Ok(flows) => flows,
                // An earlier version does not say why.
                Err(_) => list(&mut client, &self.address, "flows", PAGE).await?,
            },
        })
    }
}

/// What the coordinator answers; `None` if an earlier version does not know the path.
async fn get(client: &mut Client, address: &Endpoint, path: &str) -> Result<Option<Value>, String> {
    let answer = client.get(path).await.map_err(|error| error.to_string())?;
    match answer.status {
        200 => Ok(Some(answer.json())),
        404 => Ok(None),
        _ => Err(format!("{address}: {}", String::from_utf8_lossy(&answer.body))),
    }
}

/// At most `max` items of a list. It is empty if an earlier version does not know it.
async fn list<T: DeserializeOwned>(
    client: &mut Client,
    address: &Endpoint,
    name: &str,
    max: usize,
) -> Result<Page<T>, String> {
    let mut all = Page { items: Vec::new(), next: None };
    loop {
        let limit = PAGE.min(max - all.items.len());
        let cursor = all.next.map_or_else(String::new, |next| format!("&cursor={next}"));
        let joint = if name.contains('?') { '&' } else { '?' };
        let path = format!("/v1/{name}{joint}limit={limit}{cursor}");
        let Some(page) = get(client, address, &path).await? else {
            return Ok(Page { items: Vec::new(), next: None });
        };
        let page: Page<T> =
            serde_json::from_value(page).map_err(|error| format!("{address}: {path}: {error}"))?;
        all.items.extend(page.items);
        all.next = page.next;
        if all.next.is_none() || all.items.len() >= max {
            return Ok(all);
        }
    }
}

/// What a coordinator reports. An earlier version does not report all of it.
pub struct Facts {
    pub ready: bool,
    pub coordinator: Option<CoordinatorStatus>,
    pub coflows: Page<CoflowStatus>,
    /// Coflows without a rate, by number.
    pub waiting: BTreeMap<u64, Waiting>,
    pub agents: Page<AgentStatus>,
    pub relays: Page<RelayStatus>,
    pub flows: Page<UnnamedFlow>,
}

/// How a coflow does, those first that need somebody.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Standing {
    Stalled,
    Idle,
    Waiting,
    Active,
}

impl Standing {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Standing::Stalled => "stalled",
            Standing::Idle => "idle",
            Standing::Waiting => "waiting",
            Standing::Active => "active",
        }
    }
}

impl Facts {
    /// How a coflow does.
    pub fn standing(&self, coflow: &CoflowStatus) -> Standing {
        match coflow.state {
            CoflowState::Stalled => Standing::Stalled,
            _ if coflow.idle_why.is_some() => Standing::Idle,
            _ if self.waiting.contains_key(&coflow.id) => Standing::Waiting,
            _ => Standing::Active,
        }
    }

    /// Agents that are not there, or have not been heard for long, first; then by port.
    pub fn agents_by_trouble(&self) -> Vec<&AgentStatus> {
        let heartbeat_s = self.coordinator.as_ref().map_or(f64::INFINITY, |it| it.heartbeat_s);
        let is_late = |it: &AgentStatus| {
            let late = |s: Option<f64>| s.is_some_and(|s| s > 2.0 * heartbeat_s);
            late(it.heard_s) || late(it.unapplied_s)
        };
        let rank = |it: &AgentStatus| match it.state {
            Presence::Lost if it.heard_s.is_some() => 0,
            Presence::Awaited if it.heard_s.is_some() => 1,
            Presence::Joined if is_late(it) => 2,
            Presence::Lost | Presence::Awaited => 3,
            Presence::Joined => 4,
        };
        let mut agents: Vec<&AgentStatus> = self.agents.items.iter().collect();
        agents.sort_by_key(|it| (rank(it), it.port));
        agents
    }

    /// All of it as JSON.
    pub fn json(&self) -> Value {
        json!({
            "ready": self.ready,
            "coordinator": self.coordinator,
            "coflows": self.coflows.items,
            "waiting": self.waiting.values().collect::<Vec<_>>(),
            "agents": self.agents.items,
            "relays": self.relays.items,
            "flows": self.flows.items,
        })
    }
}
