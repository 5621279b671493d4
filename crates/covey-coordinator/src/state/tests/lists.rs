//! Lists, whose pages are made while the coordinator goes on.

use covey_api::{CoflowSpec, Flow, Page};
use covey_core::Time;
use covey_proto::{Ended, FlowKey, FromAgent, Sent};

use super::super::CoordinatorState;
use super::helpers::*;
use crate::request::{List, MakePage, Reply, Request};

fn lists() -> [List; 5] {
    let limit = 3;
    [
        List::Coflows { from: 1, limit, all: true },
        List::Schedule { from: (0, 1), limit },
        List::Flows { from: 0, limit, why: true },
        List::Waiting { from: 0, limit },
        List::Agents { from: 1, limit },
    ]
}

fn prepared(core: &CoordinatorState) -> Vec<MakePage> {
    lists().iter().map(|list| core.list(list, |_| None)).collect()
}

/// Something happens: the lists that show it change.
fn happen(core: &mut CoordinatorState, step: u64) {
    let (now_s, id) = (step as f64, step / 2);
    let now = Time::from_secs(now_s);
    let key = FlowKey { coflow: id, flow: 0 };
    match step % 5 {
        0 => {
            let flows = vec![Flow::new((step % 4) as u32, ((step + 1) % 4) as u32, Some(1e9)); 2];
            core.request(step, Request::Register { spec: CoflowSpec::of(flows), key: None }, now);
        }
        1 => core.heard(
            0,
            FromAgent::Sent(vec![Sent { key: key.into(), bytes: 1e6, wire: 1e6 }]),
            now,
        ),
        2 => core.heard(
            0,
            FromAgent::Ended(vec![Ended { key: key.into(), bytes: 1e9, wire: 1e9 }]),
            now,
        ),
        3 => core.request(step, Request::Remove { id }, now),
        _ => core.closed(step % 4),
    }
    settle(core, now_s);
}

#[test]
fn a_page_shows_what_there_was_when_it_was_asked_for() {
    for name in ["fifo", "aalo", "sebf", "covey", "fair"] {
        let mut core = core(name, &[&[(0, 1), (0, 2)], &[(0, 1)], &[(2, 3)], &[(0, 3), (1, 3)]]);
        let mut pages: Vec<(Reply, MakePage)> = Vec::new();
        for step in 1..40 {
            let at_once: Vec<Reply> = prepared(&core).into_iter().map(|make| make()).collect();
            pages.extend(at_once.into_iter().zip(prepared(&core)));
            happen(&mut core, step);
        }
        for (at_once, later) in pages {
            assert_eq!(later(), at_once, "{name}");
        }
    }
}

#[test]
fn pages_one_after_the_other_are_the_whole_list() {
    let mut core = core("fifo", &[&[(0, 1)], &[(0, 2)], &[(3, 1)], &[(2, 3)]]);
    core.request(9, Request::Remove { id: 1 }, Time::ZERO);
    settle(&mut core, 0.0);
    for all in [false, true] {
        let list = |from, limit| match page(&core, &List::Coflows { from, limit, all }) {
            Reply::Coflows(Page { items, next }) => {
                (items.into_iter().map(|it| it.id).collect::<Vec<u64>>(), next)
            }
            other => panic!("{other:?}"),
        };
        let (whole, next) = list(0, 10);
        assert_eq!((whole.len(), next), (if all { 4 } else { 3 }, None));
        let (mut from, mut found) = (Some("0".to_owned()), Vec::new());
        while let Some(cursor) = from {
            let (items, next) = list(cursor.parse().expect("a number"), 1);
            found.extend(items);
            from = next;
        }
        assert_eq!(found, whole);
    }
}
