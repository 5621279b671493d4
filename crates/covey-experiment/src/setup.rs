//! The network, and how policies are simulated on it.

use std::ops::RangeInclusive;

use covey_core::units;
use covey_emulate::{Emulation, Simulator};
use covey_sched::normalized;

use crate::{Contender, Error};

/// The range of speeds of ports, in bits per second. Far outside of it times are too large or too
/// small to separate one event from the next.
const PORT_RATE_BPS: RangeInclusive<f64> = 1.0..=1e15;
/// The default speed of ports.
pub const PORT_RATE: &str = "1gbps";

/// A network of equal ports around a big switch, and how policies are simulated on it. Quantities
/// are texts as users write them.
#[derive(Debug, Clone, PartialEq)]
pub struct Setup {
    /// Speed of each port in each direction, like `10gbps` or `128MiB/s`; 1 Gbps if none is given,
    /// or that of the simulator that is emulated.
    pub port_rate: Option<String>,
    /// Share of each port's processor available for compressing: a number from 0 to 1, or a file,
    /// see [`Availability::open`](covey_trace::Availability::open).
    pub cpu: String,
    /// The simulator that is emulated; `None` for the exact one.
    pub emulated: Option<Simulator>,
    /// Whether coflows wait for their parents to end.
    pub barrier: bool,
    /// Seed for policies that have a parameter `seed`, and for builtin traces, unless they set
    /// their own.
    pub seed: Option<u64>,
}

impl Default for Setup {
    fn default() -> Setup {
        Setup { port_rate: None, cpu: "1".to_owned(), emulated: None, barrier: true, seed: None }
    }
}

impl Setup {
    /// The policy that `spec` names.
    ///
    /// # Errors
    /// The simulator does not have the policy, or a parameter is wrong.
    pub fn contender(&self, spec: &str) -> Result<Contender, Error> {
        let spec = &normalized(spec);
        if let Some(simulator) = self.emulated {
            return Ok(Contender::emulated(spec, Emulation::new(simulator, spec)?));
        }
        let mut built = covey_sched::build(spec)?;
        let takes_seed = built.info.params.iter().any(|p| p.name == "seed");
        if takes_seed {
            built = covey_sched::build(&self.with_seed(spec))?;
        }
        Ok(Contender::built(spec, built))
    }

    /// The policies of a list, each once.
    ///
    /// # Errors
    /// Those of [`Setup::contender`], and for a policy that is listed twice or missing.
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
    /// It does not parse, is out of range, or differs from that of the emulated simulator.
    pub fn port_rate(&self) -> Result<f64, Error> {
        const ARGUMENT: &str = "port-rate";
        let text = match (&self.port_rate, self.emulated) {
            (Some(text), _) => text,
            (None, None) => PORT_RATE,
            (None, Some(simulator)) => return Ok(simulator.port_rate_bps() / 8.0),
        };
        let rate = units::parse_rate(text)
            .map_err(|problem| Error::Argument { argument: ARGUMENT, problem })?;
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

    /// The name of a trace. A builtin one without a seed gets that of the setup.
    pub fn seeded(&self, trace: &str) -> String {
        match trace.strip_prefix("builtin:") {
            Some(spec) => format!("builtin:{}", self.with_seed(spec)),
            None => trace.to_owned(),
        }
    }

    /// `NAME[:key=value,…]` with the seed of the setup, unless `spec` has one.
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

/// The policies of a list as `--policies` takes it.
///
/// # Errors
/// The list is empty, or a policy beside a comma is missing.
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
