//! Rates kept by the kernel's hierarchical token bucket, in two levels (CODA §5.2).

mod netlink;
mod tree;

use covey_proto::FlowName;

use super::setup::{EnforcerInfo, Make, Setup, SetupError};
use crate::shaper::{ShapedFlows, Shaper};

pub use tree::Tree;

pub const INFO: EnforcerInfo = EnforcerInfo {
    name: "htb",
    about: "The kernel shapes flows at a device (HTB), applications hold those that are to wait; needs root",
    make: Make::Shaped(make),
};

fn make(setup: &Setup) -> Result<Box<dyn Shaper>, SetupError> {
    let device = setup.device.as_deref().unwrap_or_default();
    let rate = setup.link_rate.or_else(|| speed(device)).filter(|rate| *rate > 0.0);
    let rate = rate.ok_or_else(|| {
        let problem = format!("expected a rate like 10gbps, found none, and {device} says none");
        SetupError::new("--link-rate", problem)
    })?;
    let tree = Tree::make(device, rate).map_err(|error| {
        SetupError::new("--device", format!("{device} cannot be used: {error}"))
    })?;
    Ok(Box::new(Htb::new(tree)))
}

/// The speed of a device's link in bytes per second, as the device reports it.
fn speed(device: &str) -> Option<f64> {
    // In Mbit/s; below zero where the device does not know.
    let text = std::fs::read_to_string(format!("/sys/class/net/{device}/speed")).ok()?;
    let mbps: f64 = text.trim().parse().ok()?;
    Some(mbps * 1e6 / 8.0)
}

/// Shapes flows at a device: each flow has a class of its own.
pub struct Htb {
    tree: Tree,
    /// Whether a failure of the kernel has been logged. It is logged once.
    has_warned: bool,
}

impl Htb {
    /// Shapes flows by `tree`.
    pub fn new(tree: Tree) -> Htb {
        Htb { tree, has_warned: false }
    }
}

impl Shaper for Htb {
    fn shape(&mut self, flows: &ShapedFlows) {
        let ShapedFlows { ends, schedule, joined } = flows;
        let gone = |key: &FlowName| !ends.contains_key(key);
        // A flow that waits keeps its class: what its socket already holds must go no faster than
        // before.
        let idle = |key: &FlowName| !joined && !schedule.contains_key(key);
        let out: Vec<FlowName> = self.tree.flows().filter(|key| gone(key) || idle(key)).collect();
        out.into_iter().for_each(|key| self.tree.remove(key));
        let mut no_room = 0;
        for (&key, &ends) in ends {
            let service = schedule.get(&key).filter(|service| service.rate > 0.0);
            if let Some(&service) = service
                && !self.tree.set(key, ends, service)
            {
                no_room += 1;
            }
        }
        let done = self.tree.commit();
        if (no_room > 0 || done.is_err()) && !std::mem::replace(&mut self.has_warned, true) {
            let error = done.err().map(|error| error.to_string());
            tracing::warn!(no_room, error, "flows are not shaped as scheduled");
        }
    }
}
