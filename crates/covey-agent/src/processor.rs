//! What this host has for compressing: its compressors, and how much of a processor is idle.

use std::time::{Duration, Instant};

/// How much of a processor an agent offers for compressing.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Processors {
    /// Nothing: flows from this host are not compressed.
    #[default]
    None,
    /// This share, whatever others do.
    Share(f64),
    /// What is idle, as the system tells.
    Idle,
}

/// How often it is looked at.
const EVERY: Duration = Duration::from_secs(1);
/// What is idle changes all the time: by less than this it is not worth a word.
const LEAST: f64 = 0.1;
/// The weight of the last second in the mean that is told.
const WEIGHT: f64 = 0.5;

/// Finds out how much of a processor is idle.
#[derive(Debug)]
pub struct Meter {
    processors: Processors,
    looked: Option<Instant>,
    /// Idle and all ticks so far.
    ticks: Option<(u64, u64)>,
    mean: Option<f64>,
    told: Option<f64>,
}

impl Meter {
    /// It has not looked yet.
    pub fn new(processors: Processors) -> Meter {
        Meter { processors, looked: None, ticks: None, mean: None, told: None }
    }

    /// Whether it is time to look.
    pub fn is_due(&self) -> bool {
        match self.processors {
            Processors::None => false,
            Processors::Share(_) => self.told.is_none(),
            Processors::Idle => self.looked.is_none_or(|last| last.elapsed() >= EVERY),
        }
    }

    /// The share of a processor that is there, if it is to be told. Of what is not idle, compressing has taken
    /// so many seconds since the last look: that is there for it, too.
    pub fn look(&mut self, compressed_s: f64) -> Option<f64> {
        match self.processors {
            Processors::None => None,
            Processors::Share(share) => self.tell(share),
            Processors::Idle => {
                let now = Instant::now();
                let since = self.looked.replace(now);
                let text = std::fs::read_to_string("/proc/stat").ok()?;
                let (found, count) = ticks(&text)?;
                let (before, since) = self.ticks.replace(found).zip(since)?;
                self.took(before, found, count, compressed_s / (now - since).as_secs_f64())
            }
        }
    }

    /// Ticks have gone by on so many processors, of one of which compressing has taken a share.
    fn took(
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
        self.tell(mean)
    }

    fn tell(&mut self, share: f64) -> Option<f64> {
        if self.told.is_some_and(|told| (told - share).abs() < LEAST) {
            return None;
        }
        self.told = Some(share);
        self.told
    }
}

/// Idle and all ticks of all processors, and their number, from what `/proc/stat` says.
fn ticks(text: &str) -> Option<((u64, u64), usize)> {
    let mut lines = text.lines();
    let words = lines.next()?.strip_prefix("cpu ")?.split_whitespace();
    // user, nice, system, idle, iowait, irq, softirq, steal; what guests take is in these.
    let counts: Vec<u64> = words.take(8).map_while(|word| word.parse().ok()).collect();
    let idle = counts.get(3)? + counts.get(4)?;
    let count = lines.take_while(|line| line.starts_with("cpu")).count();
    Some(((idle, counts.iter().sum()), count.max(1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_idle_is_told_when_it_has_changed() {
        let mut meter = Meter::new(Processors::Idle);
        // Of two processors, one and a half are idle, then a half, then about as much.
        assert_eq!(meter.took((0, 0), (75, 100), 2, 0.0), Some(1.0));
        assert_eq!(meter.took((0, 0), (20, 100), 2, 0.1), Some(0.75));
        assert_eq!(meter.took((0, 0), (36, 100), 2, 0.0), None);
        assert_eq!(meter.took((5, 100), (5, 100), 2, 0.0), None, "no time has gone by");
        assert_eq!(meter.took((0, 0), (0, 100), 2, 0.0), Some(0.3675));
    }

    #[test]
    fn what_the_system_says() {
        let text = "cpu  10 1 20 300 40 5 6 7 9 9\ncpu0 1 2 3 4\ncpu1 1 2 3 4\nintr 7\n";
        assert_eq!(ticks(text), Some(((340, 389), 2)));
        assert_eq!(ticks("cpu  1 2 3\n"), None);
        assert_eq!(ticks(""), None);
        assert_eq!(Meter::new(Processors::Share(0.5)).look(0.0), Some(0.5));
        assert_eq!(Meter::new(Processors::None).look(0.0), None);
    }
}
