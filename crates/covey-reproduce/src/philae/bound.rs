//! Equation 1: the completion time that two coflows lose because their sizes are estimated.
//!
//! Coflows 1 and 2 with `c n₁` and `c n₂` flows share their ports, so one is sent after the other,
//! and the time to send a coflow is proportional to its bytes. With known sizes the smaller coflow
//! goes first. With unknown sizes the coflow with the smaller estimate goes first: the mean of `m`
//! sampled flows times the number of flows. Flow sizes are independent draws from [a, b] with mean
//! μ. For c → ∞, the estimates increase the total completion time by a share of
//!
//! ```text
//! ≤ 4 exp(-2 (n₂μ₂ - n₁μ₁)² / (n₂(b₂-a₂)/√m₂ + n₁(b₁-a₁)/√m₁)²) (n₂μ₂ - n₁μ₁) / (n₂μ₂ + 2n₁μ₁)
//! ```

use covey_trace::java_random::JavaRandom;

use crate::finding::{Finding, Rule, Setting};
use crate::item::{Item, Planning};
use crate::plots::curves;

/// Number of draws for each point.
const TRIALS: u32 = 20_000;
/// Sizes of the second coflow over the first.
const RATIOS: [f64; 9] = [1.02, 1.05, 1.1, 1.2, 1.4, 1.7, 2.0, 3.0, 4.0];
/// Numbers of pilots of each coflow.
const PILOTS: [u32; 3] = [1, 4, 16];

/// The bound, for coflows that differ only in the sizes of their flows: n₁ = n₂ = 1, μ₁ = 1,
/// μ₂ = `ratio`, and sizes from 0 to 2μ.
fn bound(ratio: f64, pilots: u32) -> f64 {
    let difference = ratio - 1.0;
    let spread = (2.0 * ratio + 2.0) / f64::from(pilots).sqrt();
    4.0 * (-2.0 * (difference / spread).powi(2)).exp() * difference / (ratio + 2.0)
}

/// The mean share that is lost, over [`TRIALS`] draws of the pilots.
fn simulated(ratio: f64, pilots: u32) -> f64 {
    let mut random = JavaRandom::new(1);
    let mut sample =
        |mean: f64| -> f64 { (0..pilots).map(|_| 2.0 * mean * random.next_double()).sum::<f64>() };
    let wrong = (0..TRIALS).filter(|_| sample(1.0) > sample(ratio)).count();
    // In the wrong order the smaller coflow waits for the larger one.
    wrong as f64 / f64::from(TRIALS) * (ratio - 1.0) / (ratio + 2.0)
}

pub(super) const EQUATION_1: Item = Item {
    place: "Equation 1",
    section: "3.2",
    shows: "completion time lost by estimating the sizes of two coflows: bound and simulation",
    plan: Planning::Runs(|_| {
        Ok(Box::new(|_, section| {
            section.note(format!(
                "Two coflows have the same ports and equally many flows. Sizes are uniform from 0 to twice the \
                 mean, and the second coflow's mean is 1.02 to 4 times the first's. Each point has {TRIALS} \
                 draws of the pilots (java.util.Random, seed 1). The loss is relative to the total \
                 completion time with known sizes. The bound is loose: it follows from Hoeffding's \
                 inequality, which holds for any distribution."
            ));
            let mut drawn = Vec::new();
            for pilots in PILOTS {
                let points = |value: fn(f64, u32) -> f64| -> Vec<[f64; 2]> {
                    RATIOS.iter().map(|&ratio| [ratio, 100.0 * value(ratio, pilots)]).collect()
                };
                let (bounds, ours) = (points(bound), points(simulated));
                let tightest =
                    bounds.iter().zip(&ours).map(|(b, o)| o[1] / b[1]).fold(0.0, f64::max);
                let what = format!("pilots: {pilots}; simulated over bound, at most");
                section.add(
                    Finding::new(what, Setting::PapersSetting, &[], tightest)
                        .unit("")
                        .says("the loss is at most the bound", Rule::AtMost(1.0))
                        .check(),
                );
                drawn.push((format!("bound, {pilots} pilots"), bounds));
                drawn.push((format!("simulated, {pilots} pilots"), ours));
            }
            section.figures.push(curves(
                "Loss from unknown sizes",
                ["size of the larger coflow over the smaller", "%"],
                drawn,
                "The loss is small with many pilots, and for sizes that are nearly equal or very different.",
            ));
            Ok(())
        }))
    }),
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_pilots_lose_less_and_no_loss_exceeds_the_bound() {
        for ratio in RATIOS {
            let lost = PILOTS.map(|pilots| simulated(ratio, pilots));
            assert!(lost.is_sorted_by(|a, b| a >= b), "{ratio} {lost:?}");
            assert!(PILOTS.iter().zip(lost).all(|(&pilots, lost)| lost <= bound(ratio, pilots)));
        }
        // With one pilot each, P[X > rY] = 1/(2r) for uniform X and Y.
        assert!((simulated(2.0, 1) - 0.25 / 4.0).abs() < 0.002);
    }
}
