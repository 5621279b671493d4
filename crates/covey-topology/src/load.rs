//! How busy a workload keeps the links of a network.

use covey_core::state::Registration;
use covey_core::{Fabric, LinkId, PortId};
use covey_trace::Workload;
use serde::{Deserialize, Serialize};

/// The load of the links of one tier. The time for which a link is busy is the bytes of all flows
/// that cross it, divided by its capacity: the least time in which it can carry them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tier {
    /// Name of the tier, such as `edge up`.
    pub tier: String,
    /// Number of its links.
    pub links: usize,
    /// Seconds for which a link is busy, the mean over all links.
    pub mean_busy_s: f64,
    /// Seconds for which the busiest link is busy.
    pub max_busy_s: f64,
    /// Name of the busiest link; the first of equals.
    pub busiest: String,
}

/// How busy a workload keeps one link of a network.
#[derive(Debug, Clone, PartialEq)]
pub struct LinkLoad {
    /// Name of the link, such as `edge 3 to agg 1`.
    pub link: String,
    /// Name of its tier.
    pub tier: String,
    /// Bytes of all flows that cross it.
    pub bytes: f64,
    /// Seconds for which it is busy: the bytes divided by its capacity.
    pub busy_s: f64,
}

impl LinkLoad {
    /// The load of each link of `fabric`, in the order of [`Tier::loads`]. The ports of `workload`
    /// are hosts.
    ///
    /// # Panics
    /// If the workload has more ports than the network.
    pub fn all(workload: &Workload, fabric: &Fabric) -> Vec<LinkLoad> {
        let bytes = bytes(workload, fabric);
        let load = |link: usize| LinkLoad {
            link: fabric.link_name(LinkId(link as u32)),
            tier: fabric.tier(LinkId(link as u32)).to_owned(),
            bytes: bytes[link],
            busy_s: bytes[link] / fabric.capacity()[link],
        };
        upwards_first(fabric).map(load).collect()
    }
}

impl Tier {
    /// The load of each tier of `fabric`, in the order in which an upward flow meets them: hosts'
    /// links up, inner links by number, hosts' links down. The ports of `workload` are hosts.
    ///
    /// # Panics
    /// If the workload has more ports than the network.
    pub fn loads(workload: &Workload, fabric: &Fabric) -> Vec<Tier> {
        let bytes = bytes(workload, fabric);
        let busy_s: Vec<f64> = bytes.iter().zip(fabric.capacity()).map(|(b, c)| b / c).collect();
        let mut tiers: Vec<(Tier, usize)> = Vec::new();
        let mut last = 0;
        for link in upwards_first(fabric) {
            let name = fabric.tier(LinkId(link as u32));
            if tiers.get(last).is_none_or(|(tier, _)| tier.tier != name) {
                let known = tiers.iter().position(|(tier, _)| tier.tier == name);
                last = known.unwrap_or(tiers.len());
                if known.is_none() {
                    let tier = name.to_owned();
                    let (max_busy_s, busiest) = (busy_s[link], String::new());
                    let empty = Tier { tier, links: 0, mean_busy_s: 0.0, max_busy_s, busiest };
                    tiers.push((empty, link));
                }
            }
            let (tier, busiest) = &mut tiers[last];
            tier.links += 1;
            tier.mean_busy_s += busy_s[link];
            if busy_s[link] > tier.max_busy_s {
                tier.max_busy_s = busy_s[link];
                *busiest = link;
            }
        }
        let finished = tiers.into_iter().map(|(tier, busiest)| Tier {
            mean_busy_s: tier.mean_busy_s / tier.links as f64,
            busiest: fabric.link_name(LinkId(busiest as u32)),
            ..tier
        });
        finished.collect()
    }
}

/// The numbers of all links in the order in which an upward flow meets their tiers.
fn upwards_first(fabric: &Fabric) -> impl Iterator<Item = usize> {
    let all = fabric.egress_links().chain(fabric.inner_links()).chain(fabric.ingress_links());
    all.filter(|link| fabric.is_link(LinkId(*link as u32)))
}

/// Bytes that cross each link.
fn bytes(workload: &Workload, fabric: &Fabric) -> Vec<f64> {
    let mut bytes = vec![0.0; fabric.links()];
    let mut path = Vec::new();
    for (seq, coflow) in (0..).zip(&workload.coflows) {
        let registration = Registration { seq, ..Registration::default() };
        for (index, flow) in (0..).zip(&coflow.flows) {
            path.clear();
            let number = registration.flow_number(index);
            fabric.path(PortId(flow.src), PortId(flow.dst), number, &mut path);
            path.iter().for_each(|link| bytes[link.index()] += flow.bytes);
        }
    }
    bytes
}
