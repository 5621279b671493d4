//! `covey testbed`: a trace over real sockets between emulated hosts.

mod emulated;
mod network;
mod part;
mod replaying;
mod tables;

use clap::Args;
use covey_core::Codec;
use covey_core::suggest::{did_you_mean, nearest};
use covey_experiment::{Contender, Experiment, Progress, Setup, listed};
use covey_proto::CodecName;
use covey_report::{Comparison, Results, Run, RunInfo, write_json};
use covey_reproduce::plan::TCP;
use covey_testbed::{Broken, Fault, Found, Lab, Replay, Scheduler, replay};
use covey_trace::Workload;

pub use self::emulated::Emulated;
use self::network::NetworkOptions;
pub use self::part::Process;
use self::replaying::{CODA, FoldedTrace, scheduler, told, watch_signals};
use self::tables::{Measured, against_predictions, identified, what_became};
use crate::comparison::Outputs;
use crate::failure::Failure;
use crate::invocation;
use crate::output;
use crate::progress::Bar;
use crate::quantity;
use crate::transform::Folding;

/// Replay a trace over real sockets between emulated hosts, with and without Covey
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  covey testbed trace.txt
  covey testbed trace.txt --every 10 --size 1/64 --time 1/330
  covey testbed builtin:fb-like --policies tcp,philae --report testbed.html
  covey testbed trace.txt --policies philae --fault coordinator@5s+10s --fault link:3@8s+5s
  covey testbed trace.txt --policies sebf,fvdf,aalo:compress=zstd --ratio 0.48
  covey testbed trace.txt --policies tcp,coda,coda:labels=true --unmodified
  covey testbed trace.txt --policies tcp,stream --hosts 8 --switch-queues 4 --background 50%
  covey testbed trace.txt --fabric leaf-spine:leaves=4,spines=2,hosts=4 --policies tcp,stream,aalo
Each host is a network namespace on a link of its own behind a switch, which is one too; coordinator
and agents are `covey serve` and `covey agent`. Receivers check every byte. The output sets the simulator's
prediction for the same folded trace beside each result. The simulator's ports, like the
coordinator's, have 0.92 of a link's speed: headers take 0.044, the rest lets queues drain.
`tcp` is TCP without Covey; `fair` predicts it. With `stream` there is neither coordinator nor
agent: receivers decide, senders mark packets, and links serve them by mark.
With faults the output is the fate of coflows and bytes instead, and the command fails if it loses
bytes that could be delivered.
It needs root, `ip` and `tc`. Without root all hosts are on loopback, where no link limits TCP.")]
pub struct Testbed {
    /// A trace file (also in gzip or zstd), - for standard input, or builtin:NAME[:key=value,…]
    trace: String,
    /// The contenders: tcp, and policies, each NAME[:key=value,…]
    #[arg(long, value_name = "LIST", default_value = "tcp,aalo,philae,covey")]
    policies: String,
    /// The baseline, one of the listed contenders [default: the first]
    #[arg(long, value_name = "NAME")]
    baseline: Option<String>,
    #[command(flatten)]
    network: NetworkOptions,
    /// Compressed size of the flows' bytes as a share of their size, like 0.48 [default: 1, not
    /// compressible]
    #[arg(long, value_name = "RATIO")]
    ratio: Option<f64>,
    /// The share of a processor that each host has for compressing, as if each host had a processor
    /// of its own; idle: the idle share of this machine
    #[arg(long, value_name = "SHARE", default_value = "1")]
    cpu: String,
    /// Send by plain sockets that know nothing of Covey: `covey attach` runs on each host, and the
    /// coordinator finds the coflows by itself
    #[arg(long, conflicts_with_all = ["loopback", "ratio", "faults"])]
    unmodified: bool,
    #[command(flatten)]
    folding: Folding,
    /// Break a part during the replay, and repair it later (may be given several times):
    /// coordinator@TIME+TIME, agent:HOST@TIME[+TIME], link:HOST@TIME+TIME or host:HOST@TIME; the
    /// first TIME counts from the first arrival, the second is the duration
    #[arg(long = "fault", value_name = "FAULT", conflicts_with_all = ["json", "report", "per_coflow", "jct_shares"])]
    faults: Vec<Fault>,
    /// Use loopback even as root
    #[arg(long)]
    loopback: bool,
    /// The time after which a contender is stopped
    #[arg(long, value_name = "TIME", default_value = "30min")]
    limit: String,
    #[command(flatten)]
    outputs: Outputs,
}

/// The policy with which the simulator predicts [`TCP`].
const FAIR: &str = "fair";

