//! Traces over real sockets between sixteen emulated hosts, by `covey testbed`. All need root, ip
//! and tc. The short ones replay every tenth coflow, about 2 GB for each contender.

use std::process::Command;

use clap::Args;

use crate::Result;
use crate::input::Trace;
use crate::program::{Covey, output, run};
use crate::results::{Comparison, Summary};
use crate::table::{Table, code};

/// Replay the whole trace over real sockets between emulated hosts
#[derive(Args)]
pub struct Whole {
    #[command(flatten)]
    trace: Trace,
}

impl Whole {
    /// Makes the measurement.
    pub fn run(self) -> Result {
        run(&mut Covey::find()?.command(["testbed", &self.trace.path]))
    }
}

/// A command that replays every tenth coflow, with times multiplied by `time`. Sizes are divided by
/// 64, for the Facebook trace; those of generated traces, which are larger, by 1600.
fn short(covey: &Covey, trace: &Trace, policies: &str, time: &str) -> Command {
    let size = if trace.is_generated() { "1/1600" } else { "1/64" };
    let mut command =
        covey.command(["testbed", &trace.path, "--every", "10", "--policies", policies]);
    command.args(["--size", size, "--time", time]);
    command
}

/// Replay a short trace between emulated hosts; fails if bytes arrive changed, if Covey's policies
/// are not faster than TCP alone, if their order is not the simulator's, or if a part of the
/// testbed remains
#[derive(Args)]
pub struct Short {
    #[command(flatten)]
    trace: Trace,
    /// The contenders
    #[arg(long, env = "POLICIES", default_value = "tcp,aalo,philae,covey")]
    policies: String,
}

impl Short {
    /// Makes the measurement.
    pub fn run(self) -> Result {
        let covey = Covey::find()?;
        run(&mut Command::new("uptime"))?;
        let found = output(short(&covey, &self.trace, &self.policies, "1/330").arg("--json"))?;
        let contenders = contenders(serde_json::from_str(&found)?)?;
        let tcp = contenders.iter().find(|it| it.name == "tcp").ok_or("tcp is not a contender")?;
        let mut table = Table::new(
            1,
            ["contender", "mean CCT, s", "simulated, s", "ratio", "times faster than tcp"],
        );
        for it in &contenders {
            table.row([
                code(&it.name),
                format!("{:.2}", it.mean_s),
                format!("{:.2}", it.simulated_s),
                format!("{:.2}", it.mean_s / it.simulated_s),
                format!("{:.2}", tcp.mean_s / it.mean_s),
            ]);
        }
        print!("{table}");
        check_order(&contenders)?;
        let left = output(Command::new("ip").args(["netns", "list"]))?;
        let left: Vec<&str> = left.lines().filter(|line| line.starts_with("covey-tb-")).collect();
        if left.is_empty() {
            return Ok(());
        }
        Err(format!("the testbed has left namespaces behind: {}", left.join(", ")).into())
    }
}

/// A contender, with its mean CCT on the testbed and in the simulator, in seconds.
#[derive(Debug, PartialEq)]
struct Contender {
    name: String,
    mean_s: f64,
    simulated_s: f64,
}

/// The contenders: each has a result, and after it one whose name ends with `(simulated)`.
fn contenders(comparison: Comparison) -> Result<Vec<Contender>> {
    let pair = |pair: &[Summary]| match pair {
        [real, simulated] if simulated.label == format!("{} (simulated)", real.label) => {
            Ok(Contender {
                name: real.label.clone(),
                mean_s: real.cct_s.mean,
                simulated_s: simulated.cct_s.mean,
            })
        }
        _ => Err("a result of the testbed is not followed by that of the simulator".into()),
    };
    comparison.results.chunks(2).map(pair).collect()
}

/// Checks that the contenders are in the same order on the testbed as in the simulator, and that
/// tcp is the last.
fn check_order(contenders: &[Contender]) -> Result {
    let order = |mean_s: fn(&Contender) -> f64| {
        let mut sorted: Vec<&Contender> = contenders.iter().collect();
        sorted.sort_by(|a, b| mean_s(a).total_cmp(&mean_s(b)));
        sorted.iter().map(|it| it.name.as_str()).collect::<Vec<_>>()
    };
    let (found, simulated) = (order(|it| it.mean_s), order(|it| it.simulated_s));
    let last = found.last().copied().unwrap_or_default();
    if found != simulated {
        let (found, simulated) = (found.join(", "), simulated.join(", "));
        return Err(format!("the order is {found}, the simulator's {simulated}").into());
    }
    if last == "tcp" { Ok(()) } else { Err(format!("{last} is not faster than tcp").into()) }
}

/// Replay a short trace while parts break: the coordinator is killed for ten seconds, an agent for
/// two, and a link carries nothing for five; in a second run a host dies for good. Fails if bytes
/// that could be delivered do not arrive, or arrive changed
#[derive(Args)]
pub struct Faults {
    #[command(flatten)]
    trace: Trace,
    /// The policies
    #[arg(long, env = "POLICIES", default_value = "philae")]
    policies: String,
}

