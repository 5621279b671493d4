//! Why coflows have no rate.

use covey_api::FullLink;
use covey_core::Time;
use covey_proto::{FlowKey, FromAgent, Use};

use super::super::CoordinatorState;
use super::helpers::*;

/// The numbers of coflows that wait, each with the reason.
fn reasons(core: &CoordinatorState) -> Vec<(u64, String)> {
    let (items, _) = waiting(core, 0, 100);
    items.into_iter().map(|it| (it.coflow, it.why.into_owned())).collect()
}

#[test]
fn a_coflow_waits_for_those_that_fill_its_links() {
    let mut core = core("fifo", &[&[(0, 1)], &[(0, 2)], &[(3, 1)], &[(2, 3)]]);
    let link = |port, direction: &'static str| FullLink {
        port,
        direction: direction.into(),
        coflows: vec![0],
        served: 1,
    };
    let (items, next) = waiting(&core, 0, 100);
    assert_eq!(next, None);
    let named: Vec<_> = items.iter().map(|it| (it.coflow, &*it.why, &it.behind[..])).collect();
    assert_eq!(named, [(1, "behind", &[link(0, "out")][..]), (2, "behind", &[link(1, "in")])]);
    assert!(items[0].place < items[1].place, "in the order of the plan: {items:?}");
    // In pages.
    let (first, next) = waiting(&core, 0, 1);
    assert_eq!((first[0].coflow, next.as_deref()), (1, Some("2")));
    let (second, next) = waiting(&core, 2, 1);
    assert_eq!((second[0].coflow, next), (2, None));

    // The first gives up what it got, and then has all of it on its way.
    say(&mut core, 0, 1.0, flows(&[(0, 0, Use::Closed)]));
    assert_eq!(reasons(&core), [(0, "closed".to_owned())]);
    say(&mut core, 0, 1.0, flows(&[(0, 0, Use::Moves)]));
    let written = FromAgent::Written(vec![FlowKey { coflow: 0, flow: 0 }.into()]);
    core.heard(0, written, Time::from_secs(1.0));
    settle(&mut core, 1.0);
    assert_eq!(reasons(&core), [(0, "written".to_owned())]);
}

/// Under every policy exactly the coflows without a rate wait, and those before them have rates.
#[test]
fn every_coflow_without_a_rate_has_a_reason() {
    let live = covey_sched::policies().iter().filter(|info| info.knows != "unlabelled");
    for name in live.map(|info| info.name) {
        let coflows: [&[(u32, u32)]; 6] = [
            &[(0, 1), (2, 1)],
            &[(0, 1)],
            &[(0, 2), (3, 1)],
            &[(1, 0)],
            &[(1, 0)],
            &[(2, 3), (0, 3)],
        ];
        let mut core = core(name, &coflows);
        let without: Vec<u64> =
            (0..6).filter(|&id| status(&mut core, id, 1.0).rate == 0.0).collect();
        let (items, _) = waiting(&core, 0, 100);
        let waits: Vec<u64> = items.iter().map(|it| it.coflow).collect();
        assert_eq!(waits, without, "{name}");
        for it in items {
            assert!(["behind", "policy"].contains(&&*it.why), "{name}: {it:?}");
            assert_eq!(it.why == "behind", !it.behind.is_empty(), "{name}: {it:?}");
            for link in it.behind {
                assert!(link.served >= link.coflows.len() && !link.coflows.is_empty(), "{name}");
                assert!(link.coflows.iter().all(|id| !waits.contains(id)), "{name}: {link:?}");
            }
        }
    }
}