/// The index of the baseline among the contenders.
fn baseline_index(name: &str, contenders: &[String]) -> Result<usize, Failure> {
    contenders.iter().position(|it| it == name).ok_or_else(|| {
        let meant = did_you_mean(nearest(name, contenders.iter().map(String::as_str)));
        let expected = format!("one of {}", contenders.join(" | "));
        Failure::argument("--baseline", expected, format!("'{name}'{meant}"))
    })
}

impl Testbed {
    /// Runs the command.
    pub fn run(self) -> Result<(), Failure> {
        let limit_s = quantity::time("--limit", &self.limit)?;
        let ratio = self.ratio.unwrap_or(1.0);
        if !(0.02..=1.0).contains(&ratio) {
            return Err(Failure::argument("--ratio", "from 0.02 to 1", ratio));
        }
        let has_share = |share: &f64| (0.0..=1.0).contains(share);
        if self.cpu != "idle" && self.cpu.parse().ok().filter(has_share).is_none() {
            let expected = "idle, or a number from 0 to 1";
            return Err(Failure::argument("--cpu", expected, format!("'{}'", self.cpu)));
        }
        let isolated = Lab::may_isolate() && !self.loopback;
        let network = self.network.check(isolated)?;
        let hosts = network.links.hosts;
        for fault in &self.faults {
            let has_link = isolated || !matches!(fault.what, Broken::Link(_));
            if !has_link || fault.host().is_some_and(|host| host >= hosts) {
                let what = "hosts of the testbed, and links only where they are not on loopback";
                return Err(Failure::argument("--fault", what, format!("{fault:?}")));
            }
        }
        let mut setup = Setup {
            fabric: network.simulated.clone(),
            port_rate: Some(format!("{}bps", network.port_rate * 8.0)),
            ..Setup::default()
        };
        if self.cpu != "idle" {
            setup.cpu.clone_from(&self.cpu);
        }
        let mut contenders = listed(&self.policies)?;
        if !isolated && contenders.iter().any(|it| it == TCP) {
            output::note("on loopback no link limits TCP: tcp is left out");
            contenders.retain(|it| it != TCP);
        }
        contenders.iter().try_for_each(|spec| self.check_queues(spec))?;
        contenders.iter().try_for_each(|spec| self.check_unmodified(spec, isolated))?;
        let baseline = match &self.baseline {
            None => 0,
            Some(name) => baseline_index(&covey_sched::normalized(name), &contenders)?,
        };
        let predicted = predicted(&setup, &contenders, ratio)?;
        if predicted.iter().all(|it| it.codec().is_none()) {
            for (name, is_given) in [("--ratio", ratio < 1.0), ("--cpu", self.cpu != "1")] {
                if is_given {
                    output::note(&format!(
                        "{name} changes nothing: no policy compresses flows (compress=lz4 does)"
                    ));
                }
            }
        }
        let labels = contenders.iter().zip(&predicted);
        let labels = labels.flat_map(|(spec, prediction)| [spec.as_str(), &prediction.label]);
        self.outputs.check(&labels.collect::<Vec<_>>())?;
        let workload = network.place(self.folding.fold(&output::open(&self.trace)?, hosts)?);

        let experiment = Experiment::new(&workload, self.trace.clone(), &setup)?;
        let (runs, coflows) = (contenders.len(), workload.coflows.len());
        let what = format!("coflows ({runs} contenders × {coflows}, simulated and replayed)");
        let bar = Bar::coflows(2 * runs * coflows, &what);
        let simulated = experiment.run(predicted, false, 1, &bar)?;
        let trace = FoldedTrace::write(&workload)?;
        let program = invocation::program();
        let stop = watch_signals()?;
        let lab =
            if isolated { Lab::isolated(network.links, program)? } else { Lab::loopback(hosts) };
        let mut all = Vec::new();
        let mut measured = Vec::new();
        for (spec, prediction) in contenders.iter().zip(simulated) {
            let told = told(spec);
            let found = replay(
                &lab,
                &Replay {
                    workload: &workload,
                    trace: &trace.path,
                    program,
                    scheduler: match scheduler(spec) {
                        Scheduler::Policy(_) if self.unmodified => {
                            let policy = told.as_deref().unwrap_or(spec);
                            Scheduler::Unmodified { policy, told: told.is_some() }
                        }
                        other => other,
                    },
                    port_rate: network.port_rate,
                    background_rate: network.background_rate,
                    limit_s,
                    ratio,
                    cpu: &self.cpu,
                    faults: &self.faults,
                    stop: &stop,
                },
                &|coflows| bar.advance(coflows),
            )?;
            if !self.faults.is_empty() {
                measured.push(Measured { spec: spec.clone(), found });
                continue;
            }
            let run = as_run(&workload, &found, spec, &prediction, &lab)?;
            measured.push(Measured { spec: spec.clone(), found });
            all.extend([run, prediction]);
        }
        drop((lab, bar));
        if !self.faults.is_empty() {
            return what_became(&workload, &self.faults, &measured);
        }
        self.outputs.write_tables(&all, false)?;
        let comparison = self.outputs.complete(Comparison::new(&all, 2 * baseline)?)?;
        let mut results = Results::of(invocation::command(), None);
        results.add(comparison.clone());
        self.outputs.write(&results)?;
        output::print(|out| {
            if self.outputs.shown.json {
                return write_json(&comparison, out);
            }
            write!(out, "{comparison}\n{}", against_predictions(&comparison, &measured))?;
            write!(out, "{}", identified(&workload, &measured))?;
            if isolated {
                return Ok(());
            }
            writeln!(
                out,
                "\nAll hosts were on loopback, paced by their sockets. That shows that schedules are \
                 kept and\nbytes come whole; it does not show contention at links, nor what TCP does \
                 without Covey."
            )
        })
    }
}

