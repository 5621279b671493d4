//! How much of a processor this host offers for compressing.

use std::time::{Duration, Instant};

/// The share of a processor that an agent offers for compressing.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Processors {
    /// None: flows from this host are not compressed.
    #[default]
    None,
    /// A fixed share, from 0 to 1.
    Share(f64),
    /// The idle share, as `/proc/stat` reports it.
    Idle,
}

/// How often the idle share is measured.
const EVERY: Duration = Duration::from_secs(1);
/// Minimum change that is reported: the idle share changes all the time.
const MIN_CHANGE: f64 = 0.1;
/// Weight of the last second in the reported mean.
const WEIGHT: f64 = 0.5;

/// Measures how much of a processor is idle.
#[derive(Debug)]
pub struct Meter {
    processors: Processors,
    /// When the idle share was last measured.
    measured: Option<Instant>,
    /// Idle ticks and all ticks at that time.
    ticks: Option<(u64, u64)>,
    /// Moving mean of the idle share.
    mean: Option<f64>,
    /// The share that was last reported.
    reported: Option<f64>,
}

impl Meter {
    /// A meter that has not measured anything.
    pub fn new(processors: Processors) -> Meter {
        Meter { processors, measured: None, ticks: None, mean: None, reported: None }
    }

    /// Whether it is time to measure.
    pub fn is_due(&self) -> bool {
        match self.processors {
            Processors::None => false,
            Processors::Share(_) => self.reported.is_none(),
            Processors::Idle => self.measured.is_none_or(|last| last.elapsed() >= EVERY),
        }
    }

    /// Measures. Returns the share that is there for compressing if it must be reported. The
    /// `compressed_s` seconds that compressing has taken since the last call count as idle.
    pub fn measure(&mut self, compressed_s: f64) -> Option<f64> {
        match self.processors {
            Processors::None => None,
            Processors::Share(share) => self.report(share),
            Processors::Idle => {
                let now = Instant::now();
                let since = self.measured.replace(now);
                let text = std::fs::read_to_string("/proc/stat").ok()?;
                let (found, count) = ticks(&text)?;
                let (before, since) = self.ticks.replace(found).zip(since)?;
                self.add(before, found, count, compressed_s / (now - since).as_secs_f64())
            }
        }
    }

    /// Ticks have passed on `count` processors; compressing has taken the share `compressing` of
    /// one of them.
    fn add(
        &mut self,
        before: (u64, u64),
        after: (u64, u64),
        count: usize,
        compressing: f64,
    ) -> Option<f64> {
        let idle = after.0.saturating_sub(before.0) as f64;
        let all = after.1.saturating_sub(before.1) as f64;
        if all <= 0.0 {
            return None;
        }
        let share = (idle / all * count as f64 + compressing).min(1.0);
        let mean = self.mean.map_or(share, |mean| mean + WEIGHT * (share - mean));
        self.mean = Some(mean);
        self.report(mean)
    }

    fn report(&mut self, share: f64) -> Option<f64> {
        if self.reported.is_some_and(|reported| (reported - share).abs() < MIN_CHANGE) {
            return None;
        }
        self.reported = Some(share);
        self.reported
    }
}

/// Reads the idle ticks and all ticks of all processors, and their number, from the text of
/// `/proc/stat`.
fn ticks(text: &str) -> Option<((u64, u64), usize)> {
    let mut lines = text.lines();
    let words = lines.next()?.strip_prefix("cpu ")?.split_whitespace();
    // user, nice, system, idle, iowait, irq, softirq, steal. The ticks of guests are included in
    // these.
    let counts: Vec<u64> = words.take(8).map_while(|word| word.parse().ok()).collect();
    let idle = counts.get(3)? + counts.get(4)?;
    let count = lines.take_while(|line| line.starts_with("cpu")).count();
    Some(((idle, counts.iter().sum()), count.max(1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_idle_share_is_reported_when_it_has_changed() {
        let mut meter = Meter::new(Processors::Idle);
        // Of two processors, one and a half are idle, then about a half twice.
        assert_eq!(meter.add((0, 0), (75, 100), 2, 0.0), Some(1.0));
        assert_eq!(meter.add((0, 0), (20, 100), 2, 0.1), Some(0.75));
        assert_eq!(meter.add((0, 0), (36, 100), 2, 0.0), None);
        assert_eq!(meter.add((5, 100), (5, 100), 2, 0.0), None, "no time has passed");
        assert_eq!(meter.add((0, 0), (0, 100), 2, 0.0), Some(0.3675));
    }

    #[test]
    fn the_ticks_of_all_processors_are_read() {
        let text = "cpu  10 1 20 300 40 5 6 7 9 9\ncpu0 1 2 3 4\ncpu1 1 2 3 4\nintr 7\n";
        assert_eq!(ticks(text), Some(((340, 389), 2)));
        assert_eq!(ticks("cpu  1 2 3\n"), None);
        assert_eq!(ticks(""), None);
        assert_eq!(Meter::new(Processors::Share(0.5)).measure(0.0), Some(0.5));
        assert_eq!(Meter::new(Processors::None).measure(0.0), None);
    }
}
