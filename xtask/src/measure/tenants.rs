//! What isolation of tenants costs and gives. Of the coflows of a trace, in order of arrival, every
//! other one belongs to `honest` and the others to `hostile`. As long as it is not hostile, that
//! tenant has the coflows of the trace. When it is, it deals the flows of each of its coflows out
//! to fifty coflows, and registers twenty coflows of a kilobyte before each.

use std::fs;

use clap::Args;
use clap::builder::FalseyValueParser;
use serde_json::{Value, json};

use crate::Result;
use crate::input::{Trace, specs};
use crate::program::{Covey, progress};
use crate::results::Summary;
use crate::scratch::Scratch;
use crate::table::{Table, code};

/// Coflows that a hostile tenant makes of one.
const PARTS: usize = 50;
/// Coflows of a kilobyte that it registers before.
const TINY: usize = 20;
const TINY_BYTES: u64 = 1000;
const NAMES: [&str; 2] = ["honest", "hostile"];
const WEIGHTS: &str = "honest=1,hostile=1";
/// Numbers of tenants to whom `--deal` deals coflows.
const DEALT: [usize; 2] = [2, 5];

/// Measure what isolation of tenants costs and gives
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    trace: Trace,
    /// The policies
    #[arg(long, env = "POLICIES", default_value = "covey,sebf,aalo,philae,fair")]
    policies: String,
    /// Use only so many coflows, the first ones [default: all]
    #[arg(long, value_name = "COUNT", conflicts_with_all = ["deal", "every"])]
    coflows: Option<usize>,
    /// Measure the price alone: deal coflows to two and to five tenants, of whom none is hostile
    #[arg(long, env = "DEAL", value_parser = FalseyValueParser::new())]
    deal: bool,
    /// With --deal: use the first coflow and every N-th after it
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u32).range(1..))]
    every: u32,
}

impl Arguments {
    /// Makes the measurement.
    pub fn run(self) -> Result {
        let bench = Bench { covey: Covey::find()?, scratch: Scratch::new()? };
        let policies = specs(&self.policies);
        let (ports, mut coflows) = bench.read(&self.trace.path)?;
        if self.deal {
            let sample: Vec<Value> = coflows.into_iter().step_by(self.every as usize).collect();
            return bench.deal(&bench.write("sample", ports, &sample)?, &policies);
        }
        coflows.truncate(self.coflows.unwrap_or(usize::MAX));
        bench.isolation(ports, &coflows, &policies)
    }
}

struct Bench {
    covey: Covey,
    scratch: Scratch,
}

impl Bench {
    /// Reads a trace: its ports, and its coflows in order of arrival, each with its tenant.
    fn read(&self, trace: &str) -> Result<(u64, Vec<Value>)> {
        let text = self.covey.run(["trace", "convert", trace, "-"])?.output;
        let mut lines = text.lines().map(serde_json::from_str::<Value>);
        let ports = lines.next().ok_or("the trace is empty")??["ports"].as_u64();
        let mut coflows = lines.collect::<Result<Vec<_>, _>>()?;
        let arrival_s = |coflow: &Value| coflow["arrival_s"].as_f64().unwrap_or_default();
        coflows.sort_by(|a, b| arrival_s(a).total_cmp(&arrival_s(b)));
        for (k, coflow) in coflows.iter_mut().enumerate() {
            coflow["tenant"] = NAMES[k % NAMES.len()].into();
        }
        Ok((ports.ok_or("the trace has no ports")?, coflows))
    }

    /// Writes a trace; returns its path.
    fn write(&self, name: &str, ports: u64, coflows: &[Value]) -> Result<String> {
        let header = json!({"covey_trace": 1, "ports": ports});
        let lines = [&header].into_iter().chain(coflows).map(|line| format!("{line}\n"));
        let file = self.scratch.path(&format!("{name}.jsonl"))?;
        fs::write(&file, lines.collect::<String>())?;
        Ok(file)
    }

    /// Simulates a policy on a trace, with more options.
    fn means(&self, trace: &str, policy: &str, more: &[&str]) -> Result<Means> {
        Ok(Means::of(&self.covey.simulate(trace, policy, more)?.json()?))
    }

    /// Prints the mean CCT of all coflows of a trace without tenants, and with each number of
    /// tenants of equal weights.
    fn deal(&self, sample: &str, policies: &[String]) -> Result {
        let mut dealt = Vec::new();
        for number in DEALT {
            let file = self.scratch.path(&format!("{number}.jsonl"))?;
            let weights: Vec<String> = (0..number).map(|k| format!("t{k}=1")).collect();
            let weights = weights.join(",");
            let drawn = format!("tenants --shares {weights} --by coflow --seed 1");
            self.covey.transform(sample, &drawn, &file)?;
            dealt.push((file, weights));
        }
        let columns = ["policy", "without tenants"].map(str::to_owned).into_iter();
        let of_number = DEALT.map(|number| [format!("{number} tenants"), "ratio".to_owned()]);
        let mut table = Table::new(1, columns.chain(of_number.into_iter().flatten()));
        for policy in policies {
            let free = self.means(&dealt[0].0, policy, &[])?;
            let mut cells = vec![code(policy), format!("{:.2}", free.all_s)];
            let mut walls_s = vec![free.wall_s];
            for (file, weights) in &dealt {
                let divided = self.means(file, policy, &["--tenants", weights])?;
                cells.push(format!("{:.2}", divided.all_s));
                cells.push(format!("{:.3}", divided.all_s / free.all_s));
                walls_s.push(divided.wall_s);
            }
            table.row(cells);
            took(policy, &walls_s);
        }
        print!("{table}");
        Ok(())
    }

