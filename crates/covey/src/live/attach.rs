//! `covey attach`, `covey detach`: connections of programs that know nothing of Covey.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::process::{Child, Command};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use clap::Args;
use covey_agent::Processors;
use covey_attach::attached::{Attached, Ignored, release};
use covey_attach::connects::Connects;
use covey_attach::flows::{Flow, Over};
use covey_attach::hold::Hold;
use covey_attach::target::Target;
use covey_core::Observed;
use covey_credentials::AgentCertificates;
use covey_trace::records::{Hidden, RecordWriter};
use tokio::sync::{Notify, mpsc};

use crate::failure::Failure;
use crate::live::agent::joining;
use crate::live::process::{self, AGENTS, Logs, Shown};
use crate::{output, quantity};

/// Which processes.
#[derive(Debug, Args)]
#[group(multiple = false)]
struct Processes {
    /// A process, and those that it has started
    #[arg(long, value_name = "N")]
    pid: Option<u32>,
    /// The processes in a control group, a folder below /sys/fs/cgroup
    #[arg(long, value_name = "FOLDER")]
    cgroup: Option<PathBuf>,
    /// All processes in this network namespace
    #[arg(long)]
    host: bool,
}

impl Processes {
    /// `None`: no option says which.
    fn target(&self) -> Result<Option<Target>, Failure> {
        match (self.pid, &self.cgroup) {
            (Some(pid), _) if !Path::new(&format!("/proc/{pid}")).exists() => {
                Err(Failure::argument("--pid", "a process that runs", pid))
            }
            (Some(pid), _) => Ok(Some(Target::Process(pid))),
            (None, Some(folder)) if !folder.join("cgroup.procs").exists() => {
                let found = format!("'{}'", folder.display());
                Err(Failure::argument("--cgroup", "a folder with a file cgroup.procs", found))
            }
            (None, Some(folder)) => Ok(Some(Target::Cgroup(folder.clone()))),
            (None, None) => Ok(self.host.then_some(Target::Host)),
        }
    }
}

/// Watch or schedule the connections of programs that know nothing of Covey
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  covey attach --observe --host --output flows.csv
  covey attach --observe --output flows.csv -- rsync -a data host:data
  covey attach --observe --host --for 60s | covey identify -
  covey attach --port 3 --cgroup /sys/fs/cgroup/spark.slice
With --observe nothing is done to connections. Their flows are written as records that covey identify reads, each when
it ends. Otherwise this is an agent of a coordinator whose policy finds coflows by itself (covey serve --policy coda):
it reports flows, paces them, and holds those that have to wait. Programs are neither changed nor started again, and
their sockets are as before when this process ends.")]
pub struct Attach {
    #[command(flatten)]
    processes: Processes,
    /// Only watch
    #[arg(long)]
    observe: bool,
    /// With --observe: the file for the records, - for standard output
    #[arg(long, value_name = "FILE", default_value = "-", requires = "observe")]
    output: PathBuf,
    /// With --observe: how often to look; less often where that would take more than a hundredth of
    /// a processor
    #[arg(long, value_name = "TIME", default_value = "20ms", requires = "observe")]
    every: String,
    /// End after this time
    #[arg(long = "for", value_name = "TIME")]
    duration: Option<String>,
    /// Without --observe: the number of this host's port in the fabric, from 0
    #[arg(long, value_name = "N", required_unless_present = "observe", conflicts_with = "observe")]
    port: Option<u32>,
    /// Address of the coordinator for agents
    #[arg(long, value_name = "ADDRESS", default_value = AGENTS, conflicts_with = "observe")]
    coordinator: String,
    #[command(flatten)]
    shown: Shown,
    /// An address of this host; may be repeated [default: all addresses but those of loopback]
    #[arg(long, value_name = "IP", conflicts_with = "observe")]
    address: Vec<String>,
    /// Mark the packets of flows that have a rate, too, for switches with strict queues: CS7 for
    /// those that are served first, down to CS1
    #[arg(long, conflicts_with = "observe")]
    mark: bool,
    /// Leave connections with this port at an end alone; may be repeated. Those of the
    /// coordinator's agents always are
    #[arg(long, value_name = "N", default_value = "22")]
    except_port: Vec<u16>,
    #[command(flatten)]
    logs: Logs,
    /// A command to start and to attach to; the end of the command is the end of this
    #[arg(last = true, value_name = "COMMAND", conflicts_with = "Processes")]
    command: Vec<String>,
}