impl Faults {
    /// Makes the measurement.
    pub fn run(self) -> Result {
        let covey = Covey::find()?;
        let replay = |faults: &[&str]| {
            let mut command = short(&covey, &self.trace, &self.policies, "1/330");
            run(command.args(faults.iter().flat_map(|fault| ["--fault", fault])))
        };
        replay(&["coordinator@4s+10s", "agent:3@2s+2s", "link:6@8s+5s"])?;
        replay(&["host:9@5s"])
    }
}

/// Replay flows that compress to 48 %; fails if FVDF's mean CCT is not 1.4 times better than
/// SEBF's, or if its bytes on the wire are more than 55 % of the flows'
#[derive(Args)]
pub struct Codec {
    #[command(flatten)]
    trace: Trace,
}

impl Codec {
    /// Makes the measurement.
    pub fn run(self) -> Result {
        let covey = Covey::find()?;
        run(&mut Command::new("uptime"))?;
        let mut command = short(&covey, &self.trace, "sebf,fvdf", "1/80");
        let text = output(command.args(["--ratio", "0.48"]))?;
        print!("{text}");
        let sebf = OnTheWire::find(&text, "sebf")?;
        let fvdf = OnTheWire::find(&text, "fvdf")?;
        let (better, percent) = (sebf.mean_s / fvdf.mean_s, fvdf.percent);
        let result = format!(
            "fvdf is {better:.2} times better than sebf, with {percent:.1} % of the bytes on the wire"
        );
        if better < 1.4 || percent > 55.0 {
            return Err(result.into());
        }
        println!("\n{result}");
        Ok(())
    }
}

/// What the testbed prints of a contender whose flows compress: its mean CCT in seconds, and the
/// bytes on the wire in percent of those of the flows.
#[derive(Debug, PartialEq)]
struct OnTheWire {
    mean_s: f64,
    percent: f64,
}

impl OnTheWire {
    fn find(text: &str, name: &str) -> Result<Self> {
        let read = |line: &str| {
            let words: Vec<&str> =
                line.strip_suffix(" % on the wire")?.split_whitespace().collect();
            let is_it = words.first() == Some(&name);
            let [mean_s, percent] = [words.get(1)?, words.last()?].map(|word| word.parse().ok());
            Some(Self { mean_s: mean_s?, percent: percent? }).filter(|_| is_it)
        };
        let found = text.lines().find_map(read);
        Ok(found
            .ok_or_else(|| format!("the testbed has printed no bytes on the wire of {name}"))?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contender(name: &str, mean_s: f64, simulated_s: f64) -> Contender {
        Contender { name: name.to_owned(), mean_s, simulated_s }
    }

    #[test]
    fn results_are_in_pairs() -> Result {
        let result = |label: &str, mean: f64| {
            let rest = r#""ports": 16, "coflows": 53, "flows": 2000, "wall_s": 9.5"#;
            format!(r#"{{"label": "{label}", "cct_s": {{"mean": {mean}, "p50": 1}}, {rest}}}"#)
        };
        let results = [result("tcp", 2.5), result("tcp (simulated)", 2.0)].join(", ");
        let comparison = serde_json::from_str(&format!(r#"{{"results": [{results}]}}"#))?;
        assert_eq!(contenders(comparison)?, [contender("tcp", 2.5, 2.0)]);
        let alone = format!(r#"{{"results": [{}]}}"#, result("tcp", 2.5));
        contenders(serde_json::from_str(&alone)?).expect_err("the simulator's is missing");
        Ok(())
    }

    #[test]
    fn the_order_is_the_simulators_and_tcp_is_last() {
        let covey = || contender("covey", 1.0, 0.5);
        let check = |it: &[Contender]| check_order(it).map_err(|error| error.to_string());
        assert_eq!(check(&[contender("tcp", 2.5, 2.0), covey()]), Ok(()));
        let wrong = check(&[contender("tcp", 0.9, 2.0), covey()]);
        assert_eq!(wrong, Err("the order is tcp, covey, the simulator's covey, tcp".to_owned()));
        let wrong = check(&[contender("tcp", 0.9, 0.4), covey()]);
        assert_eq!(wrong, Err("covey is not faster than tcp".to_owned()));
    }

    #[test]
    fn bytes_on_the_wire_are_read() -> Result {
        let line = "fvdf   0.2920  0.2810   1.04   1.0   0.90  1971322880, all right; 48.8 % on the wire\n";
        let text = format!("contender  measured\n{line}");
        assert_eq!(OnTheWire::find(&text, "fvdf")?, OnTheWire { mean_s: 0.292, percent: 48.8 });
        OnTheWire::find(&text, "sebf").expect_err("there is no sebf");
        Ok(())
    }
}
