//! Claims of the paper, one test each, on small networks whose links carry one byte per second.

use covey_core::SplitMix;
use covey_stream::{EscapeRules, Setup};

use super::test_world::{History, Job, run};
use crate::settings::Settings;

/// Queues of up to 10, 100 and 1000 bytes, no delays, no escape, and nothing but the bytes of a
/// receiver, unless `given` says otherwise.
fn set(given: &str) -> Setup {
    let mut text =
        "thresholds=10B/100B/1000B,alpha=0,rtt=0,escape=off,wp=false,relay=false,cp=false"
            .to_owned();
    for item in given.split(',').filter(|item| !item.is_empty()) {
        let name = item.split('=').next().unwrap_or_default();
        let others: Vec<&str> =
            text.split(',').filter(|other| !other.starts_with(&format!("{name}="))).collect();
        text = format!("{},{item}", others.join(","));
    }
    let settings = Settings::new(super::INFO.name, super::INFO.params, &text).unwrap();
    super::setup::of(&settings).unwrap()
}

fn with(jobs: &[Job], given: &str) -> History {
    run(8, jobs, set(given))
}

#[test]
fn the_receiver_lowers_the_priority_as_bytes_come() {
    let jobs = [Job::new(0.0, &[(0, 7, 60.0), (1, 7, 60.0), (2, 7, 60.0)])];
    assert_eq!(with(&jobs, "").of(0, 7), [(0.0, 0), (10.0, 1), (100.0, 2)]);
    // The printed equation with one threshold: 13.3, 20 and 40 bytes (KA10).
    let printed = with(&jobs, "eq=literal,thresholds=10B/10B/10B").of(0, 7);
    assert_eq!(printed, [(0.0, 0), (13.333333, 1), (20.0, 2), (40.0, 3)]);
}

#[test]
fn a_small_coflow_overtakes_a_large_one_that_has_been_lowered() {
    let jobs = [Job::new(0.0, &[(0, 7, 40.0)]), Job::new(20.0, &[(1, 7, 5.0)])];
    assert_eq!(with(&jobs, "").ends_s, [45.0, 25.0]);
}

/// Two flows in one queue share, as TCP would have them.
#[test]
fn coflows_in_one_queue_share_links() {
    let jobs = [Job::new(0.0, &[(0, 7, 4.0)]), Job::new(0.0, &[(1, 7, 2.0)])];
    assert_eq!(with(&jobs, "").ends_s, [6.0, 4.0]);
}

#[test]
fn a_priority_arrives_at_the_senders_half_a_round_trip_later() {
    let jobs = [Job::new(0.0, &[(0, 7, 60.0)])];
    assert_eq!(with(&jobs, "rtt=2s").of(0, 7), [(0.0, 0), (11.0, 1)]);
}

#[test]
fn a_sender_of_two_receivers_relays_what_the_other_has_had() {
    // Both together have had 10 at 10; one alone has that at 20.
    let jobs = [Job::new(0.0, &[(0, 6, 60.0), (0, 7, 60.0)])];
    for port in [6, 7] {
        assert_eq!(with(&jobs, "").of(0, port)[..2], [(0.0, 0), (20.0, 1)]);
        assert_eq!(with(&jobs, "relay=true").of(0, port)[..3], [(0.0, 0), (10.0, 1), (100.0, 2)]);
        // A relay takes a round trip, and the priority another half.
        assert_eq!(with(&jobs, "relay=true,rtt=2s").of(0, port)[..2], [(0.0, 0), (13.0, 1)]);
    }
}

#[test]
fn receivers_without_a_common_sender_hear_nothing_of_each_other() {
    let jobs = [Job::new(0.0, &[(0, 6, 60.0), (1, 7, 60.0)])];
    assert_eq!(with(&jobs, "relay=true").classes, with(&jobs, "").classes);
}

#[test]
fn a_receiver_to_which_nothing_is_sent_hears_nothing() {
    // The first coflow is in the second queue at 10. From 12 to 21.9 another one takes the link
    // into port 7. In that time the receiver at 6 reaches 20 bytes in all, and falls; the one at 7
    // hears of it with its next bytes.
    let jobs = [Job::new(0.0, &[(0, 6, 60.0), (0, 7, 60.0)]), Job::new(12.0, &[(1, 7, 9.9)])];
    let history = with(&jobs, "relay=true,rtt=1ms,thresholds=10B/20B/1000B");
    let (at_6, at_7) = (history.of(0, 6), history.of(0, 7));
    assert!(at_6[2].0 < 21.9 && at_6[2].1 == 2, "{at_6:?}");
    assert!(at_7[2].0 > 21.9 && at_7[2].1 == 2, "{at_7:?}");
}