impl Attach {
    /// Runs the command.
    pub fn run(self) -> Result<(), Failure> {
        self.logs.start();
        let ends_after = self.duration.as_deref();
        let ends_after = ends_after.map(|text| quantity::time("--for", text)).transpose()?;
        let (target, child) = self.target()?;
        let after = ends_after.map(Duration::from_secs_f64);
        let mut end = End {
            child,
            after,
            asked: Box::pin(async {
                process::asked_to_end().await;
            }),
        };
        if self.observe {
            self.observe(target, &mut end)
        } else {
            self.schedule(target, &mut end)
        }?;
        end.status()
    }

    fn target(&self) -> Result<(Target, Option<Child>), Failure> {
        match (self.command.split_first(), self.processes.target()?) {
            (Some((program, arguments)), _) => {
                let started = Command::new(program).args(arguments).spawn();
                let child = started
                    .map_err(|error| Failure::Input(format!("COMMAND: {program}: {error}")))?;
                Ok((Target::Process(child.id()), Some(child)))
            }
            (None, Some(target)) => Ok((target, None)),
            (None, None) => Err(none_named("--pid, --cgroup, --host, or -- and a command")),
        }
    }

    /// Writes flow records.
    fn observe(&self, target: Target, end: &mut End) -> Result<(), Failure> {
        let every = Duration::from_secs_f64(quantity::time("--every", &self.every)?);
        let mut attached =
            Attached::new(target, Ignored::default(), None, connects()).map_err(refused)?;
        if !attached.sees_ends() {
            tracing::warn!(
                "without CAP_NET_ADMIN, connections that are shorter than --every are missed, and the last bytes of \
                 others"
            );
        }
        let began = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let began_s = began.as_secs_f64() - attached.now_s();
        let out: Box<dyn Write> = match self.output.to_str() {
            Some("-") => Box::new(std::io::stdout()),
            _ => Box::new(File::create(&self.output).map_err(|error| {
                Failure::Input(format!("--output: {}: {error}", self.output.display()))
            })?),
        };
        let mut records = match RecordWriter::new(out) {
            Ok(records) => Written { records, began_s },
            Err(error) => return self.ended_by(error),
        };
        let runtime = process::runtime_here()?;
        let mut looked_s = 0.0;
        loop {
            // Where a look takes long, there are fewer.
            let pause = every.max(Duration::from_secs_f64(150.0 * looked_s));
            let is_last = runtime.block_on(end.waits(pause));
            let begin = attached.now_s();
            attached.look().map_err(refused)?;
            looked_s = attached.now_s() - begin;
            let open = attached.flows().open().values().filter(|_| is_last);
            let open: Vec<Flow> = open.filter(|flow| flow.sent > 0).copied().collect();
            if let Err(error) = records.write(&attached.take_over(), &open) {
                return self.ended_by(error);
            }
            if is_last {
                return Ok(());
            }
        }
    }

    /// The records cannot be written any more. A reader that has enough is none of our business.
    fn ended_by(&self, error: std::io::Error) -> Result<(), Failure> {
        match error.kind() {
            std::io::ErrorKind::BrokenPipe => Ok(()),
            _ => Err(Failure::Other(format!("--output: {}: {error}", self.output.display()))),
        }
    }

    /// Has a coordinator schedule the flows.
    fn schedule(&self, target: Target, end: &mut End) -> Result<(), Failure> {
        let port = self.port.unwrap_or_default();
        let (coordinator, address) = (&self.coordinator, &self.address);
        let joining = joining(port, coordinator, &self.shown, address, Processors::None)?;
        let certificates = AgentCertificates::start(self.shown.credentials())?;
        let runtime = process::runtime_here()?;
        let unknown = |error| Failure::Input(format!("--coordinator: {coordinator}: {error}"));
        let ends = runtime.block_on(joining.coordinator.resolve()).map_err(unknown)?;
        let hold = Hold::new().map_err(|error| Failure::Other(error.to_string()))?;
        // What an earlier one left behind that was killed.
        release(&target).map_err(refused)?;
        let ignored = Ignored {
            ports: self.except_port.iter().copied().collect(),
            ends: ends.into_iter().collect(),
            own: joining.addresses.iter().copied().collect(),
        };
        let mut attached =
            Attached::new(target, ignored, Some(hold), connects()).map_err(refused)?;
        if self.mark {
            attached = attached.with_marks();
        }
        let never = Notify::new();
        runtime.block_on(async {
            if let Some(certificates) = certificates {
                // Nobody asks: they are read when they change.
                tokio::spawn(certificates.keep(mpsc::channel(1).1));
            }
            tokio::select! {
                joined = covey_agent::run_woken(&joining, &mut attached, &never) => {
                    joined.map_err(|error| Failure::Input(error.to_string()))
                }
                () = end.comes() => Ok(()),
            }
        })
    }
}

