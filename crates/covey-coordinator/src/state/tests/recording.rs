//! What coflows did in the last minutes.

use covey_api::{CoflowSpec, Flow, RecordedCoflow};

use super::super::CoordinatorState;
use super::helpers::*;
use crate::recording::Recorder;
use crate::request::Request;

fn look(core: &mut CoordinatorState, recorder: &mut Recorder, now_s: f64) {
    settle(core, now_s);
    let look = core.look();
    recorder.add(&look, look.present().collect());
}

fn remove(core: &mut CoordinatorState, id: u64, now_s: f64) {
    core.request(0, Request::Remove { id }, covey_core::Time::from_secs(now_s));
    settle(core, now_s);
}

fn register(core: &mut CoordinatorState, now_s: f64) {
    let spec = CoflowSpec::of(vec![Flow::new(0, 1, Some(1e9))]);
    core.request(0, Request::Register { spec, key: None }, covey_core::Time::from_secs(now_s));
    settle(core, now_s);
}

/// What each did: from, until, what, and behind whom.
fn did(one: &RecordedCoflow) -> Vec<(f64, f64, &str, Option<u64>)> {
    one.did.iter().map(|it| (it.from_s, it.until_s, &*it.doing.what, it.doing.behind)).collect()
}

#[test]
fn what_each_coflow_did_is_recorded_until_it_is_old() {
    let mut core = core("fifo", &[&[(0, 1)], &[(0, 2), (3, 2)]]);
    let mut recorder = Recorder::new(&core.look());
    look(&mut core, &mut recorder, 1.0);
    look(&mut core, &mut recorder, 2.0);
    remove(&mut core, 0, 2.5);
    look(&mut core, &mut recorder, 3.0);
    // One comes and goes between two looks.
    register(&mut core, 3.2);
    remove(&mut core, 2, 3.7);
    look(&mut core, &mut recorder, 4.0);

    let all = recorder.page(u64::MAX, 10, true);
    assert_eq!((all.now_s, all.from_s, all.every_s, all.left_out), (4.0, 0.0, 1.0, 0));
    let ids: Vec<u64> = all.items.iter().map(|it| it.id).collect();
    assert_eq!((ids, all.next), (vec![2, 1, 0], None), "the latest first");
    let [between, second, first] = &all.items[..] else { panic!("three") };
    assert_eq!((between.arrival_s, between.end_s, did(between)), (3.2, Some(3.7), vec![]));
    assert_eq!((first.end_s, did(first)), (Some(2.5), vec![(0.0, 2.5, "sending", None)]));
    assert_eq!(second.end_s, None);
    // The second one sends from port 3 all the time: no more than port 2 takes.
    assert_eq!(did(second), [(0.0, 4.0, "sending", None)]);
    let sent = |one: &RecordedCoflow| -> Vec<_> {
        one.sent.iter().map(|it| (it.port, it.from_s, it.until_s)).collect()
    };
    assert_eq!(sent(first), [(0, 0.0, 2.5)]);
    let ports: Vec<u32> = second.sent.iter().map(|it| it.port).collect();
    assert!(ports.contains(&0) && ports.contains(&3), "{second:?}");
    let from_zero = second.sent.iter().find(|it| it.port == 0).expect("it sends there later");
    assert_eq!(from_zero.from_s, 3.0, "seen at the look after the first one had gone");

    // Pages.
    let page = recorder.page(u64::MAX, 2, true);
    assert_eq!((page.items.len(), page.next.as_deref()), (2, Some("0")));
    assert_eq!(recorder.page(0, 2, true).items[0].id, 0);

    // What has ended five minutes ago is forgotten; what is present is not.
    look(&mut core, &mut recorder, 303.9);
    let all = recorder.page(u64::MAX, 10, true);
    let ids: Vec<u64> = all.items.iter().map(|it| it.id).collect();
    assert_eq!((ids, did(&all.items[0])[0]), (vec![1], (0.0, 303.9, "sending", None)));
    assert!((all.from_s - 3.9).abs() < 1e-9);
}

#[test]
fn a_coflow_that_waits_is_recorded_with_the_one_before_it() {
    let mut core = core("fifo", &[&[(0, 1)], &[(0, 2)]]);
    let mut recorder = Recorder::new(&core.look());
    look(&mut core, &mut recorder, 1.0);
    remove(&mut core, 0, 1.5);
    look(&mut core, &mut recorder, 2.0);
    look(&mut core, &mut recorder, 3.0);
    let second = &recorder.page(1, 1, true).items[0];
    assert_eq!(did(second), [(0.0, 2.0, "behind", Some(0)), (2.0, 3.0, "sending", None)]);
    let waiting = &second.did[0].doing;
    assert_eq!((waiting.port, waiting.direction.as_deref()), (Some(0), Some("out")));
}

/// However many coflows there are, and however often they change, memory is bounded: the time that
/// is remembered gets shorter.
#[test]
fn too_much_is_forgotten_earlier() {
    let coflows: [&[(u32, u32)]; 20] = [&[(0, 1)]; 20];
    let mut core = core("fair", &coflows);
    let mut recorder = Recorder::bounded(&core.look(), 200);
    for second in 1..=30_u32 {
        // The rates of all change.
        register(&mut core, f64::from(second));
        look(&mut core, &mut recorder, f64::from(second));
    }
    let all = recorder.page(u64::MAX, 1000, true);
    let pieces: usize = all.items.iter().map(|it| it.did.len() + it.sent.len()).sum();
    assert!(pieces <= 200 + 2 * 50, "beside what the 50 do now: {pieces}");
    assert!(recorder.page(u64::MAX, 1000, false).items.iter().all(|it| it.sent.is_empty()));
    assert!(all.from_s > 5.0 && all.from_s < 30.0, "{}", all.from_s);
    assert_eq!(all.items.len(), 50, "all that are present are there");
}
