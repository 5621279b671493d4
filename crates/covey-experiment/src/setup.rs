//! The network and the settings of a simulation.

use std::ops::RangeInclusive;
use std::path::PathBuf;

use covey_core::{Observed, units};
use covey_emulate::{Emulation, Simulator};
use covey_sched::normalized;
use covey_topology::Network;
use covey_trace::observe::{self, Rung};
use covey_trace::{Source, TraceError, Workload};

use crate::{Contender, Error, Scene, outside, parameter_files, read_metric};

/// The valid speeds of ports in bits per second. Far outside this range, times are too large or too
/// small to separate one event from the next.
const PORT_RATE_BPS: RangeInclusive<f64> = 1.0..=1e15;
/// The default network.
pub const FABRIC: &str = "big-switch";
/// The default speed of ports.
pub const PORT_RATE: &str = "1gbps";

/// A network, and the settings of a simulation on it. Quantities are texts as users write them.
#[derive(Debug, Clone, PartialEq)]
pub struct Setup {
    /// The network, in a form that [`Network::open`] reads; `big-switch` for one in which only
    /// ports limit rates.
    pub fabric: String,
    /// Speed of each port in each direction, such as `10gbps` or `128MiB/s`. The default is 1 Gbps,
    /// or the speed of the emulated simulator.
    pub port_rate: Option<String>,
    /// Share of each port's processor available for compression: a number from 0 to 1, or a file
    /// that [`Availability::open`](covey_trace::Availability::open) reads.
    pub cpu: String,
    /// The emulated simulator; `None` for the exact one.
    pub emulated: Option<Simulator>,
    /// Whether a coflow waits until its parents have ended.
    pub barrier: bool,
    /// Seed for policies with a parameter `seed` and for builtin traces, unless these set their
    /// own, and for the rung, whose default is 1.
    pub seed: Option<u64>,
    /// The rung of the [ladder](observe::LADDER) on which policies are simulated: it changes when
    /// coflows arrive and flows start, and how flows appear to policies that do not see coflows.
    /// Without a rung the trace is simulated as it is. Policies that do not see coflows then see
    /// only the hosts and start of each flow.
    pub rung: Option<String>,
    /// The file of the metric by which `coda` compares flows.
    pub metric: Option<PathBuf>,
    /// Weights of tenants, such as `analytics=3,serving=1`: capacity is divided among the tenants
    /// of the trace. Without them it is not.
    pub tenants: Option<String>,
}

impl Default for Setup {
    fn default() -> Setup {
        Setup {
            fabric: FABRIC.to_owned(),
            port_rate: None,
            cpu: "1".to_owned(),
            emulated: None,
            barrier: true,
            seed: None,
            rung: None,
            metric: None,
            tenants: None,
        }
    }
}

impl Setup {
    /// The policy that `spec` names. A parameter `name=@FILE` takes its list from a file, whose
    /// items white space, commas or slashes separate.
    ///
    /// # Errors
    /// If the simulator has no such policy, a parameter is wrong, or its file or that of the metric
    /// cannot be read.
    pub fn contender(&self, spec: &str) -> Result<Contender, Error> {
        let spec = &normalized(&parameter_files::insert(spec)?);
        if let Some(contender) = outside::contender(spec)? {
            return match self.emulated {
                None => Ok(contender),
                Some(simulator) => {
                    let expected = "the name of a policy that the simulator has";
                    Err(Error::argument(
                        "sim",
                        expected,
                        format!("{spec} for {}", simulator.name()),
                    ))
                }
            };
        }
        if let Some(simulator) = self.emulated {
            return Ok(Contender::emulated(spec, Emulation::new(simulator, spec)?));
        }
        let metric = self.metric.as_deref().map(read_metric).transpose()?;
        let build = move |spec: &str| covey_sched::build_with_metric(spec, metric.as_ref());
        let (mut built, mut with_seed) = (build(spec)?, spec.clone());
        if built.info.params.iter().any(|p| p.name == "seed") {
            with_seed = self.with_seed(spec);
            built = build(&with_seed)?;
        }
        if let Some(file) = self.metric.as_ref().filter(|_| built.has_metric) {
            built.params.push(("metric".to_owned(), file.display().to_string()));
        }
        let again = move || build(&with_seed).map(|built| built.policy);
        Ok(Contender::built(spec, built).made_by(move || again().expect("a policy that was built")))
    }

    /// The policies of a list, such as `fair,sebf`.
    ///
    /// # Errors
    /// The errors of [`Setup::contender`], or if the list is empty, has an empty item, or names a
    /// policy twice.
    pub fn contenders(&self, list: &str) -> Result<Vec<Contender>, Error> {
        let mut contenders: Vec<Contender> = Vec::new();
        for spec in listed(list)? {
            contenders.push(self.contender(&spec)?);
            Contender::check_differ(&contenders)?;
        }
        Ok(contenders)
    }

    /// The speed of ports in bytes per second.
    ///
    /// # Errors
    /// If it does not parse, is out of range, or differs from that of the emulated simulator.
    pub fn port_rate(&self) -> Result<f64, Error> {
        const ARGUMENT: &str = "port-rate";
        let text = match (&self.port_rate, self.emulated) {
            (Some(text), _) => text,
            (None, None) => PORT_RATE,
            (None, Some(simulator)) => return Ok(simulator.port_rate_bps() / 8.0),
        };
        let rate = units::parse_rate(text)
            .map_err(|e| Error::Argument { argument: ARGUMENT, problem: e.to_string() })?;
        let found = format!("'{text}'");
        if let Some(simulator) = self.emulated
            && rate * 8.0 != simulator.port_rate_bps()
        {
            let (bps, name) = (simulator.port_rate_bps(), simulator.name());
            let expected = format!("{bps}bps, which is that of --sim {name}");
            return Err(Error::argument(ARGUMENT, expected, found));
        }
        if PORT_RATE_BPS.contains(&(rate * 8.0)) {
            return Ok(rate);
        }
        Err(Error::argument(ARGUMENT, "a speed from 1bps to 1000tbps", found))
    }

