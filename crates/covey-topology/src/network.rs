//! Networks by name.

use std::fs::File;
use std::io::BufReader;

use covey_core::suggest::{did_you_mean, nearest};
use covey_core::{EcmpMode, Fabric, FabricError, FatTree, LeafSpine};
use covey_trace::text::quote;
use covey_trace::{TraceError, Workload};

use crate::parameters::Parameters;
use crate::{Place, TopologyError, file};

/// The names of all kinds of networks.
const KINDS: [&str; 4] = ["big-switch", "fat-tree", "leaf-spine", "file"];
/// Parameters of a topology file.
const FILE_PARAMETERS: [&str; 3] = ["ecmp", "place", "seed"];
/// How much more the edge switches' hosts can send than their uplinks carry, and the reverse.
const OVERSUB: std::ops::RangeInclusive<f64> = 1e-3..=1e3;

/// A network with its name, and the way in which ports of a trace become its hosts.
#[derive(Debug, Clone)]
pub struct Network {
    spec: String,
    fabric: Fabric,
    place: Place,
}

impl Network {
    /// The network that `spec` names, for a trace of `ports` ports. Links carry `rate` bytes per
    /// second unless the text or file says otherwise. The forms, with defaults:
    ///
    /// - `big-switch[:place=pack]`: `ports` hosts, and only their links limit rates;
    /// - `fat-tree:k=8[,oversub=1,ecmp=flow,place=spread,seed=1,latency=0]`, see [`FatTree`];
    /// - `leaf-spine:leaves=8,spines=4,hosts=16[,uplink=10gbps,ecmp=flow,place=spread,seed=1,latency=0]`
    ///   with `hosts` hosts at each leaf, see [`LeafSpine`];
    /// - `file:PATH[,ecmp=flow,place=pack,seed=1]`, see [`read`](crate::read). The path ends before
    ///   the first of the parameters that no other text follows, so it may contain commas.
    ///
    /// `ecmp` is `flow`, `pair`, `modulo` or, except for a file, `spray` ([`EcmpMode`]); `place` is
    /// a [`Place`].
    ///
    /// # Errors
    /// [`TopologyError::Spec`] for an unknown name or parameter or a value out of range;
    /// [`TopologyError::File`] if the file cannot be read or is invalid.
    pub fn open(spec: &str, ports: u32, rate: f64) -> Result<Network, TopologyError> {
        let spec = spec.trim();
        let (name, text) = spec.split_once(':').unwrap_or((spec, ""));
        let lower_case = name.trim().to_ascii_lowercase();
        match lower_case.as_str() {
            "big-switch" => big_switch(text, ports, rate),
            "fat-tree" => fat_tree(text, rate),
            "leaf-spine" => leaf_spine(text, rate),
            "file" => from_file(text, rate),
            _ => {
                let meant = did_you_mean(nearest(&lower_case, KINDS));
                let expected = format!("one of {}", KINDS.join(", "));
                Err(TopologyError::Spec(format!(
                    "expected {expected}, found {}{meant}",
                    quote(name)
                )))
            }
        }
    }

    fn new(parameters: &Parameters<'_>, fabric: Fabric, place: Place) -> Network {
        let (kind, given) = (parameters.kind, parameters.canonical());
        let joint = if given.is_empty() { "" } else { ":" };
        Network { spec: format!("{kind}{joint}{given}"), fabric, place }
    }

    /// The text that names the network: the kind, and the parameters given.
    pub fn spec(&self) -> &str {
        &self.spec
    }

    /// Hosts, links and paths.
    pub fn fabric(&self) -> &Fabric {
        &self.fabric
    }

    /// Whether links between hosts can limit rates.
    pub fn has_inner_links(&self) -> bool {
        !self.fabric.inner_links().is_empty()
    }

    /// The workload with hosts of this network as its ports. Every other property stays, also the
    /// order of coflows and flows. Also returns a line about ports that share a host (or racks that
    /// share a switch) because there are more of them than hosts.
    pub fn place(&self, workload: Workload) -> (Workload, Option<String>) {
        let (workload, folded) = self.place.apply(workload, &self.fabric);
        (workload, folded.map(|line| format!("{}: {line}", self.spec)))
    }
}

