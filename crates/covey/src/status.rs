//! `covey status`: the state of a coordinator.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use clap::Args;
use covey_api::Client;
use serde_json::Value;
use tokio::time::timeout;

use crate::failure::Failure;
use crate::live::{self, CLIENTS, Shown};
use crate::output;

/// Maximum time to wait for the coordinator's answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// Show the coflows and agents of a coordinator
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  covey status
  covey status --coordinator 10.0.0.1:7420 --credentials covey-client --json")]
pub struct Status {
    /// Address of the coordinator for clients
    #[arg(long, value_name = "ADDRESS", default_value = CLIENTS)]
    coordinator: String,
    #[command(flatten)]
    shown: Shown,
    /// Maximum number of coflows and agents to list
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: u16,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
}

impl Status {
    /// Runs the command.
    pub fn run(self) -> Result<(), Failure> {
        let credentials = self.shown.credentials();
        let tls = credentials.has_certificates().then(|| credentials.client()).transpose()?;
        let token = self.shown.token()?.ok_or_else(|| self.shown.none())?;
        let address = live::endpoint("--coordinator", &self.coordinator)?;
        let limit = self.limit.clamp(1, 1000);
        let asking = async {
            let other = |error: &dyn std::fmt::Display| Failure::Other(error.to_string());
            let mut client = Client::connect(address.clone(), &token, tls)
                .await
                .map_err(|error| other(&error))?;
            let ready = client.get("/readyz").await.map_err(|error| other(&error))?;
            let mut answers = Vec::new();
            for what in ["coflows", "agents", "flows"] {
                // Those who look at coflows want to see all flows of one.
                let limit = if what == "flows" { 1000 } else { limit };
                let path = format!("/v1/{what}?limit={limit}");
                let answer = client.get(&path).await.map_err(|error| other(&error))?;
                if what == "flows" && answer.status == 404 {
                    // A coordinator of an earlier version.
                    answers.push(Value::Null);
                    continue;
                }
                if answer.status != 200 {
                    let text = String::from_utf8_lossy(&answer.body).into_owned();
                    return Err(Failure::Other(format!("{address}: {text}")));
                }
                answers.push(answer.json());
            }
            let flows = answers.pop().unwrap_or_default();
            let agents = answers.pop().unwrap_or_default();
            Ok((ready.status == 200, answers.pop().unwrap_or_default(), agents, flows))
        };
        let asked = live::runtime(1)?.block_on(async { timeout(PATIENCE, asking).await });
        let late =
            |_| Failure::Other(format!("{address}: no answer within {} s", PATIENCE.as_secs()));
        let (ready, coflows, agents, flows) = asked.map_err(late)??;
        output::print(|out| {
            if self.json {
                let all = serde_json::json!({
                    "ready": ready, "coflows": coflows["items"], "agents": agents["items"],
                    "flows": items(&flows),
                });
                return writeln!(out, "{all}");
            }
            writeln!(out, "ready    {}", if ready { "yes" } else { "no" })?;
            writeln!(out, "coflows")?;
            for coflow in items(&coflows) {
                let of = |name: &str| coflow[name].to_string();
                let idle = &coflow["idle_why"];
                let state = match (coflow["state"].as_str().unwrap_or_default(), idle.as_str()) {
                    ("active", Some(_)) => "idle",
                    (state, _) => state,
                };
                writeln!(
                    out,
                    "  {:>8}  {state:8}  {} of {} flows ended, {} bytes sent, {} bytes/s",
                    of("id"),
                    of("flows_ended"),
                    of("flows"),
                    of("bytes_sent"),
                    of("rate"),
                )?;
                if let Some(why) = idle.as_str() {
                    let name = coflow["name"].as_str().map(|name| format!("{name}: "));
                    writeln!(
                        out,
                        "            {}{} of {} flows have given up what they got, for {:.0} s: {}",
                        name.unwrap_or_default(),
                        of("flows_idle"),
                        of("flows"),
                        coflow["idle_s"].as_f64().unwrap_or_default(),
                        meaning(why),
                    )?;
                }
            }
            more(&coflows, out)?;
            writeln!(out, "agents")?;
            for agent in items(&agents) {
                let of = |name: &str| agent[name].to_string();
                let state = agent["state"].as_str().unwrap_or_default();
                writeln!(
                    out,
                    "  {:>8}  {state:8}  {} flows, schedule {} applied {}",
                    of("port"),
                    of("flows"),
                    of("version"),
                    of("applied"),
                )?;
            }
            more(&agents, out)?;
            show_found(&flows, self.limit.into(), out)
        })
    }
}

/// The coflows that were found among flows that no application has named.
fn show_found(flows: &Value, limit: usize, out: &mut dyn std::io::Write) -> std::io::Result<()> {
    let mut found: BTreeMap<u64, Vec<&Value>> = BTreeMap::new();
    for flow in items(flows) {
        if let Some(coflow) = flow["found"].as_u64() {
            found.entry(coflow).or_default().push(flow);
        }
    }
    if found.is_empty() {
        return Ok(());
    }
    writeln!(out, "found")?;
    for (coflow, flows) in found.iter().take(limit) {
        let sum = |name: &str| flows.iter().filter_map(|flow| flow[name].as_f64()).sum::<f64>();
        let hosts = |name: &str| {
            flows.iter().map(|flow| flow[name].to_string()).collect::<BTreeSet<_>>().len()
        };
        writeln!(
            out,
            "  {coflow:>8}  {} flows from {} hosts to {}, {} bytes sent, {} bytes/s",
            flows.len(),
            hosts("src"),
            hosts("dst"),
            sum("bytes_sent"),
            sum("rate"),
        )?;
    }
    if found.len() > limit { writeln!(out, "       …") } else { more(flows, out) }
}

/// Explains why a flow does not use its rate.
fn meaning(why: &str) -> &str {
    match why {
        "idle" => "they sent nothing",
        "unopened" => "no application has opened them",
        "closed" => "their application has ended",
        "expired" => "the lease has run out",
        other => other,
    }
}

fn items(page: &Value) -> &[Value] {
    page["items"].as_array().map_or(&[], Vec::as_slice)
}

fn more(page: &Value, out: &mut dyn std::io::Write) -> std::io::Result<()> {
    if page["next"].is_null() { Ok(()) } else { writeln!(out, "       …") }
}