    /// Prints what isolation of two tenants costs, and what it gives the first one when the second
    /// is hostile.
    fn isolation(&self, ports: u64, coflows: &[Value], policies: &[String]) -> Result {
        let of_honest = coflows.iter().filter(|coflow| coflow["tenant"] == NAMES[0]);
        let alone = self.write("alone", ports, &of_honest.cloned().collect::<Vec<_>>())?;
        let both = self.write("both", ports, coflows)?;
        let hostile = self.write("hostile", ports, &turned_hostile(coflows))?;
        let mut price = Table::new(
            1,
            ["policy", "all", "all, divided", "ratio", "first", "divided", "second", "divided"],
        );
        let mut isolation = Table::new(
            1,
            [
                "policy",
                "both honest",
                "hostile",
                "its part alone",
                "hostile, divided",
                "over its part",
            ],
        );
        for policy in policies {
            let free = self.means(&both, policy, &[])?;
            let divided = self.means(&both, policy, &["--tenants", WEIGHTS])?;
            let attacked = self.means(&hostile, policy, &[])?;
            let defended = self.means(&hostile, policy, &["--tenants", WEIGHTS])?;
            let half = self.means(&alone, policy, &["--port-rate", "500mbps"])?;
            let row = |values: &[f64]| {
                let cells = values.iter().map(|value| format!("{value:.2}"));
                [code(policy)].into_iter().chain(cells).collect::<Vec<_>>()
            };
            price.row(row(&[
                free.all_s,
                divided.all_s,
                divided.all_s / free.all_s,
                free.honest_s,
                divided.honest_s,
                free.hostile_s,
                divided.hostile_s,
            ]));
            isolation.row(row(&[
                free.honest_s,
                attacked.honest_s,
                half.honest_s,
                defended.honest_s,
                defended.honest_s / half.honest_s,
            ]));
            took(policy, &[free, divided, attacked, defended].map(|it| it.wall_s));
        }
        print!("{price}\n{isolation}");
        Ok(())
    }
}

/// Says how long the simulations of a policy took.
fn took(policy: &str, walls_s: &[f64]) {
    let times: Vec<String> = walls_s.iter().map(|wall_s| format!("{wall_s:.1}")).collect();
    progress(&format!("{policy}: {} s", times.join(" ")));
}

/// Mean CCTs of all coflows and of each tenant, and how long the simulation took, in seconds.
struct Means {
    all_s: f64,
    /// NaN if that tenant has no coflow, and the same of the next.
    honest_s: f64,
    hostile_s: f64,
    wall_s: f64,
}

impl Means {
    fn of(summary: &Summary) -> Self {
        let [honest_s, hostile_s] = NAMES.map(|name| {
            let found = summary.tenants.iter().find(|tenant| tenant.tenant == name);
            found.map_or(f64::NAN, |tenant| tenant.mean_cct_s)
        });
        Self { all_s: summary.cct_s.mean, honest_s, hostile_s, wall_s: summary.wall_s }
    }
}

/// The coflows, when the second tenant is hostile.
fn turned_hostile(coflows: &[Value]) -> Vec<Value> {
    let mut turned = Vec::new();
    for coflow in coflows {
        let flows = match coflow["flows"].as_array() {
            Some(flows) if coflow["tenant"] == NAMES[1] && !flows.is_empty() => flows,
            _ => {
                turned.push(coflow.clone());
                continue;
            }
        };
        let mut add = |number: String, flows: Vec<Value>| {
            let mut part = coflow.clone();
            part["id"] = format!("{}.{number}", coflow["id"].as_str().unwrap_or_default()).into();
            part["flows"] = flows.into();
            turned.push(part);
        };
        for k in 0..TINY {
            let mut flow = flows[k % flows.len()].clone();
            flow["bytes"] = TINY_BYTES.into();
            add(format!("tiny{k}"), vec![flow]);
        }
        for k in 0..PARTS.min(flows.len()) {
            add(k.to_string(), flows.iter().skip(k).step_by(PARTS).cloned().collect());
        }
    }
    turned
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hostile_tenant_deals_its_flows_out() {
        let flows: Vec<Value> = (0..51).map(|src| json!({"src": src, "bytes": 7})).collect();
        let coflow = |tenant| json!({"id": "a", "tenant": tenant, "flows": flows});
        let turned = turned_hostile(&[coflow("honest"), coflow("hostile")]);
        assert_eq!(turned.len(), 1 + TINY + PARTS);
        assert_eq!(turned[0], coflow("honest"));
        let tiny = json!([{"src": 1, "bytes": 1000}]);
        assert_eq!(turned[2], json!({"id": "a.tiny1", "tenant": "hostile", "flows": tiny}));
        let first = json!([{"src": 0, "bytes": 7}, {"src": 50, "bytes": 7}]);
        assert_eq!(turned[21], json!({"id": "a.0", "tenant": "hostile", "flows": first}));
    }
}
