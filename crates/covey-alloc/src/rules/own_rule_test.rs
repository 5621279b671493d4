//! CONTRIBUTING.md shows `own_rule.rs`. Markdown cannot include a file, so there are two copies of
//! the text; a test keeps them equal, and another one runs the rule.

use covey_core::state::{FlowSpec, Registration, State};
use covey_core::{Fabric, FlowId, Group, PortId};

use super::own_rule::AtMostATenth;
use super::sharing::{EntryFlows, Rates, RuleScratch, SharingRule};

#[test]
fn contributing_shows_the_rule_that_is_compiled() {
    let shown = format!("```rust\n{}```\n", include_str!("own_rule.rs"));
    assert!(
        include_str!("../../../../CONTRIBUTING.md").contains(&shown),
        "copy crates/covey-alloc/src/rules/own_rule.rs into CONTRIBUTING.md"
    );
}

#[test]
fn no_flow_takes_more_than_a_tenth_of_a_link() {
    let mut state = State::new(Fabric::big_switch(2, 10.0).unwrap());
    let flow = FlowSpec { src: PortId(0), dst: PortId(1), bytes: 1.0 };
    let id = state.register(Registration::default(), [flow; 2].into_iter());
    (0..2).for_each(|index| state.start(FlowId { coflow: id, index }));
    let mut flows = EntryFlows {
        coflow: state.coflow(id),
        group: Group::Coflow(id),
        capacity: state.fabric().capacity(),
    };
    let (mut rates, mut free) = (Rates::default(), [10.0, 1.5]);
    AtMostATenth.share(&mut flows, &mut free, &mut rates, &mut RuleScratch::default()).unwrap();
    let found: Vec<f64> = rates.single.iter().map(|flow| flow.rate).collect();
    assert_eq!((found, free), (vec![1.0, 0.5], [8.5, 0.0]));
    assert_eq!(AtMostATenth.in_backfill(true), None);
}
