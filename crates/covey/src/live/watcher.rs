//! A process of the testbed that watches which coflows a coordinator finds.

use std::collections::BTreeMap;
use std::io::Write;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use covey_api::{Client, Credentials, read_token};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::failure::Failure;
use crate::live::process;

/// Time between two looks.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// Flows or agents of a page.
const PAGE: u32 = 1000;

/// A process that prints which flows a coordinator has put into which coflows
#[derive(Debug, Args)]
pub struct Watcher {
    /// Number of agents to wait for
    #[arg(long)]
    agents: usize,
    /// Address of the coordinator for clients
    #[arg(long)]
    coordinator: SocketAddr,
    /// The coordinator's credentials
    #[arg(long)]
    credentials: PathBuf,
}

impl Watcher {
    /// Prints `ready` when all agents have joined, and then `found FROM COFLOW` of flows that are
    /// put into a coflow, or into another. Tells the coordinator what standard input says: `belongs
    /// FROM TO COMMUNITY`.
    pub fn run(self) -> Result<(), Failure> {
        process::runtime_here()?.block_on(self.watch())
    }

    async fn watch(self) -> Result<(), Failure> {
        let other = |error: &dyn std::fmt::Display| Failure::Other(error.to_string());
        let credentials = Credentials::of(&self.credentials);
        let tls = credentials.has_certificates().then(|| credentials.client()).transpose()?;
        let token = read_token(&credentials.token_path())?;
        let connected = Client::connect(self.coordinator, &token, tls.clone()).await;
        let mut client = connected.map_err(|error| other(&error))?;
        let connected = Client::connect(self.coordinator, &token, tls).await;
        let told = tokio::spawn(tell(connected.map_err(|error| other(&error))?));
        loop {
            let agents = all(&mut client, "agents").await?;
            if agents.iter().filter(|agent| agent["state"] == "joined").count() >= self.agents {
                break;
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
        say("ready")?;
        let mut known = BTreeMap::new();
        while !told.is_finished() {
            let mut now = BTreeMap::new();
            for flow in all(&mut client, "flows").await? {
                let (Some(from), Some(found)) = (flow["from"].as_str(), flow["found"].as_u64())
                else {
                    continue;
                };
                if known.get(from) != Some(&found) {
                    say(&format!("found {from} {found}"))?;
                }
                now.insert(from.to_owned(), found);
            }
            known = now;
            tokio::time::sleep(LOOK_EVERY).await;
        }
        told.await.map_err(|error| other(&error))?
    }
}

/// Tells the coordinator of the communities of flows, until standard input ends.
async fn tell(mut client: Client) -> Result<(), Failure> {
    let failed = |what: String| Failure::Other(format!("the community of a flow: {what}"));
    let (sender, mut lines) = mpsc::unbounded_channel();
    std::thread::spawn(move || std::io::stdin().lines().try_for_each(|line| sender.send(line)));
    while let Some(line) = lines.recv().await {
        // A coflow's flows begin together.
        let mut told: BTreeMap<u32, Vec<Value>> = BTreeMap::new();
        let mut next = Some(line);
        while let Some(line) = next {
            let line = line.map_err(|error| failed(error.to_string()))?;
            let words: Vec<&str> = line.split_whitespace().collect();
            let community = words.get(3).and_then(|word| word.parse().ok());
            let (["belongs", from, to, _], Some(community)) = (&words[..], community) else {
                return Err(failed(line));
            };
            told.entry(community).or_default().push(json!({ "from": from, "to": to }));
            next = lines.try_recv().ok();
        }
        for (community, flows) in told {
            let body = json!({ "community": community, "flows": flows }).to_string();
            let answer = client.ask("POST", "/v1/flows/community", &[], body).await;
            let answer = answer.map_err(|error| failed(error.to_string()))?;
            if answer.status != 204 {
                return Err(failed(format!("status {}: {}", answer.status, answer.json())));
            }
        }
    }
    Ok(())
}

fn say(line: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    let said = writeln!(out, "{line}").and_then(|()| out.flush());
    said.map_err(|error| Failure::Other(format!("standard output: {error}")))
}

/// All agents or flows.
async fn all(client: &mut Client, what: &str) -> Result<Vec<Value>, Failure> {
    let (mut all, mut cursor) = (Vec::new(), String::new());
    loop {
        let path = format!("/v1/{what}?limit={PAGE}{cursor}");
        let answer = client.get(&path).await;
        let mut page = answer.map_err(|error| Failure::Other(error.to_string()))?.json();
        if let Some(items) = page["items"].as_array_mut() {
            all.append(items);
        }
        match page["next"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return Ok(all),
        }
    }
}
