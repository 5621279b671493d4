//! The constants of Stream's equations, and the equations.

/// Bytes of a megabyte, the unit of the bytes in Eq. 3.
const MEGABYTE: f64 = 1e6;

/// The largest value of the coflow's condition h (Eq. 3): a coflow of which little has come would
/// otherwise never be demoted.
const MAX_CONDITION: f64 = 2.0;

/// Quantities whose relative distance is below this are equal, because sums of bytes are rounded.
const ROUNDING: f64 = 1e-9;

/// How the priority follows from the thresholds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Equation {
    /// A walk through the queues: a sub-coflow leaves a queue once its weighted bytes reach the
    /// queue's threshold, as the text describes it.
    Walk,
    /// Eq. 2, 4 and 5 as they are printed, with the threshold of the queue in which the sub-coflow
    /// is. With threshold τ and K queues, priority j begins at τ·K/(K − j).
    Literal,
}

/// What of Eq. 3 to 5 a receiver knows beside its own bytes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Condition {
    /// Bytes that the peers have received, as far as the receiver has heard: S.
    pub peers_bytes: f64,
    /// Number of other sub-coflows of the coflow that are known: m.
    pub others: u32,
    /// Flows seen so far: n.
    pub flows: u32,
    /// Flows of these that have ended.
    pub ended: u32,
}

/// The constants of Eq. 2 to 5. Priorities are counted from 0, which is the highest.
#[derive(Debug, Clone, PartialEq)]
pub struct Rules {
    /// Threshold of each queue but the last, in bytes, ascending: τ.
    pub thresholds: Vec<f64>,
    /// The reading of Eq. 2, 4 and 5.
    pub equation: Equation,
    /// How much the condition of a coflow counts: α in Eq. 2.
    pub alpha: f64,
    /// How much the bytes of peers count: β in Eq. 5.
    pub beta: f64,
    /// The factor of the weight W (Eq. 4); 0 for no weight.
    pub weight: f64,
}

impl Default for Rules {
    /// Four queues, which end at 10 MiB, 100 MiB and 1000 MiB, and all of Eq. 2 to 5.
    fn default() -> Rules {
        let first = 10.0 * f64::from(1 << 20);
        Rules {
            thresholds: vec![first, 10.0 * first, 100.0 * first],
            equation: Equation::Walk,
            alpha: 0.5,
            beta: 1.0,
            weight: 1.0,
        }
    }
}

impl Rules {
    /// Number of queues: K.
    pub fn queues(&self) -> u32 {
        self.thresholds.len() as u32 + 1
    }

    /// The weight W = max(1, a·ln(m + 1)) of Eq. 4. Without the lower limit, two known sub-coflows
    /// would promote a coflow.
    pub fn weight(&self, others: u32) -> f64 {
        (self.weight * libm::log1p(f64::from(others))).max(1.0)
    }

    /// The condition h = n_ended/n + n/X of a coflow (Eq. 3, over τ), with X in megabytes; at most
    /// 2.
    pub fn condition(&self, known: &Condition, bytes: f64) -> f64 {
        let flows = f64::from(known.flows);
        if flows == 0.0 {
            return 0.0;
        }
        (f64::from(known.ended) / flows + flows * MEGABYTE / bytes).min(MAX_CONDITION)
    }

    /// The priority of a sub-coflow that has received `bytes` and had priority `before`; no higher
    /// than that.
    pub fn priority(&self, before: u32, known: &Condition, bytes: f64) -> u32 {
        let weighted = self.weight(known.others) * (self.beta * known.peers_bytes + bytes);
        let raised = 1.0 + self.alpha * self.condition(known, bytes);
        match self.equation {
            Equation::Walk => {
                let rest = self.thresholds.iter().skip(before as usize);
                let left = rest.take_while(|&tau| weighted >= tau * raised * (1.0 - ROUNDING));
                before + left.count() as u32
            }
            Equation::Literal => {
                let Some(tau) = self.thresholds.get(before as usize) else { return before };
                let queues = f64::from(self.queues());
                let kept = (queues * (tau * raised / weighted).min(1.0) - ROUNDING).ceil();
                before.max((queues - kept.max(1.0)) as u32)
            }
        }
    }

