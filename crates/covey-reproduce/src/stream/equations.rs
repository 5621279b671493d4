//! Equations 2 to 6 and Algorithm 1: answers that follow by hand.

use covey_stream::{Condition, Equation, Rules, sub_coflow_id};

use crate::finding::{Finding, Rule, Setting};
use crate::item::{Item, Planning};

/// The priority of a sub-coflow of which `mb` megabytes have come at once, with α = 0.
fn priority(equation: Equation, mb: f64) -> f64 {
    let thresholds = vec![10e6, 100e6, 1000e6];
    let rules = Rules { thresholds, equation, alpha: 0.0, beta: 1.0, weight: 1.0 };
    let known = Condition { peers_bytes: 0.0, others: 0, flows: 1, ended: 0 };
    f64::from(rules.priority(0, &known, mb * 1e6))
}

pub(super) const EQUATION_2: Item = Item {
    place: "Equation 2",
    section: "III-B",
    shows: "priority by bytes received, four queues",
    plan: Planning::Runs(|_| {
        Ok(Box::new(|_, section| {
            section.note(
                "Priorities count from 0, the highest. The threshold of the first queue is 10 MB \
                 and α is 0. The printed equation uses the threshold of the present queue; a walk \
                 leaves each queue at its own.",
            );
            let printed = [(13.3, 0), (13.4, 1), (20.0, 2), (39.0, 2), (40.0, 3), (45.0, 3)]
                .map(|x| (Equation::Literal, x));
            let walk = [(9.9, 0), (10.0, 1), (45.0, 1), (100.0, 2), (1000.0, 3)]
                .map(|x| (Equation::Walk, x));
            for (equation, (mb, by_hand)) in printed.into_iter().chain(walk) {
                let name = if equation == Equation::Walk { "walk" } else { "as printed" };
                let by_hand = f64::from(by_hand);
                section.add(
                    Finding::new(
                        format!("{name}, {mb} MB"),
                        Setting::FairComparison,
                        &[],
                        priority(equation, mb),
                    )
                    .unit("")
                    .says(format!("by hand {by_hand}"), Rule::Between(by_hand, by_hand))
                    .check(),
                );
            }
            Ok(())
        }))
    }),
};

pub(super) const ALGORITHM_1: Item = Item {
    place: "Algorithm 1",
    section: "III-C",
    shows: "ids of sub-coflows",
    plan: Planning::Runs(|_| {
        Ok(Box::new(|_, section| {
            for (proposals, id) in [(&[2, 2][..], 3.0), (&[2, 3], 3.0), (&[4], 4.0)] {
                let ours = f64::from(sub_coflow_id(proposals.iter().copied()));
                section.add(
                    Finding::new(
                        format!("parents propose {proposals:?}"),
                        Setting::FairComparison,
                        &[],
                        ours,
                    )
                    .unit("")
                    .says(format!("by hand {id}"), Rule::Between(id, id))
                    .check(),
                );
            }
            Ok(())
        }))
    }),
};

/// Mean waiting times of `queues` queues that divide a load equally (Equation 6), in service times.
fn waits(queues: u32, load: f64) -> Vec<f64> {
    let each = load / f64::from(queues);
    let mut product = 1.0;
    let one = |k: u32| {
        product *= 1.0 - each * f64::from(k);
        1.0 / product
    };
    (1..=queues).map(one).collect()
}

pub(super) const THEOREM_1: Item = Item {
    place: "Theorem 1",
    section: "III-D",
    shows: "utility of the last of K queues (Equation 6)",
    plan: Planning::Runs(|_| {
        Ok(Box::new(|_, section| {
            section.note(
                "A load of 0.9 is divided equally among K queues. The utility of a queue is one \
                 over its waiting time. As printed, Equation 6 has a factor for every queue \
                 before; Kleinrock's formula has two.",
            );
            let setting = Setting::FairComparison;
            let utility = |queues| 1.0 / waits(queues, 0.9).last().copied().unwrap_or(f64::NAN);
            for queues in [1, 2, 4, 8, 16] {
                let what = format!("K = {queues}: utility of the last queue");
                section.add(Finding::new(what, setting, &[], utility(queues)).unit(""));
            }
            section.add(
                Finding::new("K = 64: utility of the last queue", setting, &[], utility(64))
                    .unit("")
                    .says("tends to 0", Rule::AtMost(1e-3))
                    .check(),
            );
            let growth =
                waits(64, 0.9).windows(2).map(|two| two[1] / two[0]).fold(f64::INFINITY, f64::min);
            section.add(
                Finding::new(
                    "least ratio of waiting times of adjacent queues",
                    setting,
                    &[],
                    growth,
                )
                .unit("")
                .says("lower queues wait no less", Rule::AtLeast(1.0))
                .check(),
            );
            Ok(())
        }))
    }),
};
