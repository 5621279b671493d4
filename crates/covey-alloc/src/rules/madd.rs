//! MADD: minimum allocation for desired duration (Varys, SIGCOMM 2014, §5.2).
//!
//! No flow of a coflow need end before the slowest. Let Γ be the largest, over links, of bytes left
//! over free capacity. Rates of (bytes left) / Γ let all flows end together after Γ, and take the
//! least that this needs.

use super::sharing::{EntryFlows, Rates, RuleScratch, SharingRule};
use crate::error::PlanError;
use covey_core::Rule;
use covey_core::sets::simd::min_by_lane;

#[derive(Debug)]
pub struct Madd {
    /// The coflow need not end before so many seconds have passed (Varys §5.3).
    pub within_s: Option<f64>,
}

impl Madd {
    /// The largest ratio of a flow's rate to what is left of it that the rule gives, for bytes left
    /// in multiples of `scale`.
    fn limit(&self, scale: f64) -> f64 {
        self.within_s.map_or(f64::INFINITY, |seconds| scale / seconds)
    }
}

impl SharingRule for Madd {
    fn share(
        &self,
        flows: &mut EntryFlows<'_>,
        free: &mut [f64],
        rates: &mut Rates,
        _: &mut RuleScratch,
    ) -> Result<(), PlanError> {
        let progress = flows.coflow.progress();
        rates.madd_ratio = least_ratio(free, &progress.link_left).min(self.limit(progress.scale));
        for (free, left) in free.iter_mut().zip(&progress.link_left) {
            *free = rest(*free, *left, rates.madd_ratio);
        }
        Ok(())
    }

    fn in_backfill(&self, _: bool) -> Option<Rule> {
        Some(Rule::Proportional)
    }

    fn needs_all_links(&self) -> bool {
        true
    }

    fn needs_whole_coflow(&self) -> bool {
        true
    }
}

/// Whether a rule is MADD.
pub fn is_madd(rule: Rule) -> bool {
    matches!(rule, Rule::Madd | Rule::MaddWithin(_))
}

/// What is not used of what is `free` at a link.
fn rest(free: f64, left: f64, ratio: f64) -> f64 {
    (free - left * ratio).max(0.0)
}

/// What is `free` at a link over what is `left` there; infinite where nothing is left.
fn ratio(free: f64, left: f64) -> f64 {
    if left > 0.0 { free / left } else { f64::INFINITY }
}

/// The least of `free / left` over the links where something is left. It is 0 when one of them has
/// nothing free, or when nothing is left anywhere. With `left` in bytes this is 1 / Γ.
fn least_ratio(free: &[f64], left: &[f64]) -> f64 {
    let least = min_by_lane([free, left], |[free, left]| ratio(free, left));
    if least.is_finite() { least } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::least_ratio;

    #[test]
    fn the_slowest_link_decides() {
        assert_eq!(least_ratio(&[1.0, 1.0, 0.0], &[3.0, 2.0, 0.0]), 1.0 / 3.0);
        assert_eq!(least_ratio(&[1.0, 0.0], &[3.0, 2.0]), 0.0);
        assert_eq!(least_ratio(&[1.0], &[0.0]), 0.0);
    }
}
