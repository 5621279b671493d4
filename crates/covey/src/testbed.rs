//! `covey testbed`: a trace over real sockets between emulated hosts.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::{Args, Subcommand};
use covey_core::Codec;
use covey_core::suggest::{did_you_mean, nearest};
use covey_experiment::{Contender, Experiment, Progress, Setup, listed};
use covey_identify::{Accuracies, accuracy};
use covey_proto::CodecName;
use covey_report::{Comparison, Run, RunInfo, write_json};
use covey_reproduce::plan::{TCP, TestbedNetwork};
use covey_testbed::{
    Broken, Fault, Found, Host, Lab, PAYLOAD, Replay, Scheduler, Scheduling, replay,
};
use covey_trace::{Workload, open};

use crate::comparison::Outputs;
use crate::failure::Failure;
use crate::live;
use crate::output;
use crate::progress::Bar;
use crate::quantity;
use crate::transform::Folding;
use crate::watcher::Watcher;

/// Replay a trace over real sockets between emulated hosts, with and without Covey
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  covey testbed trace.txt
  covey testbed trace.txt --every 10 --size 1/64 --time 1/330
  covey testbed builtin:fb-like --policies tcp,philae --report testbed.html
  covey testbed trace.txt --policies philae --fault coordinator@5s+10s --fault link:3@8s+5s
  covey testbed trace.txt --policies sebf,fvdf,aalo:compress=zstd --ratio 0.48
  covey testbed trace.txt --policies tcp,coda --unmodified
  covey testbed trace.txt --policies tcp,stream --hosts 8 --switch-queues 4 --background 50%
