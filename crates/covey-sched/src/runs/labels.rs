//! Numbers that rise along an order, few of which change when the order does.

use covey_core::{CoflowId, Rank, Time};

use super::positions::Positions;

/// The label of a coflow. 0 and the largest number are never used.
pub(super) type Label = u128;

/// The largest gap between a coflow and one that is added behind it, so that many can be added one
/// behind the other.
const STEP: Label = 1 << 90;

/// The labels of coflows, which rise along their order.
#[derive(Debug, Default)]
pub(super) struct Labels {
    /// By coflow; 0 if it has none.
    of: Vec<Label>,
    /// Coflows whose labels have changed.
    changed: Vec<CoflowId>,
    /// Working memory: coflows before and behind one that finds no label between its neighbours'.
    before: Vec<CoflowId>,
    behind: Vec<CoflowId>,
}

impl Labels {
    /// The label of a coflow.
    #[inline]
    pub fn of(&self, coflow: CoflowId) -> Label {
        self.of[coflow.index()]
    }

    /// Removes the label of a coflow.
    pub fn remove(&mut self, coflow: CoflowId) {
        self.of[coflow.index()] = 0;
    }

    /// Gives each coflow that has moved a label between its neighbours', unless its label is there
    /// already. Returns the coflows whose labels have changed, by id, with their new labels.
    pub fn label_moved(
        &mut self,
        positions: &Positions,
    ) -> impl Iterator<Item = (CoflowId, Label)> + '_ {
        self.changed.clear();
        self.of.resize(positions.slots(), 0);
        // The next coflow that has not moved, and its label.
        let mut next: Option<(Rank, Label)> = None;
        for &(position, coflow) in positions.moved() {
            let before = positions.before(&position).map_or(0, |&(_, other)| self.of(other));
            if next.is_none_or(|(next, _)| next < position) {
                let behind = positions.behind(position).find(|(_, c)| !positions.is_moved(*c));
                let last = (Rank::new(u32::MAX, 0.0, (Time::NEVER, 0)), Label::MAX);
                next = Some(behind.map_or(last, |&(rank, other)| (rank, self.of(other))));
            }
            let Some((_, behind)) = next else { continue };
            let label = self.of(coflow);
            if before < label && label < behind {
                continue;
            }
            let room = ((behind - before) / 2).min(STEP);
            if room == 0 {
                self.spread(positions, position, coflow, before);
                next = None;
            } else {
                self.of[coflow.index()] = before + room;
                self.changed.push(coflow);
            }
        }
        self.changed.sort_unstable();
        self.changed.dedup();
        self.changed.iter().map(|&coflow| (coflow, self.of(coflow)))
    }

    /// Gives new labels to a coflow and its neighbours, in the smallest range of labels around one
    /// of them that holds few enough coflows. The number that counts as few grows with the range,
    /// but less than the range. So one coflow that arrives relabels O(log n) others in the mean
    /// (Bender, Cole, Demaine, Farach-Colton and Zito: Two simplified algorithms for maintaining
    /// order in a list). If 5,000 coflows arrive at one position between others, 9 are relabelled
    /// for each.
    fn spread(&mut self, positions: &Positions, position: Rank, coflow: CoflowId, around: Label) {
        const DENSEST: f64 = 4.0 / 3.0;
        let (before, behind) = (&mut self.before, &mut self.behind);
        before.clear();
        behind.clear();
        let mut first = position;
        let mut next = positions.behind(position).peekable();
        for bits in 1..=Label::BITS {
            let rest = Label::MAX >> (Label::BITS - bits);
            let (min, max) = (around & !rest, around | rest);
            while let Some(&(position, other)) = positions.before(&first)
                && self.of[other.index()] >= min
            {
                before.push(other);
                first = position;
            }
            // Labels of coflows that have moved are not valid yet.
            let is_within =
                |other: CoflowId| positions.is_moved(other) || self.of[other.index()] <= max;
            while let Some(&(_, other)) = next.next_if(|(_, other)| is_within(*other)) {
                behind.push(other);
            }
            let count = before.len() + 1 + behind.len();
            let room = rest / (count as Label + 1);
            if (count as f64) < libm::pow(DENSEST, f64::from(bits)) && room > 1 {
                let all = before.iter().rev().chain([&coflow]).chain(behind.iter());
                for (k, other) in (1..).zip(all) {
                    self.of[other.index()] = min + k * room;
                    self.changed.push(*other);
                }
                return;
            }
        }
    }
}
