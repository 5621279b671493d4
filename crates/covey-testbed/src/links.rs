//! The links of a testbed, and the switches that they join.

use std::ops::Range;
use std::time::Duration;

/// Prefix of the names of all namespaces.
pub const PREFIX: &str = "covey-tb-";

/// The links of a testbed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Links {
    /// Number of hosts.
    pub hosts: u32,
    /// Speed of each host's link in each direction, in bits per second.
    pub link_bps: f64,
    /// Strict queues at the ends of links; `None`: one for each class selector, and plain traffic
    /// last.
    pub queues: Option<u32>,
    /// What joins the switches of the hosts; `None`: all hosts have one switch.
    pub core: Option<Core>,
    /// Switches mark packets that have waited longer (ECN); `None`: they mark none.
    pub ecn: Option<Duration>,
}

/// A leaf-spine network: each leaf has a link to each spine, and as many hosts as the others.
/// Leaves choose among spines by a hash of addresses and ports.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Core {
    /// Number of leaves.
    pub leaves: u32,
    /// Number of spines.
    pub spines: u32,
    /// Speed of each link between leaf and spine in each direction, in bits per second.
    pub uplink_bps: f64,
}

/// A switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Switch {
    /// The only one.
    Router,
    /// One of hosts.
    Leaf(u32),
    /// One of leaves.
    Spine(u32),
}

impl Switch {
    /// The name of its namespace.
    pub fn name(self) -> String {
        match self {
            Switch::Router => format!("{PREFIX}router"),
            Switch::Leaf(leaf) => format!("{PREFIX}leaf{leaf}"),
            Switch::Spine(spine) => format!("{PREFIX}spine{spine}"),
        }
    }
}

impl Links {
    /// All switches.
    pub fn switches(&self) -> Vec<Switch> {
        match self.core {
            None => vec![Switch::Router],
            Some(Core { leaves, spines, .. }) => {
                let leaves = (0..leaves).map(Switch::Leaf);
                leaves.chain((0..spines).map(Switch::Spine)).collect()
            }
        }
    }

    /// The switch that the coordinator runs on.
    pub fn first_switch(&self) -> Switch {
        self.core.map_or(Switch::Router, |_| Switch::Spine(0))
    }

    /// The switch that a host's link leads to.
    pub fn switch_of(&self, host: u32) -> Switch {
        match self.core {
            None => Switch::Router,
            Some(core) => Switch::Leaf(host / (self.hosts / core.leaves)),
        }
    }

    /// The hosts of a switch.
    pub fn hosts_of(&self, switch: Switch) -> Range<u32> {
        match (self.core, switch) {
            (None, Switch::Router) => 0..self.hosts,
            (Some(core), Switch::Leaf(leaf)) => {
                let each = self.hosts / core.leaves;
                leaf * each..(leaf + 1) * each
            }
            _ => 0..0,
        }
    }

    /// The links between switches: leaf and spine of each.
    pub fn uplinks(&self) -> impl Iterator<Item = (u32, u32)> + use<> {
        let (leaves, spines) = self.core.map_or((0, 0), |core| (core.leaves, core.spines));
        (0..leaves).flat_map(move |leaf| (0..spines).map(move |spine| (leaf, spine)))
    }

    /// The devices of a switch, each with the speed of its link in bits per second.
    pub fn devices(&self, switch: Switch) -> Vec<(String, f64)> {
        let hosts = self.hosts_of(switch).map(|host| (format!("h{host}"), self.link_bps));
        let uplink_bps = self.core.map_or(0.0, |core| core.uplink_bps);
        let inner = self.inner_devices(switch).into_iter().map(|device| (device, uplink_bps));
        hosts.chain(inner).collect()
    }

    /// The devices of a switch whose links lead to other switches.
    pub fn inner_devices(&self, switch: Switch) -> Vec<String> {
        let device = |(leaf, spine)| match switch {
            Switch::Leaf(this) if this == leaf => Some(format!("s{spine}")),
            Switch::Spine(this) if this == spine => Some(format!("l{leaf}")),
            _ => None,
        };
        self.uplinks().filter_map(device).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINKS: Links = Links {
        hosts: 6,
        link_bps: 1e8,
        queues: None,
        core: Some(Core { leaves: 2, spines: 3, uplink_bps: 5e7 }),
        ecn: None,
    };

    #[test]
    fn every_link_has_two_ends_and_every_host_a_switch() {
        let devices: usize = LINKS.switches().iter().map(|it| LINKS.devices(*it).len()).sum();
        assert_eq!(devices, 6 + 2 * 6);
        for host in 0..6 {
            assert!(LINKS.hosts_of(LINKS.switch_of(host)).contains(&host));
        }
        assert_eq!(LINKS.hosts_of(Switch::Leaf(1)), 3..6);
        let devices = LINKS.devices(Switch::Spine(2));
        assert_eq!(devices, [("l0".to_owned(), 5e7), ("l1".to_owned(), 5e7)]);
    }

    #[test]
    fn one_switch_has_all_hosts() {
        let links = Links { core: None, ..LINKS };
        assert_eq!(links.switches(), [links.first_switch()]);
        assert_eq!(links.devices(Switch::Router).len(), 6);
        assert_eq!(links.switch_of(5), Switch::Router);
    }
}