Each host is a network namespace behind a router, on a link of its own; coordinator and agents are
`covey serve` and `covey agent`. Receivers check every byte. The output sets the simulator's
prediction for the same folded trace beside each result. The simulator's ports, like the
coordinator's, have 0.92 of a link's speed: headers take 0.044, the rest lets queues drain.
`tcp` is TCP without Covey; `fair` predicts it. With `stream` there is neither coordinator nor
agent: receivers decide, senders mark packets, and links serve them by mark.
With faults the output is the fate of coflows and bytes instead, and the command fails if it loses
bytes that could be delivered.
It needs root, `ip` and `tc`. Without root all hosts are on loopback, where no link limits TCP.")]
pub struct Testbed {
    /// A trace file (also a gzip one), - for standard input, or builtin:NAME[:key=value,…]
    trace: String,
    /// The contenders: tcp, and policies, each NAME[:key=value,…]
    #[arg(long, value_name = "LIST", default_value = "tcp,aalo,philae,covey")]
    policies: String,
    /// The baseline, one of the listed contenders [default: the first]
    #[arg(long, value_name = "NAME")]
    baseline: Option<String>,
    /// Number of hosts
    #[arg(long, value_name = "N", default_value_t = 16)]
    hosts: u32,
    /// Speed of each host's link, in and out
    #[arg(long, value_name = "RATE", default_value = "100mbps")]
    link: String,
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
    /// Strict queues at the links' ends, as a switch has them, 2 to 8: marked packets go to the queue
    /// of their mark, plain ones to the first [default: a queue for each class selector, plain
    /// packets last]
    #[arg(long, value_name = "N")]
    switch_queues: Option<u32>,
    /// Traffic that belongs to nobody, as a share of each link, like 50%: datagrams at a constant
    /// rate, unmarked
    #[arg(long, value_name = "SHARE", default_value = "0%")]
    background: String,
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

/// A process of the testbed.
#[derive(Debug, Subcommand)]
pub enum Process {
    /// One host
    Host {
        /// Its port in the trace
        #[arg(long)]
        host: u32,
        /// Address at which it accepts flows
        #[arg(long)]
        listen: SocketAddr,
        /// The folded trace
        #[arg(long)]
        trace: PathBuf,
        /// Compressed size of the flows' bytes as a share of their size
        #[arg(long, default_value_t = 1.0)]
        ratio: f64,
        /// The agent's socket
        #[arg(long, requires_all = ["coordinator", "credentials"])]
        agent: Option<PathBuf>,
        /// Address of the coordinator for clients
        #[arg(long)]
        coordinator: Option<SocketAddr>,
        /// The coordinator's credentials
        #[arg(long)]
        credentials: Option<PathBuf>,
        /// Settings of the policy `stream`, if receivers decide
        #[arg(long, conflicts_with = "agent")]
        stream: Option<String>,
    },
    /// The process that watches which coflows a coordinator finds
    Watch(Watcher),
    /// The process that removes the testbed when standard input ends
    Warden,
}

impl Process {
    /// Runs the command.
    pub fn run(self) -> Result<(), Failure> {
        match self {
            Process::Warden => Ok(covey_testbed::warden()?),
            Process::Watch(watcher) => watcher.run(),
            Process::Host {
                host,
                listen,
                trace,
                ratio,
                agent,
                coordinator,
                credentials,
                stream,
            } => {
                let scheduling = match (agent, coordinator, credentials, stream) {
                    (Some(agent), Some(coordinator), Some(credentials), _) => {
                        Some(Scheduling::Coordinator { agent, coordinator, credentials })
                    }
                    (.., Some(settings)) => Some(Scheduling::Receivers(settings)),
                    _ => None,
                };
                let host = Host { trace, host, listen, ratio, scheduling };
                // Many hosts share a machine: one thread each.
                Ok(live::runtime_here()?.block_on(covey_testbed::host(host))?)
            }
        }
    }
}

/// The policy with which the simulator predicts [`TCP`].
const FAIR: &str = "fair";
/// The slowest link, in bytes per second.
const MIN_LINK: f64 = 1e3;

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
        let link = quantity::rate("--link", &self.link)?;
        if link < MIN_LINK {
            return Err(Failure::argument("--link", "8kbps or more", format!("'{}'", self.link)));
        }
        if !(2..=64).contains(&self.hosts) {
            return Err(Failure::argument("--hosts", "from 2 to 64", self.hosts));
        }
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
        for fault in &self.faults {
            let has_link = isolated || !matches!(fault.what, Broken::Link(_));
            if !has_link || fault.host().is_some_and(|host| host >= self.hosts) {
                let what = "hosts of the testbed, and links only where they are not on loopback";
                return Err(Failure::argument("--fault", what, format!("{fault:?}")));
            }
        }
        let background = share("--background", &self.background)?;
        if !isolated && (background > 0.0 || self.switch_queues.is_some()) {
            let what = "hosts on links of their own, which need root";
            return Err(Failure::argument("--background, --switch-queues", what, "loopback"));
        }
        if self.switch_queues.is_some_and(|queues| !(2..=8).contains(&queues)) {
            let found = self.switch_queues.unwrap_or_default();
            return Err(Failure::argument("--switch-queues", "from 2 to 8", found));
        }
        let port_rate = link * (1.0 - background) * PAYLOAD;
        let mut setup =
            Setup { port_rate: Some(format!("{}bps", port_rate * 8.0)), ..Setup::default() };
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
        let labels = contenders.iter().zip(&predicted);
        let labels = labels.flat_map(|(spec, prediction)| [spec.as_str(), &prediction.label]);
        let tables = self.outputs.check(&labels.collect::<Vec<_>>())?;
        let workload = self.folding.fold(&open(&self.trace)?, self.hosts)?;