    /// The network for a trace of `ports` ports.
    ///
    /// # Errors
    /// If the speed of ports or the network is invalid, or an emulated simulator has another
    /// network.
    pub fn network(&self, ports: u32) -> Result<Network, Error> {
        let rate = self.port_rate()?;
        let network = Network::open(&self.fabric, ports, rate)?;
        match self.emulated {
            Some(simulator) if network.has_inner_links() => {
                let expected = format!("{FABRIC} with --sim {}", simulator.name());
                Err(Error::argument("fabric", expected, format!("'{}'", self.fabric)))
            }
            _ => Ok(network),
        }
    }

    /// Opens what `source` names, places it as [`Setup::place`] does, and puts it on the rung as
    /// [`Setup::on_rung`] does. Wrong settings are found before the trace is read.
    ///
    /// # Errors
    /// Those of [`Setup::network`], if there is no such rung, and if the trace cannot be read.
    pub fn open(&self, source: &Source, mut warn: impl FnMut(&str)) -> Result<Scene, Error> {
        let network = self.network(0)?;
        self.rung()?;
        self.weights()?;
        let workload = self.seeded_source(source).open(&mut warn)?;
        // Only a big switch has as many hosts as the trace has ports.
        let (network, workload) = match network.fabric().ports() {
            0 => self.place(workload, warn)?,
            _ => placed(network, workload, warn),
        };
        Ok(match self.on_rung(&workload)? {
            Some((workload, flows)) => Scene { network, workload, appearing: Some(flows) },
            None => Scene { network, workload, appearing: None },
        })
    }

    /// A placed workload as it is on the rung, and its flows as they appear there, in its order;
    /// nothing without a rung. Policies that see coflows get the same workload.
    ///
    /// # Errors
    /// If there is no such rung.
    pub fn on_rung(&self, workload: &Workload) -> Result<Option<(Workload, Vec<Observed>)>, Error> {
        let Some(rung) = self.rung()? else { return Ok(None) };
        Ok(Some(rung.workload(workload, self.rung_seed())?))
    }

    fn rung(&self) -> Result<Option<&'static Rung>, Error> {
        let rung = self.rung.as_deref().map(observe::rung).transpose();
        rung.map_err(|error| match error {
            TraceError::Argument { expected, found, .. } => {
                Error::argument("rung", expected, found)
            }
            other => other.into(),
        })
    }

    fn rung_seed(&self) -> u64 {
        self.seed.unwrap_or(1)
    }

    /// The name of a trace in reports, with the rung.
    pub(crate) fn described(&self, trace: String) -> String {
        match &self.rung {
            Some(rung) => format!("{trace}, rung {rung}, seed {}", self.rung_seed()),
            None => trace,
        }
    }

    /// The network, and the workload with the network's hosts as its ports. `warn` gets a line if
    /// several ports of the trace share a host.
    ///
    /// # Errors
    /// Those of [`Setup::network`].
    pub fn place(
        &self,
        workload: Workload,
        warn: impl FnOnce(&str),
    ) -> Result<(Network, Workload), Error> {
        let network = self.network(workload.ports)?;
        Ok(placed(network, workload, warn))
    }

    /// The source, with the seed of the setup for builtin traces without one.
    pub fn seeded_source(&self, source: &Source) -> Source {
        let items = source.items.iter().map(|item| self.seeded(item)).collect();
        Source { items, ..source.clone() }
    }

    /// The name of a trace. A builtin trace without a seed gets that of the setup.
    pub fn seeded(&self, trace: &str) -> String {
        match trace.strip_prefix("builtin:") {
            Some(spec) => format!("builtin:{}", self.with_seed(spec)),
            None => trace.to_owned(),
        }
    }

    /// Adds the seed of the setup to `NAME[:key=value,…]`, unless `spec` has a seed.
    fn with_seed(&self, spec: &str) -> String {
        let (_, given) = spec.split_once(':').unwrap_or((spec, ""));
        match self.seed {
            Some(seed) if !given.split(',').any(|item| item.starts_with("seed=")) => {
                let joint = if spec.contains(':') { ',' } else { ':' };
                format!("{spec}{joint}seed={seed}")
            }
            _ => spec.to_owned(),
        }
    }
}

fn placed(network: Network, workload: Workload, warn: impl FnOnce(&str)) -> (Network, Workload) {
    let (workload, folded) = network.place(workload);
    if let Some(line) = folded {
        warn(&line);
    }
    (network, workload)
}

/// Splits a list of policies, in the syntax of `--policies`.
///
/// # Errors
/// If the list is empty, or a policy beside a comma is missing.
pub fn listed(list: &str) -> Result<Vec<String>, Error> {
    if list.trim().is_empty() {
        return Err(Error::argument("policies", "at least one policy", "none"));
    }
    let specs = covey_sched::split_list(list);
    if specs.iter().any(String::is_empty) {
        let expected = "a policy on each side of a comma";
        return Err(Error::argument("policies", expected, format!("'{list}'")));
    }
    Ok(specs)
}
