//! Rates of flows, in the forms that they have besides water levels.

use covey_core::OptionalIndex;

/// The rate of one flow.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FlowRate {
    /// Position of the flow in its coflow's [`Demand`](covey_core::Demand).
    pub position: u32,
    /// Bytes per second.
    pub rate: f64,
}

/// How fast compression lessens what is left of one flow while the flow is sent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CompressionRate {
    /// Position of the flow in its coflow's [`Demand`](covey_core::Demand).
    pub position: u32,
    /// Bytes per second. They are taken from what is left, and use no link.
    pub rate: f64,
}

impl FlowRate {
    /// Sorts `rates` by position and adds up those of the same flow.
    pub fn merge(rates: &mut Vec<FlowRate>) {
        rates.sort_unstable_by_key(|flow| flow.position);
        rates.dedup_by(|next, kept| {
            let same = next.position == kept.position;
            kept.rate += if same { next.rate } else { 0.0 };
            same
        });
    }
}

/// Rates in proportion to what is left of each flow. A flow's *level by bytes left* is its rate in
/// bytes per second for each unit of [`Progress::left`](covey_core::state::Progress::left).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ByLeft<'a> {
    /// The lowest level of a flow. Zero where the coflow gets nothing.
    pub lowest: f64,
    /// The highest level of a flow. Zero where the coflow gets nothing.
    pub highest: f64,
    /// Level of each local link; a flow has the least level of its links. Empty when all flows have
    /// the same level.
    pub levels: &'a [f64],
    /// The local link that has this least level, by position; none for flows that were not active,
    /// or had nothing left. Empty when all flows have the same level.
    pub limits: &'a [OptionalIndex],
}

impl ByLeft<'_> {
    /// The part of what is left of a flow that its level beyond the lowest sends in `seconds` over
    /// [`Progress::scale`](covey_core::state::Progress::scale). The part is less than one: time
    /// decides which flows end, not bytes.
    #[inline]
    pub fn sent(lowest: f64, level: f64, seconds: f64) -> f64 {
        let part = (level - lowest) * seconds;
        if part < 1.0 - f64::EPSILON { part } else { 1.0 - f64::EPSILON }
    }

    /// The level that gives a flow the same rate as `level` did, once the bytes that `level` has
    /// [sent](ByLeft::sent) are taken from what is left. Levels keep their order, so a link's new
    /// level is the level of the flows that the link limits.
    #[inline]
    pub fn raise(lowest: f64, level: f64, seconds: f64) -> f64 {
        (level / (1.0 - ByLeft::sent(lowest, level, seconds))).min(f64::MAX)
    }

    /// Level by bytes left of the flow at `position`.
    #[inline] // Asked for each flow whose bytes a policy waits for.
    pub fn level(&self, position: usize) -> f64 {
        let limit = self.limits.get(position).and_then(|limit| limit.get());
        limit.map_or(self.lowest, |l| self.levels[l as usize])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_raised_level_keeps_the_rate_of_what_is_left() {
        let (lowest, level, left) = (0.5, 2.0, 3.0);
        for seconds in [0.0, 0.1, 0.4, 0.66] {
            let rest = left * (1.0 - ByLeft::sent(lowest, level, seconds));
            let rate = rest * ByLeft::raise(lowest, level, seconds);
            assert!((rate - left * level).abs() < 1e-12, "after {seconds}");
        }
        assert_eq!(ByLeft::raise(lowest, lowest, 9.0), lowest);
        // A link that limits no flow goes on to limit none; a flow at its end keeps something.
        assert_eq!(ByLeft::raise(lowest, f64::MAX, 0.1), f64::MAX);
        assert!(ByLeft::sent(lowest, level, 1.0) < 1.0);
    }

    #[test]
    fn in_two_steps_levels_rise_as_in_one() {
        let (lowest, level, first, second) = (0.5, 2.0, 0.2, 0.15);
        let both = first + second + lowest * first * second;
        let once = ByLeft::raise(lowest, level, both);
        let twice = ByLeft::raise(lowest, ByLeft::raise(lowest, level, first), second);
        assert!((once - twice).abs() < 1e-12 * once, "{once} {twice}");
    }
}
