//! The emulated network that options name, and the one that predicts it.

use std::time::Duration;

use clap::Args;
use covey_experiment::Error;
use covey_testbed::{Core, Links, PAYLOAD};
use covey_topology::Network;
use covey_trace::Workload;

use crate::failure::Failure;
use crate::output;
use crate::quantity;

/// The slowest link, in bytes per second.
const MIN_LINK: f64 = 1e3;
/// Hosts unless the options say otherwise.
const HOSTS: u32 = 16;
/// The network in which only links of hosts limit.
const BIG_SWITCH: &str = "big-switch";
/// The one that is emulated with all its switches.
const LEAF_SPINE: &str = "leaf-spine";

/// Options of the network.
#[derive(Debug, Args)]
pub struct NetworkOptions {
    /// Number of hosts [default: 16, or those of the fabric]
    #[arg(long, value_name = "N")]
    hosts: Option<u32>,
    /// Speed of each host's link, in and out
    #[arg(long, value_name = "RATE", default_value = "100mbps")]
    link: String,
    /// The network: big-switch, or leaf-spine:leaves=4,spines=2,hosts=4[,uplink=RATE,place=spread],
    /// whose leaves choose among spines by a hash of addresses and ports
    #[arg(long, value_name = "FABRIC", default_value = BIG_SWITCH)]
    fabric: String,
    /// Strict queues at the links' ends, as a switch has them, 2 to 8: marked packets go to the
    /// queue of their mark, plain ones to the first [default: a queue for each class selector,
    /// plain packets last]
    #[arg(long, value_name = "N")]
    switch_queues: Option<u32>,
    /// Have switches mark packets that have waited longer than this (ECN, as TCN does it), like
    /// 14ms
    #[arg(long, value_name = "TIME")]
    ecn: Option<String>,
    /// Traffic that belongs to nobody, as a share of each link, like 50%: datagrams at a constant
    /// rate, unmarked
    #[arg(long, value_name = "SHARE", default_value = "0%")]
    background: String,
}

/// A network to emulate.
pub struct Emulation {
    /// Its links.
    pub links: Links,
    /// The same network with the speeds that flows have there, for the simulator: traces are placed
    /// already.
    pub simulated: String,
    /// Speed of the ports, in bytes of flows per second.
    pub port_rate: f64,
    /// Background traffic of each host, in bytes per second on the link.
    pub background_rate: f64,
    /// The network that places the ports of a trace.
    network: Network,
}

impl Emulation {
    /// A trace that is folded to the hosts, on the hosts that the fabric gives its ports.
    pub fn place(&self, workload: Workload) -> Workload {
        let (workload, folded) = self.network.place(workload);
        folded.iter().for_each(|line| output::note(line));
        workload
    }
}

impl NetworkOptions {
    /// Number of strict queues, if they are given.
    pub fn switch_queues(&self) -> Option<u32> {
        self.switch_queues
    }

    /// Checks the options. Without `isolated` all hosts are on loopback.
    pub fn check(&self, isolated: bool) -> Result<Emulation, Failure> {
        let link = quantity::rate("--link", &self.link)?;
        if link < MIN_LINK {
            return Err(Failure::argument("--link", "8kbps or more", format!("'{}'", self.link)));
        }
        let background = share("--background", &self.background)?;
        let ecn = self.ecn.as_deref().map(|text| quantity::time("--ecn", text)).transpose()?;
        let has_core = !self.fabric.trim().eq_ignore_ascii_case(BIG_SWITCH);
        let of_links =
            background > 0.0 || self.switch_queues.is_some() || ecn.is_some() || has_core;
        if !isolated && of_links {
            let what = "hosts on links of their own, which need root";
            let options = "--background, --switch-queues, --ecn, --fabric";
            return Err(Failure::argument(options, what, "loopback"));
        }
        if self.switch_queues.is_some_and(|queues| !(2..=8).contains(&queues)) {
            let found = self.switch_queues.unwrap_or_default();
            return Err(Failure::argument("--switch-queues", "from 2 to 8", found));
        }
        if ecn.is_some_and(|waited_s| !(1e-6..=10.0).contains(&waited_s)) {
            let found = self.ecn.as_deref().unwrap_or_default();
            return Err(Failure::argument("--ecn", "from 1us to 10s", format!("'{found}'")));
        }
        if has_core && background > 0.0 {
            // Background traffic would load some uplinks and not others. The simulator has nothing
            // like that.
            let expected = format!("0% with a fabric other than {BIG_SWITCH}");
            return Err(Failure::argument("--background", expected, &self.background));
        }
        let (network, core) = self.network(link)?;
        let hosts = network.fabric().ports();
        if !(2..=64).contains(&hosts) {
            let option = if core.is_some() { "--fabric" } else { "--hosts" };
            return Err(Failure::argument(option, "from 2 to 64 hosts", hosts));
        }
        let simulated = core.map_or_else(
            || BIG_SWITCH.to_owned(),
            |Core { leaves, spines, uplink_bps }| {
                let (each, uplink_bps) = (hosts / leaves, uplink_bps * PAYLOAD);
                format!(
                    "{LEAF_SPINE}:leaves={leaves},spines={spines},hosts={each},\
                     uplink={uplink_bps}bps,place=pack"
                )
            },
        );
        let links = Links {
            hosts,
            link_bps: link * 8.0,
            queues: self.switch_queues,
            core,
            ecn: ecn.map(Duration::from_secs_f64),
        };
        let (port_rate, background_rate) = (link * (1.0 - background) * PAYLOAD, link * background);
        Ok(Emulation { links, simulated, port_rate, background_rate, network })
    }

