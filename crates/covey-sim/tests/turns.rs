//! A plan that is kept leads to the same whether it is walked by turns or whole.

use proptest::prelude::*;

use crate::common::{Kind, as_trace, policy, same_time};
use covey_sim::Simulator;

/// Policies that keep their plans, by each rule.
const KEPT: [&str; 14] = [
    "fifo",
    "fifo:share=matching",
    "fifo:share=madd",
    "sebf",
    "sebf:share=matching-by-load",
    "sebf:share=proportional",
    "scf",
    "ncf",
    "lcf:work_conservation=none",
    "aalo:queues=strict,delta=0,q1=2",
    "aalo:work_conservation=all,share=equal,q1=2,K=3",
    "aalo-oracle:q1=2",
    "covey:prior=2,pilots=flows:0.4",
    "covey:prior=1,T=1s,d0=1s,d=1,phi=0.4",
];

proptest! {
    #![proptest_config(crate::common::cases(200))]

    #[test]
    fn by_turns_or_whole_is_the_same(
        workload in crate::common::workload(Kind::Generic),
        fabric in crate::common::fabric(),
    ) {
        for spec in KEPT {
            let ends = |many: usize| {
                let mut simulator = Simulator::new(fabric.clone()).by_turns_above(many);
                let outcome = simulator.run(&workload, spec, &mut policy(spec), &mut ()).unwrap();
                outcome.flow_completion_s
            };
            let (by_turns, whole) = (ends(0), ends(usize::MAX));
            let same = by_turns.iter().zip(&whole).all(|(a, b)| same_time(*a, *b));
            prop_assert!(
                same,
                "{} on {:?}\n{}by turns {:?}\nwhole    {:?}",
                spec, fabric.capacity(), as_trace(&workload), by_turns, whole
            );
        }
    }
}