#[test]
fn a_coflow_that_has_completed_tells_its_size_to_those_that_depend_on_it() {
    let jobs = [Job::new(0.0, &[(0, 6, 12.0)]), Job::new(0.0, &[(1, 7, 60.0)]).after(&[0])];
    assert_eq!(with(&jobs, "").of(1, 7), [(12.0, 0), (22.0, 1)]);
    assert_eq!(with(&jobs, "cp=true").of(1, 7), [(12.0, 1)]);
    assert_eq!(with(&jobs, "cp=true,rtt=2s").of(1, 7), [(12.0, 0), (14.0, 1)]);
}

#[test]
fn sub_coflows_that_come_later_fall_earlier() {
    // Ids 1, 2, 3, 4: the last one knows of three others, W = ln 4.
    let one = |port| Job::new(0.0, &[(0, port, 5.0)]);
    let jobs = [
        one(1),
        one(2).after(&[0]),
        one(3).after(&[1]),
        Job::new(0.0, &[(0, 7, 30.0)]).after(&[2]),
    ];
    let fall_s = |given: &str| with(&jobs, given).of(3, 7)[1].0;
    assert_eq!(fall_s(""), 25.0);
    let weighted = 15.0 + 10.0 / 4.0_f64.ln();
    assert!((fall_s("wp=true") - weighted).abs() < 1e-6, "{}", fall_s("wp=true"));
    // If parents propose their own ids, all have the id 1.
    assert_eq!(fall_s("wp=true,ids=own"), 25.0);
}

/// A large coflow, and small ones that fill its link from 12 to 600 s.
fn adversary() -> Vec<Job> {
    let small = (4..200).map(|k| Job::new(f64::from(3 * k), &[(1, 7, 3.0)]));
    std::iter::once(Job::new(0.0, &[(0, 7, 30.0)])).chain(small).collect()
}

#[test]
fn without_the_escape_small_coflows_starve_a_large_one() {
    let history = with(&adversary(), "");
    assert!(history.ends_s[0] > 600.0 && history.longest_wait_s > 580.0, "{}", history.ends_s[0]);
}

#[test]
fn with_the_escape_no_flow_waits_longer_than_the_bound() {
    let given = "escape=1s,raise=1s,patience=8s";
    let history = with(&adversary(), given);
    let rules = EscapeRules { first_s: 1.0, raise_s: 1.0, longest_s: 8.0 };
    assert!(history.longest_wait_s <= rules.max_wait_s(4), "{}", history.longest_wait_s);
    // A raise ends: the sub-coflow falls back to its queue each time.
    let classes: Vec<u32> = history.of(0, 7).iter().map(|&(_, class)| class).collect();
    assert!(classes.starts_with(&[0, 1, 0, 1, 0, 1]), "{classes:?}");
}

#[test]
fn in_random_networks_no_flow_waits_longer_than_the_bound() {
    let mut random = SplitMix::new(5);
    for _ in 0..20 {
        let jobs = random_jobs(&mut random, 25);
        let history =
            with(&jobs, "escape=1s,raise=500ms,patience=4s,thresholds=2B/4B/8B,relay=true");
        let rules = EscapeRules { first_s: 1.0, raise_s: 0.5, longest_s: 4.0 };
        assert!(history.longest_wait_s <= rules.max_wait_s(4) + 1e-6, "{}", history.longest_wait_s);
    }
}

/// A coflow of a single flow falls when the flow has sent a threshold, as in PIAS (§III-D).
#[test]
fn single_flows_are_scheduled_as_by_pias() {
    let mut random = SplitMix::new(7);
    let jobs: Vec<Job> = (0..30)
        .map(|_| {
            let (src, dst) = (random.below(4) as u32, 4 + random.below(4) as u32);
            Job::new(random.below(40) as f64, &[(src, dst, 1.0 + random.below(30) as f64)])
        })
        .collect();
    let history = with(&jobs, "thresholds=4B/8B/16B,wp=true,relay=true,cp=true");
    for (coflow, job) in jobs.iter().enumerate() {
        let (_, dst, bytes) = job.flows[0];
        let expected = [4.0, 8.0, 16.0].iter().filter(|&&limit| limit < bytes).count() as u32;
        let classes: Vec<u32> = history.of(coflow, dst).iter().map(|&(_, class)| class).collect();
        assert_eq!(classes, (0..=expected).collect::<Vec<_>>(), "{bytes} bytes");
    }
}