/// What notes the beginnings of connections, where that is possible.
fn connects() -> Option<Connects> {
    let connects = Connects::new();
    connects.inspect_err(|error| tracing::info!(%error, "flows begin with their first bytes")).ok()
}

fn refused(error: std::io::Error) -> Failure {
    Failure::Other(format!("connections cannot be seen: {error}"))
}

fn none_named(expected: &str) -> Failure {
    Failure::Input(format!("which processes: expected {expected}, found none of them"))
}

/// What ends the command: a signal, the end of what it has started, or a time.
struct End {
    child: Option<Child>,
    after: Option<Duration>,
    /// A signal.
    asked: Pin<Box<dyn Future<Output = ()>>>,
}

impl End {
    /// Waits for so long. Returns whether the end has come.
    async fn waits(&mut self, time: Duration) -> bool {
        let left = self.after.unwrap_or(Duration::MAX);
        if left.is_zero() {
            return true;
        }
        let part = time.min(left);
        self.after = self.after.map(|after| after - part);
        tokio::select! {
            () = &mut self.asked => true,
            () = tokio::time::sleep(part) => self.child_has_ended(),
        }
    }

    /// Waits for the end.
    async fn comes(&mut self) {
        while !self.waits(Duration::from_millis(50)).await {}
    }

    fn child_has_ended(&mut self) -> bool {
        self.child.as_mut().is_some_and(|child| !matches!(child.try_wait(), Ok(None)))
    }

    /// How the command that was started has ended, if it has.
    fn status(&mut self) -> Result<(), Failure> {
        match self.child.as_mut().map(Child::try_wait) {
            Some(Ok(Some(status))) if !status.success() => {
                Err(Failure::Other(format!("COMMAND: {status}")))
            }
            _ => Ok(()),
        }
    }
}

/// Flow records, and the time at which the clock of flows began, in seconds since 1970.
struct Written {
    records: RecordWriter<Box<dyn Write>>,
    began_s: f64,
}

impl Written {
    /// Writes the records of flows that are over, and of flows that are `open` when the last look
    /// is over.
    fn write(&mut self, over: &[Over], open: &[Flow]) -> std::io::Result<()> {
        let ended = over.iter().map(|over| (&over.flow, Some(self.began_s + over.end_s)));
        for (flow, end_s) in ended.chain(open.iter().map(|flow| (flow, None))) {
            let hidden = Hidden { bytes: Some(flow.sent as f64), end_s, label: None };
            self.records.write(&observed(flow, self.began_s), &hidden)?;
        }
        self.records.flush()
    }
}

fn observed(flow: &Flow, began_s: f64) -> Observed {
    Observed {
        start_s: began_s + flow.start_s,
        src: flow.from.ip().into(),
        dst: flow.to.ip().into(),
        sport: flow.from.port(),
        dport: flow.to.port(),
        protocol: 6,
        community: None,
    }
}

/// Let the sockets of programs send as fast as they can again, after an agent that was killed
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  covey detach --host
  covey detach --cgroup /sys/fs/cgroup/spark.slice
An agent that is asked to end does this by itself. What holds flows goes with its process in any case.")]
pub struct Detach {
    #[command(flatten)]
    processes: Processes,
}

impl Detach {
    /// Runs the command.
    pub fn run(self) -> Result<(), Failure> {
        let target = self.processes.target()?;
        let target = target.ok_or_else(|| none_named("--pid, --cgroup or --host"))?;
        let released = release(&target).map_err(refused)?;
        output::print(|out| writeln!(out, "{released} sockets send as fast as they can"))
    }
}
