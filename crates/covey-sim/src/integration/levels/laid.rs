//! The flows of a coflow, as its [`Demand`] lays them out: a flow's number is its position.

use std::ops::Range;

use covey_core::Demand;

use super::inner_targets::InnerTargets;

/// Targets of the flows of a [`Demand`]; those of each link are contiguous. A flow has one target, at the link to
/// which it is attached.
#[derive(Debug, Default)]
pub(crate) struct Laid {
    /// Targets at the sender, by position.
    by_row: Vec<f64>,
    /// Targets at the receiver, in the order of `column`.
    by_column: Vec<f64>,
    /// Positions by receiver.
    column: Vec<u32>,
    /// The index in `column` of each receiver's first position, and the end of the last.
    column_start: Vec<u32>,
    /// The index in `column` of each position.
    place: Vec<u32>,
    /// Targets at inner links.
    inner: InnerTargets,
}

/// Which end of paths a local link is.
enum End {
    Sender,
    Receiver,
    Inner,
}

impl End {
    #[inline]
    fn of(demand: &Demand, link: usize) -> End {
        if link < demand.senders() {
            End::Sender
        } else if link < demand.senders() + demand.receivers() {
            End::Receiver
        } else {
            End::Inner
        }
    }
}

impl Laid {
    /// The link with the lowest level on the path of the flow at a position.
    #[inline]
    pub(super) fn lowest(&self, demand: &Demand, position: usize, levels: &[f64]) -> usize {
        let (s, r) = demand.ends(position);
        let lower = |a: usize, b: usize| if levels[b] < levels[a] { b } else { a };
        demand.inner_path(position).fold(lower(r, s), lower)
    }

    /// Removes all targets.
    pub(super) fn clear(&mut self, demand: &Demand) {
        self.lay_columns(demand);
        for targets in [&mut self.by_row, &mut self.by_column] {
            targets.clear();
            targets.resize(demand.width(), f64::INFINITY);
        }
        self.inner.clear(demand);
    }

    /// A flow's target at a link on its path; infinite if it has none there.
    pub(super) fn target(&self, demand: &Demand, position: usize, link: usize) -> f64 {
        match End::of(demand, link) {
            End::Sender => self.by_row[position],
            End::Receiver => self.by_column[self.place[position] as usize],
            End::Inner => self.inner.target(demand, position, link),
        }
    }

    /// Sets a flow's target at a link on its path.
    pub(super) fn set_target(
        &mut self,
        demand: &Demand,
        position: usize,
        link: usize,
        target: f64,
    ) {
        match End::of(demand, link) {
            End::Sender => self.by_row[position] = target,
            End::Receiver => self.by_column[self.place[position] as usize] = target,
            End::Inner => self.inner.set_target(demand, position, link, target),
        }
    }

    /// The targets at a link, including infinite ones.
    pub(super) fn targets(&self, demand: &Demand, link: usize) -> &[f64] {
        match End::of(demand, link) {
            End::Sender => &self.by_row[demand.row(link)],
            End::Receiver => &self.by_column[self.column_of(demand, link)],
            End::Inner => self.inner.at(demand, link).0,
        }
    }

    /// The flow that has the `k`th target at a link.
    pub(super) fn flow(&self, demand: &Demand, link: usize, k: usize) -> usize {
        match End::of(demand, link) {
            End::Sender => demand.row(link).start + k,
            End::Receiver => self.column[self.column_of(demand, link).start + k] as usize,
            End::Inner => self.inner.at(demand, link).1[k] as usize,
        }
    }

    /// Sorts positions by receiver.
    fn lay_columns(&mut self, demand: &Demand) {
        let (senders, receivers) = (demand.senders(), demand.receivers());
        self.column_start.clear();
        self.column_start.resize(receivers + 1, 0);
        for &r in demand.receiver_links() {
            self.column_start[r as usize - senders] += 1;
        }
        let mut end = 0;
        for start in &mut self.column_start {
            end += *start;
            *start = end;
        }
        self.column.clear();
        self.column.resize(demand.width(), 0);
        self.place.clear();
        self.place.resize(demand.width(), 0);
        for (p, &r) in demand.receiver_links().iter().enumerate().rev() {
            let start = &mut self.column_start[r as usize - senders];
            *start -= 1;
            self.column[*start as usize] = p as u32;
            self.place[p] = *start;
        }
    }

    /// The range in `column` of a receiver's positions.
    fn column_of(&self, demand: &Demand, link: usize) -> Range<usize> {
        let k = link - demand.senders();
        self.column_start[k] as usize..self.column_start[k + 1] as usize
    }
}