fn random_jobs(random: &mut SplitMix, count: usize) -> Vec<Job> {
    let job = |random: &mut SplitMix| {
        let flows: Vec<(u32, u32, f64)> = (0..1 + random.below(4))
            .map(|_| {
                let (src, dst) = (random.below(4) as u32, 4 + random.below(2) as u32);
                (src, dst, 1.0 + random.below(12) as f64)
            })
            .collect();
        Job::new(random.below(30) as f64, &flows)
    };
    (0..count).map(|_| job(random)).collect()
}

/// Two worlds: the same flows at ports 0 to 5, beside different flows of the same coflows at ports
/// 6 and 7. What a receiver at 4 or 5 decides, and when, is the same, as no sender and no link has
/// to do with both. Relays are off here: at which times the simulator looks at them follows the
/// bytes of the whole coflow, and would show as rounding.
#[test]
fn what_a_receiver_cannot_know_does_not_change_its_decisions() {
    let mut random = SplitMix::new(11);
    for _ in 0..20 {
        let jobs = random_jobs(&mut random, 12);
        let beside = |random: &mut SplitMix| {
            let mut jobs = jobs.clone();
            for job in &mut jobs {
                let bytes = 1.0 + random.below(40) as f64;
                job.flows.push((6 + random.below(2) as u32, 6 + random.below(2) as u32, bytes));
            }
            with(&jobs, "thresholds=2.7B/5.3B/11.3B,wp=true,cp=true,escape=1s,raise=1s,rtt=20ms")
        };
        let (one, other) = (beside(&mut random), beside(&mut random));
        for coflow in 0..jobs.len() {
            for port in [4, 5] {
                assert_eq!(
                    one.of(coflow, port),
                    other.of(coflow, port),
                    "coflow {coflow} at {port}"
                );
            }
        }
    }
}

/// Two worlds that are the same for a receiver up to a time: it decides the same up to then.
#[test]
fn what_has_not_happened_yet_does_not_change_decisions() {
    let mut random = SplitMix::new(13);
    for _ in 0..20 {
        let jobs = random_jobs(&mut random, 12);
        let given = "thresholds=3B/6B/12B,wp=true,relay=true,escape=1s,raise=1s,rtt=20ms";
        let later = [jobs.clone(), vec![Job::new(15.0, &[(0, 4, 30.0), (1, 5, 3.0)])]].concat();
        let before = |history: History| -> Vec<(f64, usize, u32, u32)> {
            history.classes.into_iter().filter(|change| change.0 < 15.0).collect()
        };
        assert_eq!(before(with(&jobs, given)), before(with(&later, given)));
    }
}

#[test]
fn parameters_are_checked() {
    let message = |given: &str| {
        let settings = Settings::new(super::INFO.name, super::INFO.params, given).unwrap();
        super::setup::of(&settings).err().map(|error| error.to_string()).unwrap_or_default()
    };
    assert_eq!(message(""), "");
    assert_eq!(message("K=8,thresholds=1B/2B/3B/4B/5B/6B/7B,eq=literal,escape=off,rtt=0"), "");
    assert!(message("K=9").contains("a whole number from 2 to 8"));
    for list in ["1B/2B", "3B/2B/1B", "0/1B/2B", "1B/2B/x", "1/2/3", "@file"] {
        let text = message(&format!("thresholds={list}"));
        assert!(text.contains("exponential, or K-1 = 3 sizes, ascending"), "{text}");
    }
    assert!(message("escape=0").contains("a duration above zero"));
    assert!(message("relay=maybe").contains("true or false"));
}

#[test]
fn the_policy_and_hosts_without_it_have_the_same_defaults() {
    let mut setup = super::settings("").expect("defaults");
    let own = Setup::default();
    // The text has microseconds, which are not the same double.
    assert!((setup.rtt_s - own.rtt_s).abs() < 1e-12);
    setup.rtt_s = own.rtt_s;
    assert_eq!(format!("{setup:?}"), format!("{own:?}"));
}
