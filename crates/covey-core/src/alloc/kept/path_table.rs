//! The paths of a coflow's flows as rows of equal length, in few bytes.
//!
//! Blocked flows are looked at in an order that memory does not follow, so the fewer bytes a path has, the less time a
//! look takes. `graviton` on 80 % of the Facebook trace, `fat-tree:k=8,place=pack`, takes 16.8 s of CPU with the paths
//! of the [`Demand`], 15.8 s with rows of 32-bit numbers, and 15.1 s with rows of 16-bit numbers.

use crate::demand::Demand;

/// The local links that flows of a coflow cross, by position. Rows are for the flows that were active when the table
/// was written.
#[derive(Debug, Default)]
pub struct PathTable {
    /// Links in each row: as many as the longest path has. Shorter paths have their first link several times.
    hops: usize,
    rows: Rows,
}

/// The numbers of all rows.
#[derive(Debug)]
enum Rows {
    Narrow(Vec<u16>),
    /// For coflows with more links than 16 bits can number.
    Wide(Vec<u32>),
}

impl Default for Rows {
    fn default() -> Rows {
        Rows::Narrow(Vec::new())
    }
}

impl PathTable {
    /// Writes the paths of all active flows.
    pub fn fill(&mut self, demand: &Demand) {
        self.fill_rows(demand, demand.links().len() <= usize::from(u16::MAX) + 1);
    }

    fn fill_rows(&mut self, demand: &Demand, are_narrow: bool) {
        if are_narrow != matches!(self.rows, Rows::Narrow(_)) {
            self.rows = if are_narrow { Rows::default() } else { Rows::Wide(Vec::new()) };
        }
        let hops = demand.active().map(|position| demand.whole_path(position).len());
        self.hops = hops.max().unwrap_or(0);
        match &mut self.rows {
            Rows::Narrow(rows) => write(rows, demand, self.hops, |l| l as u16),
            Rows::Wide(rows) => write(rows, demand, self.hops, |l| l),
        }
    }

    /// The first link on the path of a flow at which nothing is `free`; the number of links if there is none.
    #[inline]
    pub fn full_link(&self, position: usize, free: &[f64]) -> usize {
        let row = position * self.hops..(position + 1) * self.hops;
        match &self.rows {
            Rows::Narrow(links) => first_full(&links[row], free),
            Rows::Wide(links) => first_full(&links[row], free),
        }
    }
}

/// Writes the paths of active flows into rows of `hops` numbers.
fn write<N: Copy + Default>(
    rows: &mut Vec<N>,
    demand: &Demand,
    hops: usize,
    number: impl Fn(u32) -> N,
) {
    rows.resize(demand.width() * hops, N::default());
    for position in demand.active() {
        let path = demand.whole_path(position);
        let row = &mut rows[position * hops..][..hops];
        for (k, written) in row.iter_mut().enumerate() {
            *written = number(*path.get(k).unwrap_or(&path[0]));
        }
    }
}

/// Looks at all links, from the last to the first. A loop that stops at a full link takes a branch that is hard to
/// predict, and 1 to 3 % more CPU.
#[inline]
fn first_full<N: Copy + Into<u32>>(path: &[N], free: &[f64]) -> usize {
    let links = path.iter().rev().map(|&l| l.into() as usize);
    links.fold(free.len(), |full, l| if free[l] <= 0.0 { l } else { full })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demand::Builder;
    use crate::fabric::{Ecmp, EcmpMode, FatTree};
    use crate::ids::PortId;
    use crate::split_mix::SplitMix;

    #[test]
    fn the_first_full_link_of_each_path_is_found_in_rows_of_either_width() {
        let mut random = SplitMix::new(5);
        let mut below = move |n: u64| random.next_u64() % n;
        let ecmp = Ecmp { mode: EcmpMode::Flow, seed: 1 };
        let fabric = FatTree::new(4, ecmp).unwrap().fabric(1.0, 1.0).unwrap();
        let flows: Vec<(PortId, PortId)> =
            (0..60).map(|_| (PortId(below(16) as u32), PortId(below(16) as u32))).collect();
        let mut demand = Demand::default();
        demand.rebuild(&fabric, u64::from, flows.iter().copied(), &mut Builder::default());
        let mut table = PathTable::default();
        // Paths have two, four or six links, and not all flows are active.
        for (started, are_narrow) in [(20, true), (40, false), (60, true), (60, false)] {
            (0..started).for_each(|position| demand.start(position));
            table.fill_rows(&demand, are_narrow);
            for _ in 0..20 {
                let links = demand.links().len();
                let free: Vec<f64> = (0..links).map(|_| below(4).min(1) as f64).collect();
                for position in demand.active() {
                    let full = demand.path(position).find(|&l| free[l] <= 0.0);
                    assert_eq!(table.full_link(position, &free), full.unwrap_or(links));
                }
            }
        }
    }
}