        let experiment = Experiment::new(&workload, self.trace.clone(), &setup)?;
        let (runs, coflows) = (contenders.len(), workload.coflows.len());
        let what = format!("coflows ({runs} contenders × {coflows}, simulated and replayed)");
        let bar = Bar::coflows(2 * runs * coflows, &what);
        let simulated = experiment.run(predicted, false, 1, &bar)?;
        let trace = FoldedTrace::write(&workload)?;
        let program = program()?;
        let stop = watch_signals()?;
        let lab = if isolated {
            Lab::isolated(self.hosts, link * 8.0, self.switch_queues, &program)?
        } else {
            Lab::loopback(self.hosts)
        };
        let mut all = Vec::new();
        let mut measured = Vec::new();
        for (spec, prediction) in contenders.iter().zip(simulated) {
            let found = replay(
                &lab,
                &Replay {
                    workload: &workload,
                    trace: &trace.path,
                    program: &program,
                    scheduler: match scheduler(spec) {
                        Scheduler::Policy(policy) if self.unmodified => {
                            Scheduler::Unmodified(policy)
                        }
                        other => other,
                    },
                    port_rate,
                    background_rate: link * background,
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
        let comparison = self.outputs.write(Comparison::new(all, 2 * baseline)?, &tables)?;
        output::print(|out| {
            if self.outputs.json {
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
        let (Scheduler::Receivers(settings), Some(queues)) = (scheduler(spec), self.switch_queues)
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

/// Reads a share of a link, less than all of it.
fn share(name: &str, text: &str) -> Result<f64, Failure> {
    let number = match text.strip_suffix('%') {
        Some(percent) => percent.trim().parse::<f64>().map(|percent| percent / 100.0),
        None => text.parse(),
    };
    number.ok().filter(|share| (0.0..=0.9).contains(share)).ok_or_else(|| {
        Failure::argument(name, "from 0% to 90%, like 50% or 0.5", format!("'{text}'"))
    })
}

/// Emulated hosts that run policies one after the other.
pub struct Emulated {
    lab: Lab,
    program: PathBuf,
    port_rate: f64,
    background_rate: f64,
    stop: Arc<AtomicBool>,
}

/// The time after which [`Emulated`] stops a policy.
const LIMIT_S: f64 = 3600.0;

impl Emulated {
    /// Starts hosts on links of `link` bytes per second.
    pub fn start(network: TestbedNetwork, link: f64) -> Result<Emulated, Failure> {
        if !Lab::may_isolate() {
            let what = "root, which may make the hosts' network namespaces";
            return Err(Failure::argument("--testbed", what, "another user"));
        }
        let program = program()?;
        let stop = watch_signals()?;
        let TestbedNetwork { hosts, switch_queues, background } = network;
        let lab = Lab::isolated(hosts, link * 8.0, switch_queues, &program)?;
        let port_rate = link * (1.0 - background) * PAYLOAD;
        Ok(Emulated { lab, program, port_rate, background_rate: link * background, stop })
    }

    /// Replays a workload that is folded to the hosts under a policy or [`TCP`]. Its bytes compress
    /// to `ratio` of their size.
    pub fn replay(
        &self,
        workload: &Workload,
        policy: &str,
        ratio: f64,
        progress: &dyn Fn(usize),
    ) -> Result<Found, Failure> {
        let trace = FoldedTrace::write(workload)?;
        let replayed = Replay {
            workload,
            trace: &trace.path,
            program: &self.program,
            scheduler: scheduler(policy),
            port_rate: self.port_rate,
            background_rate: self.background_rate,
            limit_s: LIMIT_S,
            ratio,
            // Each host counts as having a processor of its own if its flows are compressible.
            cpu: if ratio < 1.0 { "1" } else { "none" },
            faults: &[],
            stop: &self.stop,
        };
        Ok(replay(&self.lab, &replayed, progress)?)
    }
}

/// The policy that finds coflows by itself.
const CODA: &str = "coda";
/// The policy whose receivers decide on the testbed, too.
const STREAM: &str = "stream";

fn scheduler(spec: &str) -> Scheduler<'_> {
    let (name, settings) = spec.split_once(':').unwrap_or((spec, ""));
    match name {
        TCP => Scheduler::Tcp,
        STREAM => Scheduler::Receivers(settings),
        _ => Scheduler::Policy(spec),
    }
}

fn program() -> Result<PathBuf, Failure> {
    std::env::current_exe().map_err(|error| Failure::Other(format!("this program: {error}")))
}

/// A trace as a file for the hosts. The file is removed with the value.
struct FoldedTrace {
    path: PathBuf,
    _folder: tempfile::TempDir,
}

impl FoldedTrace {
    fn write(workload: &Workload) -> Result<FoldedTrace, Failure> {
        let folder = tempfile::tempdir().map_err(|error| Failure::Other(error.to_string()))?;
        let path = folder.path().join("trace.jsonl");
        output::write(&path, |out| covey_trace::write(workload, out))?;
        Ok(FoldedTrace { path, _folder: folder })
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

/// Set when the process is asked to end.
fn watch_signals() -> Result<Arc<AtomicBool>, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    let (runtime, asked) = (live::runtime(1)?, stop.clone());
    std::thread::spawn(move || {
        runtime.block_on(live::asked_to_end());
        asked.store(true, Ordering::Relaxed);
    });
    Ok(stop)
}

/// The measurements of a contender.
struct Measured {
    spec: String,
    found: Found,
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

/// Prints the fate of coflows and bytes in a run with faults.
fn what_became(
    workload: &Workload,
    faults: &[Fault],
    measured: &[Measured],
) -> Result<(), Failure> {
    let dead: Vec<u32> = faults
        .iter()
        .filter(|fault| matches!(fault.what, Broken::Host(_)))
        .filter_map(Fault::host)
        .collect();
    let is_dead = |host: u32| dead.contains(&host);
    output::print(|out| {
        writeln!(
            out,
            "contender           coflows  ended  failed  not scheduled  mean CCT, s  bytes that came as sent"
        )?;
        for Measured { spec, found } in measured {
            let (coflows, failed) = (workload.coflows.len(), found.failed.len());
            let ended = (0..coflows).filter(|k| !found.failed.contains(k));
            let ccts = ended.map(|k| {
                let it = &found.outcome.coflows[k];
                it.completion_s - it.release_s
            });
            let mean_s = ccts.sum::<f64>() / (coflows - failed).max(1) as f64;
            writeln!(
                out,
                "{spec:20} {coflows:7} {:6} {failed:7} {:14} {mean_s:12.4}  {:.0} of {:.0}",
                coflows - failed,
                found.unregistered,
                found.bytes,
                workload.bytes(),
            )?;
            if failed > 0 {
                let ids = found.failed.iter().map(|&k| workload.coflows[k].id.as_str());
                writeln!(out, "  failed with a host: {}", ids.collect::<Vec<_>>().join(" "))?;
            }
        }
        Ok(())
    })?;
    for Measured { spec, found } in measured {
        for &k in &found.failed {
            let coflow = &workload.coflows[k];
            if !coflow.flows.iter().any(|flow| is_dead(flow.src) || is_dead(flow.dst)) {
                let what = format!("{spec}: coflow {} failed, whose hosts all lived", coflow.id);
                return Err(Failure::Other(what));
            }
        }
        if found.unsettled > 0 {
            let what = format!(
                "{spec}: the coordinator has not confirmed all that ended at {} hosts",
                found.unsettled
            );
            return Err(Failure::Other(what));
        }
    }
    Ok(())
}

/// How many of the flows were put with those of their coflow, where applications name none.
fn identified(workload: &Workload, measured: &[Measured]) -> String {
    let mut text = String::new();
    for Measured { spec, found } in measured.iter().filter(|it| !it.found.groups.is_empty()) {
        let groups: Vec<u32> = found.groups.iter().map(|(.., group)| *group as u32).collect();
        let coflows: Vec<u32> = found.groups.iter().map(|(coflow, ..)| *coflow).collect();
        let Accuracies { per_flow, per_coflow } = accuracy(&groups, &coflows);
        let _ = writeln!(
            text,
            "{spec}: the coordinator was seen to have put {} of {} flows into coflows: per flow, \
             precision {:.3} and recall {:.3}; per coflow, {:.3} and {:.3}",
            groups.len(),
            workload.num_flows(),
            per_flow.precision,
            per_flow.recall,
            per_coflow.precision,
            per_coflow.recall,
        );
    }
    text
}

/// Measured and predicted mean CCTs, and the cost of the system itself.
fn against_predictions(comparison: &Comparison<'_>, measured: &[Measured]) -> String {
    let mut text = String::from(
        "                          mean CCT, s              CPU, % of a core\n\
         contender           measured  simulated  ratio   coordinator  agent  bytes checked\n",
    );
    let pairs = comparison.summaries().chunks(2).zip(measured);
    for (pair, Measured { spec, found }) in pairs {
        let (real, predicted) = (pair[0].cct_s.mean, pair[1].cct_s.mean);
        let share = |cpu_s: f64| 100.0 * cpu_s / found.wall_s;
        let agent = share(found.agents_cpu_s) / f64::from(pair[0].ports);
        let wire = found.wire_bytes.map_or_else(String::new, |wire| {
            format!("; {:.1} % on the wire", 100.0 * wire / found.bytes)
        });
        // Writing to a string does not fail.
        let _ = writeln!(
            text,
            "{spec:20} {real:9.4} {predicted:10.4} {:6.2} {:13.1} {agent:6.2}  {:.0}, all right{wire}",
            real / predicted,
            share(found.coordinator_cpu_s),
            found.bytes,
        );
    }
    for Measured { spec, found } in measured {
        let mut delays = found.decision_delays_s.clone();
        delays.sort_unstable_by(f64::total_cmp);
        let at = |part: f64| delays.get((part * delays.len() as f64) as usize).copied();
        if let (Some(median), Some(p95)) = (at(0.5), at(0.95)) {
            let (count, median, p95) = (delays.len(), median * 1e3, p95 * 1e3);
            let _ = writeln!(
                text,
                "{spec}: a decision of a receiver was in force at the sender after {median:.2} ms (median), \
                 {p95:.2} ms (p95; {count} decisions)"
            );
        }
    }
    text
}