    /// The number of received bytes at which a sub-coflow with this priority falls, if nothing else
    /// changes; infinite in the last queue.
    pub fn next_bytes(&self, priority: u32, known: &Condition) -> f64 {
        let Some(tau) = self.thresholds.get(priority as usize) else { return f64::INFINITY };
        let queues = f64::from(self.queues());
        let target = match self.equation {
            Equation::Walk => *tau,
            Equation::Literal => tau * queues / (queues - f64::from(priority + 1)),
        };
        // W(βS + X) = target·(1 + α·h(X)), and h(X) = min(2, ended + flows/X).
        let (weight, peers) = (self.weight(known.others), self.beta * known.peers_bytes);
        let flows = f64::from(known.flows) * MEGABYTE;
        if flows == 0.0 {
            return (target / weight - peers).max(0.0);
        }
        let ended = f64::from(known.ended) / f64::from(known.flows);
        let at_most = target * (1.0 + self.alpha * MAX_CONDITION) / weight - peers;
        if at_most * (MAX_CONDITION - ended) <= flows {
            return at_most.max(0.0);
        }
        let half = (peers - target * (1.0 + self.alpha * ended) / weight) / 2.0;
        let product = target * self.alpha * flows / weight;
        let root = (half * half + product).sqrt();
        // The same root in two forms, of which each is exact where the other cancels.
        if half > 0.0 { product / (root + half) } else { root - half }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALONE: Condition = Condition { peers_bytes: 0.0, others: 0, flows: 4, ended: 0 };

    fn rules(thresholds: &[f64], equation: Equation) -> Rules {
        let thresholds = thresholds.to_vec();
        Rules { thresholds, equation, alpha: 0.0, beta: 1.0, weight: 1.0 }
    }

    #[test]
    fn the_printed_equation_has_its_boundaries() {
        // KA10: K = 4, tau = 10 for every queue.
        let one = rules(&[10.0; 3], Equation::Literal);
        let found = [13.3, 13.4, 20.0, 39.0, 40.0, 1e9].map(|x| one.priority(0, &ALONE, x));
        assert_eq!(found, [0, 1, 2, 2, 3, 3]);
        // With thresholds that grow, each queue's own one counts: 13.3, 200, 4000.
        let three = rules(&[10.0, 100.0, 1000.0], Equation::Literal);
        let next = [0, 1, 2].map(|priority| three.next_bytes(priority, &ALONE));
        assert_eq!(next, [10.0 * 4.0 / 3.0, 200.0, 4000.0]);
        // A jump skips queues.
        assert_eq!(three.priority(0, &ALONE, 45.0), 3);
    }

    #[test]
    fn the_walk_leaves_a_queue_at_its_threshold() {
        // KA10.
        let walk = rules(&[10.0, 100.0, 1000.0], Equation::Walk);
        let found = [0.0, 9.9, 10.0, 45.0, 100.0, 1e9].map(|x| walk.priority(0, &ALONE, x));
        assert_eq!(found, [0, 0, 1, 1, 2, 3]);
        assert_eq!(
            [0, 1, 2, 3].map(|p| walk.next_bytes(p, &ALONE)),
            [10.0, 100.0, 1000.0, f64::INFINITY]
        );
    }

    #[test]
    fn priority_never_rises() {
        for equation in [Equation::Walk, Equation::Literal] {
            let rules = rules(&[10.0, 100.0, 1000.0], equation);
            assert_eq!(
                [0, 1, 2, 3].map(|before| rules.priority(before, &ALONE, 1.0)),
                [0, 1, 2, 3]
            );
        }
    }

    #[test]
    fn the_weight_grows_with_the_sub_coflows_known_and_never_promotes() {
        let rules = rules(&[10.0, 100.0, 1000.0], Equation::Walk);
        assert_eq!([0, 1].map(|others| rules.weight(others)), [1.0, 1.0]);
        assert_eq!(rules.weight(3), 4.0_f64.ln());
        assert_eq!(Rules { weight: 0.0, ..rules }.weight(3), 1.0);
    }

    #[test]
    fn bytes_of_peers_count_as_beta_says() {
        let rules = Rules { beta: 0.5, ..rules(&[10.0, 100.0], Equation::Walk) };
        let known = Condition { peers_bytes: 8.0, ..ALONE };
        assert_eq!(rules.next_bytes(0, &known), 6.0);
        assert_eq!([5.9, 6.0].map(|x| rules.priority(0, &known, x)), [0, 1]);
    }

    /// A coflow that is nearly complete, and one with many flows for its bytes, are kept longer.
    #[test]
    fn the_condition_of_a_coflow_raises_thresholds_by_at_most_twice_alpha() {
        let rules = Rules { alpha: 0.5, ..rules(&[10e6], Equation::Walk) };
        let with = |flows, ended| Condition { flows, ended, ..ALONE };
        assert_eq!(rules.condition(&with(4, 3), 8e6), 0.75 + 0.5);
        assert_eq!(rules.condition(&with(100, 0), 1e6), 2.0);
        assert_eq!(rules.next_bytes(0, &with(100, 0)), 20e6);
        let (few, complete) = (rules.next_bytes(0, &with(1, 0)), rules.next_bytes(0, &with(4, 3)));
        assert!(10e6 < few && few < complete && complete < 20e6, "{few} {complete}");
    }

    /// The inverse of [`Rules::priority`]: just below its result the priority stays, and there it
    /// falls.
    #[test]
    fn next_bytes_are_where_the_priority_falls() {
        for equation in [Equation::Walk, Equation::Literal] {
            let thresholds = &[10e6, 100e6, 1000e6];
            let rules = Rules { alpha: 0.5, beta: 0.7, ..rules(thresholds, equation) };
            let of = |peers: u32, others, flows, ended| Condition {
                peers_bytes: f64::from(peers) * 1e6,
                others,
                flows,
                ended,
            };
            for known in [of(0, 0, 1, 0), of(3, 4, 30, 12), of(90, 1, 8, 8), of(0, 9, 2000, 1)] {
                for priority in 0..3 {
                    let next = rules.next_bytes(priority, &known);
                    if next > 0.0 {
                        assert_eq!(rules.priority(priority, &known, next * (1.0 - 1e-6)), priority);
                    }
                    assert!(rules.priority(priority, &known, next) > priority, "{known:?} {next}");
                }
            }
        }
    }
}