fn big_switch(text: &str, ports: u32, rate: f64) -> Result<Network, TopologyError> {
    let parameters = Parameters::parse("big-switch", text, &["place"])?;
    let place = parameters.place(Place::Pack)?;
    let fabric = Fabric::big_switch(ports, rate).map_err(|e| from_fabric(&parameters, e))?;
    Ok(Network::new(&parameters, fabric, place))
}

fn fat_tree(text: &str, rate: f64) -> Result<Network, TopologyError> {
    let known = ["k", "oversub", "ecmp", "place", "seed", "latency"];
    let parameters = Parameters::parse("fat-tree", text, &known)?;
    let error = |e: FabricError| from_fabric(&parameters, e);
    let tree = FatTree::new(parameters.count("k")?, parameters.ecmp(EcmpMode::Flow)?);
    let oversub = parameters.number("oversub", OVERSUB)?.unwrap_or(1.0);
    let (place, latency) = (parameters.place(Place::Spread)?, parameters.latency()?);
    let fabric = tree.and_then(|tree| tree.fabric(rate, oversub)).map_err(error)?;
    let fabric = fabric.with_latency(latency).map_err(error)?;
    Ok(Network::new(&parameters, fabric, place))
}

fn leaf_spine(text: &str, rate: f64) -> Result<Network, TopologyError> {
    let known = ["leaves", "spines", "hosts", "uplink", "ecmp", "place", "seed", "latency"];
    let parameters = Parameters::parse("leaf-spine", text, &known)?;
    let error = |e: FabricError| from_fabric(&parameters, e);
    let [leaves, spines, hosts] = ["leaves", "spines", "hosts"].map(|key| parameters.count(key));
    let network = LeafSpine::new(leaves?, spines?, hosts?, parameters.ecmp(EcmpMode::Flow)?);
    let uplink = parameters.rate("uplink")?.unwrap_or(rate);
    let (place, latency) = (parameters.place(Place::Spread)?, parameters.latency()?);
    let fabric = network.and_then(|network| network.fabric(rate, uplink)).map_err(error)?;
    let fabric = fabric.with_latency(latency).map_err(error)?;
    Ok(Network::new(&parameters, fabric, place))
}

fn from_file(text: &str, rate: f64) -> Result<Network, TopologyError> {
    let (path, given) = path_and_parameters(text);
    if path.is_empty() {
        return Err(TopologyError::expected("file", "the path of a topology file", "nothing"));
    }
    let parameters = Parameters::parse("file", given, &FILE_PARAMETERS)?;
    let source = File::open(path).map_err(|error| match meant(path) {
        Some(meant) => TopologyError::Spec(format!(
            "file: {path}: {error}; did you mean '{meant}' at its end?"
        )),
        None => TraceError::io(path, error).into(),
    })?;
    let listed = file::read(BufReader::with_capacity(1 << 16, source), path, rate)?;
    let ecmp = parameters.ecmp(listed.ecmp())?;
    let place = parameters.place(Place::Pack)?;
    if ecmp.mode == EcmpMode::Spray {
        return Err(from_fabric(&parameters, FabricError::Spray));
    }
    let fabric = listed.fabric(path, ecmp)?;
    let joint = if given.is_empty() { "" } else { "," };
    let spec = format!("file:{path}{joint}{}", parameters.canonical());
    Ok(Network { spec, fabric, place })
}

/// Splits off the parameters at the end of `PATH[,key=value]…`.
fn path_and_parameters(text: &str) -> (&str, &str) {
    let mut path = text;
    while let Some((rest, item)) = path.rsplit_once(',')
        && item.split_once('=').is_some_and(|(key, _)| FILE_PARAMETERS.contains(&key.trim()))
    {
        path = rest;
    }
    (path, text[path.len()..].trim_start_matches(','))
}

/// The parameter that a user may mean by the end of a path that does not exist.
fn meant(path: &str) -> Option<String> {
    let (key, value) = path.rsplit_once(',')?.1.split_once('=')?;
    Some(format!("{}={value}", nearest(key.trim(), FILE_PARAMETERS)?))
}

/// The error for a network that these parameters do not make.
fn from_fabric(parameters: &Parameters<'_>, error: FabricError) -> TopologyError {
    match error {
        FabricError::Spray => parameters.problem("ecmp", error),
        FabricError::Latency => parameters.problem("latency", error),
        error => TopologyError::Spec(format!("{}: {error}", parameters.kind)),
    }
}
