//! How busy a workload keeps the links of a network, as a table.

use std::fmt;

use covey_topology::{Network, Tier};
use covey_trace::{Stats, Workload};
use serde::Serialize;

use crate::units::{count, decimals, fixed};

/// The load of a network's links, by tier. `Serialize` gives a part of the object of
/// `trace info --json --fabric`, `Display` the text for a terminal.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FabricLoad {
    /// Name of the fabric.
    pub fabric: String,
    /// The tiers, on a flow's way from its source.
    pub tiers: Vec<Tier>,
}

impl FabricLoad {
    /// The load by a workload that [`Network::place`] has placed.
    ///
    /// # Panics
    /// If the workload has more ports than the network.
    pub fn of(network: &Network, placed: &Workload) -> FabricLoad {
        let tiers = Tier::loads(placed, network.fabric());
        FabricLoad { fabric: network.spec().to_owned(), tiers }
    }
}

/// What `trace info` says of a trace. `Serialize` gives its JSON, `Display` the text for a
/// terminal.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TraceInfo {
    /// The trace alone.
    #[serde(flatten)]
    pub stats: Stats,
    /// The load of a network, if one was given.
    #[serde(flatten)]
    pub load: Option<FabricLoad>,
}

impl fmt::Display for TraceInfo {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(out, "{}", self.stats)?;
        self.load.iter().try_for_each(|load| write!(out, "\n{load}"))
    }
}

/// What the numbers mean.
pub(crate) const MEANING: &str = "A link is busy for the bytes of all flows that cross it, divided by its \
     capacity. No schedule ends sooner than the busiest link.";

/// The cells of the columns, a row for each tier: tier, links, mean, max, busiest link.
pub(crate) fn rows(tiers: &[Tier]) -> Vec<[String; 5]> {
    let digits = decimals(tiers.iter().flat_map(|tier| [tier.mean_busy_s, tier.max_busy_s]));
    let row = |tier: &Tier| {
        let [mean, max] = [tier.mean_busy_s, tier.max_busy_s].map(|s| fixed(s, digits));
        [tier.tier.clone(), count(tier.links), mean, max, tier.busiest.clone()]
    };
    tiers.iter().map(row).collect()
}

impl fmt::Display for FabricLoad {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let heading = ["tier", "links", "mean busy, s", "max busy, s", "busiest link"];
        let rows = rows(&self.tiers);
        let all = || std::iter::once(heading.map(str::to_owned)).chain(rows.iter().cloned());
        let width = |n: usize| all().map(|row| row[n].chars().count()).max().unwrap_or(0);
        let widths = [0, 1, 2, 3].map(width);
        writeln!(out, "Links of {}:", self.fabric)?;
        for [tier, links, mean, max, busiest] in all() {
            let [a, b, c, d] = widths;
            writeln!(out, "{tier:a$}  {links:>b$}  {mean:>c$}  {max:>d$}  {busiest}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let tier = |name: &str, links, max_busy_s| Tier {
            tier: name.to_owned(),
            links,
            mean_busy_s: max_busy_s / 2.0,
            max_busy_s,
            busiest: format!("{name} 0"),
        };
        let tiers = vec![tier("host up", 16, 2.0), tier("edge up", 1024, 10.0)];
        let load = FabricLoad { fabric: "fat-tree:k=4".to_owned(), tiers };
        let expected = "\
            Links of fat-tree:k=4:\n\
            tier     links  mean busy, s  max busy, s  busiest link\n\
            host up     16         1.000        2.000  host up 0\n\
            edge up  1,024         5.000       10.000  edge up 0\n";
        assert_eq!(load.to_string(), expected);
    }
}
