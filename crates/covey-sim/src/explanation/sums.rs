//! Times added up exactly, by what they went to.

use std::collections::BTreeMap;

use covey_core::LinkId;

use covey_trace::results::{Kind, Part, Reason};

/// A share of the time from one round to the next, and what it goes to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Slice {
    pub kind: Kind,
    /// From 0 to 1.
    pub share: f64,
    pub other: Option<u32>,
    pub link: Option<LinkId>,
    pub reason: Option<Reason>,
}

impl Slice {
    pub fn of(kind: Kind, share: f64) -> Slice {
        Slice { kind, share, other: None, link: None, reason: None }
    }
}

/// What distinguishes parts: the kind, the other coflow, the link, and the criterion's name.
type Key = (Kind, Option<u32>, Option<LinkId>, Option<&'static str>);

/// The times of one coflow.
#[derive(Debug, Default)]
pub(super) struct Sums {
    parts: BTreeMap<Key, (Part, Compensated)>,
    /// How the time since `since_s` is divided; empty outside of the coflow's life.
    divided: Vec<Slice>,
    /// The time of the last round, in seconds.
    since_s: f64,
}

impl Sums {
    /// Adds the time from the last round to `now_s` to the parts.
    pub fn pass_to(&mut self, now_s: f64) {
        let (all_s, since_s) = (now_s - self.since_s, self.since_s);
        let last = self.divided.len().saturating_sub(1);
        let mut rest_s = all_s;
        for (k, slice) in self.divided.drain(..).enumerate() {
            let seconds = if k == last { rest_s } else { slice.share * all_s };
            rest_s -= seconds;
            if seconds == 0.0 {
                continue;
            }
            let key =
                (slice.kind, slice.other, slice.link, slice.reason.map(|it| it.criterion.name));
            let (part, sum) = self.parts.entry(key).or_insert_with(|| {
                let Slice { kind, other, link, reason, .. } = slice;
                let part = Part {
                    kind,
                    seconds: 0.0,
                    other,
                    link,
                    reason,
                    from_s: since_s,
                    until_s: now_s,
                };
                (part, Compensated::default())
            });
            part.until_s = now_s;
            sum.add(seconds);
        }
    }

    /// The time from `now_s` on is divided like this. The last slice gets what rounding leaves.
    pub fn begin(&mut self, now_s: f64, divided: Vec<Slice>) {
        (self.since_s, self.divided) = (now_s, divided);
    }

    /// The parts, the longest first. Parts that are rounding are added to the longest.
    pub fn into_parts(self) -> Vec<Part> {
        const ROUNDING_S: f64 = 1e-12;
        let sums = self.parts.into_values();
        let mut parts: Vec<Part> =
            sums.map(|(part, sum)| Part { seconds: sum.value(), ..part }).collect();
        parts.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
        let kept = parts.iter().skip(1).filter(|part| part.seconds > ROUNDING_S).count() + 1;
        let rounding: f64 = parts.iter().skip(kept).map(|part| part.seconds).sum();
        parts.truncate(kept);
        if let Some(first) = parts.first_mut() {
            first.seconds += rounding;
        }
        parts
    }
}

/// A sum without the rounding of each step (Neumaier).
#[derive(Debug, Clone, Copy, Default)]
struct Compensated {
    sum: f64,
    lost: f64,
}

impl Compensated {
    fn add(&mut self, value: f64) {
        let sum = self.sum + value;
        let (large, small) =
            if self.sum.abs() >= value.abs() { (self.sum, value) } else { (value, self.sum) };
        self.lost += (large - sum) + small;
        self.sum = sum;
    }

    fn value(self) -> f64 {
        self.sum + self.lost
    }
}