impl Testbed {
    /// Checks that the switch has a queue for each priority of a contender.
    fn check_queues(&self, spec: &str) -> Result<(), Failure> {
        let (Scheduler::Receivers(settings), Some(queues)) =
            (scheduler(spec), self.network.switch_queues())
        else {
            return Ok(());
        };
        // The simulator's prediction checks the settings.
        let needed = covey_sched::stream::settings(settings).map_or(0, |it| it.rules.queues());
        if needed <= queues {
            return Ok(());
        }
        let expected = format!("at most {queues} priorities, as --switch-queues {queues} says");
        Err(Failure::argument("--policies", expected, format!("'{spec}' with {needed}")))
    }
}

impl Testbed {
    /// Checks that a contender needs nothing of applications, if these are unmodified.
    fn check_unmodified(&self, spec: &str, isolated: bool) -> Result<(), Failure> {
        if !self.unmodified {
            return Ok(());
        }
        if !isolated {
            let what = "root, which may hold and pace connections of other programs";
            return Err(Failure::argument("--unmodified", what, "another user"));
        }
        match spec.split(':').next() {
            Some(TCP | CODA) => Ok(()),
            _ => {
                let expected = "tcp or coda, which finds coflows by itself";
                Err(Failure::argument("--policies", expected, format!("'{spec}'")))
            }
        }
    }
}

/// The contenders of the simulator's prediction, one for each of `contenders`. Codecs have their
/// measured speed on this machine, and the ratio of the flows' bytes.
fn predicted(setup: &Setup, contenders: &[String], ratio: f64) -> Result<Vec<Contender>, Failure> {
    let mut measured = None;
    let mut all: Vec<Contender> = Vec::new();
    for spec in contenders {
        let mut contender = setup.contender(if spec == TCP { FAIR } else { spec })?;
        if let Some(codec) = contender.codec() {
            let known = codec.name().and_then(CodecName::named).ok_or_else(|| {
                let names: Vec<&str> = CodecName::ALL.iter().map(|codec| codec.name()).collect();
                let expected = format!("policies that compress with {}", names.join(", "));
                Failure::argument("--policies", expected, format!("'{spec}'"))
            })?;
            let measured = measured.get_or_insert_with(covey_codec::measure);
            let speed = measured.iter().find(|it| it.codec == known).map_or(0.0, |it| it.speed);
            contender = contender.compressed_by(Codec { speed, ratio });
        }
        contender.label = format!("{spec} (simulated)");
        all.push(contender);
        Contender::check_differ(&all)?;
    }
    if all.is_empty() {
        return Err(Failure::argument("--policies", "at least one", "none"));
    }
    Ok(all)
}

fn as_run<'a>(
    workload: &'a Workload,
    found: &Found,
    spec: &str,
    prediction: &Run<'_>,
    lab: &Lab,
) -> Result<Run<'a>, Failure> {
    let info = RunInfo {
        policy: if spec == TCP { TCP.to_owned() } else { prediction.info().policy.clone() },
        label: spec.to_owned(),
        fabric: lab.name().to_owned(),
        wall_s: found.wall_s,
        ..prediction.info().clone()
    };
    Ok(Run::new(workload, found.outcome.clone(), info)?)
}

impl From<covey_testbed::TestbedError> for Failure {
    fn from(error: covey_testbed::TestbedError) -> Self {
        if error.is_input() {
            Failure::Input(error.to_string())
        } else {
            Failure::Other(error.to_string())
        }
    }
}