    /// The network on links of this speed, and its core if it has one.
    fn network(&self, link: f64) -> Result<(Network, Option<Core>), Failure> {
        let ports = self.hosts.unwrap_or(HOSTS);
        let network = Network::open(&self.fabric, ports, link).map_err(Error::from)?;
        let kind = network.spec().split(':').next().unwrap_or_default();
        if kind == BIG_SWITCH {
            return Ok((network, None));
        }
        let expected =
            |what: String| Err(Failure::argument("--fabric", what, format!("'{}'", self.fabric)));
        if kind != LEAF_SPINE {
            return expected(format!(
                "{BIG_SWITCH} or {LEAF_SPINE}:…, whose switches are emulated"
            ));
        }
        let fabric = network.fabric();
        let hosts = fabric.ports();
        if self.hosts.is_some_and(|given| given != hosts) {
            let found = self.hosts.unwrap_or_default();
            let what = format!("{hosts}, as --fabric says, or nothing");
            return Err(Failure::argument("--hosts", what, found));
        }
        if network.spec().split([':', ',']).any(is_ignored) {
            return expected(
                "ecmp=flow and no latency: kernels hash, and links have none".to_owned(),
            );
        }
        let leaves = (0..hosts).map(|host| fabric.edge_switch(covey_core::PortId(host)));
        let leaves = leaves.max().map_or(1, |last| last + 1);
        let inner = fabric.inner_links();
        let spines = (inner.len() / 2) as u32 / leaves;
        if spines == 0 || spines > 64 {
            return expected("from 2 leaves, and from 1 to 64 spines".to_owned());
        }
        let uplink_bps = fabric.capacity()[inner.start] * 8.0;
        Ok((network, Some(Core { leaves, spines, uplink_bps })))
    }
}

/// Whether a parameter of a fabric means nothing here.
fn is_ignored(item: &str) -> bool {
    item.starts_with("latency=")
        || item.starts_with("seed=")
        || item.starts_with("ecmp=") && item != "ecmp=flow"
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

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        network: NetworkOptions,
    }

    fn checked(line: &str) -> Result<Emulation, String> {
        let words = ["testbed"].into_iter().chain(line.split_whitespace());
        let line = Line::try_parse_from(words).map_err(|error| error.to_string())?;
        line.network.check(true).map_err(|error| format!("{error:?}"))
    }

    #[test]
    fn a_fabric_has_its_leaves_and_spines_and_the_simulator_the_speeds_of_flows() {
        let fabric = "--fabric leaf-spine:leaves=4,spines=2,hosts=3";
        let found = checked(fabric).expect("a network");
        let core = Core { leaves: 4, spines: 2, uplink_bps: 1e8 };
        assert_eq!((found.links.hosts, found.links.core), (12, Some(core)));
        assert_eq!(
            found.simulated,
            "leaf-spine:leaves=4,spines=2,hosts=3,uplink=92000000bps,place=pack"
        );
        assert_eq!(found.port_rate, 11.5e6);
        let slow = checked(&format!("{fabric},uplink=50mbps")).expect("a network");
        assert_eq!(slow.links.core.map(|core| core.uplink_bps), Some(5e7));
        // Ports go round the leaves.
        let flow = |src, dst| covey_trace::Flow { src, dst, bytes: 1.0, start_s: 0.0 };
        let coflow = covey_trace::Coflow::new("1".to_owned(), 0.0, vec![flow(1, 4)]);
        let placed = found.place(Workload::new(12, vec![coflow]));
        let flow = placed.coflows[0].flows[0];
        assert_eq!((flow.src, flow.dst), (3, 1));

        let found = checked("").expect("a network");
        assert_eq!((found.links.hosts, found.links.core), (16, None));
        assert_eq!(found.simulated, "big-switch");
    }

    #[test]
    fn networks_that_cannot_be_emulated_are_refused() {
        let fabric = "--fabric leaf-spine:leaves=4,spines=2,hosts=3";
        for (line, what) in [
            ("--hosts 1".to_owned(), "--hosts: expected from 2 to 64 hosts, found 1"),
            (format!("{fabric} --hosts 9"), "--hosts: expected 12, as --fabric says"),
            (format!("{fabric}0"), "--fabric: expected from 2 to 64 hosts, found 120"),
            (format!("{fabric},ecmp=spray"), "expected ecmp=flow"),
            (format!("{fabric},latency=1ms"), "expected ecmp=flow and no latency"),
            (format!("{fabric} --background 50%"), "--background: expected 0% with a fabric"),
            ("--fabric fat-tree:k=4".to_owned(), "expected big-switch or leaf-spine:"),
            ("--fabric leaf-spine:leaves=4,spines=0,hosts=3".to_owned(), "leaf-spine"),
            ("--fabric leafspine:leaves=4".to_owned(), "did you mean 'leaf-spine'?"),
            ("--switch-queues 9".to_owned(), "--switch-queues: expected from 2 to 8, found 9"),
            ("--ecn 11s".to_owned(), "--ecn: expected from 1us to 10s, found '11s'"),
            ("--background 91%".to_owned(), "--background: expected from 0% to 90%"),
        ] {
            let error = checked(&line).map(|_| ()).expect_err(&line);
            assert!(error.contains(what), "{line}: {error}");
        }
    }
}
