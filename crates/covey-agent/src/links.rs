//! What the links of this host carry, by the counters of its network devices.

use std::time::{Duration, Instant};

use covey_proto::Links;

/// How often it is measured.
const EVERY: Duration = Duration::from_secs(1);

/// Measures what the host's links carry.
#[derive(Debug)]
pub struct LinkMeter {
    /// The network devices that are its links.
    devices: Vec<String>,
    /// When the counters were last read, and what they were.
    before: Option<(Instant, [u64; 2])>,
}

impl LinkMeter {
    /// A meter of these devices that has measured nothing.
    pub fn new(devices: Vec<String>) -> LinkMeter {
        LinkMeter { devices, before: None }
    }

    /// The mean since the last measurement, if there was one and it is time for the next.
    pub fn measure(&mut self) -> Option<Links> {
        let is_due = self.before.is_none_or(|(then, _)| then.elapsed() >= EVERY);
        if self.devices.is_empty() || !is_due {
            return None;
        }
        let now = Instant::now();
        // Of a thread: each may have network devices of its own.
        let text = std::fs::read_to_string("/proc/thread-self/net/dev").ok()?;
        let found = counters(&text, &self.devices)?;
        let (then, before) = self.before.replace((now, found))?;
        // Nothing was measured for a while if there was no coordinator to hear it.
        let is_recent = now - then < 2 * EVERY;
        is_recent.then(|| mean(before, found, (now - then).as_secs_f64())).flatten()
    }
}

/// The mean over so many seconds. `None` where a counter has begun again.
fn mean(before: [u64; 2], after: [u64; 2], seconds: f64) -> Option<Links> {
    let rate = |k: usize| Some(after[k].checked_sub(before[k])? as f64 / seconds);
    Some(Links { sent: rate(0)?, received: rate(1)? })
}

/// The bytes that devices have sent and received, in sum, from the text of `/proc/net/dev`. `None`
/// if one is missing.
fn counters(text: &str, devices: &[String]) -> Option<[u64; 2]> {
    let of = |device: &String| {
        let mut lines = text.lines().filter_map(|line| line.trim_start().split_once(':'));
        let (_, numbers) = lines.find(|(name, _)| name == device)?;
        let numbers: Vec<u64> =
            numbers.split_whitespace().map_while(|number| number.parse().ok()).collect();
        // Eight numbers of what was received come first; bytes are the first of each.
        Some([*numbers.get(8)?, *numbers.first()?])
    };
    devices.iter().try_fold([0, 0], |sum: [u64; 2], device| {
        let found = of(device)?;
        Some([sum[0].checked_add(found[0])?, sum[1].checked_add(found[1])?])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop
    lo:     500       5    0    0    0     0          0         0      500       5    0    0
  eth0:1000000    1000    0    0    0     0          0         0  2000000    2000    0    0
 eth10:      70       1    0    0    0     0          0         0       30       1    0    0
";

    #[test]
    fn the_counters_of_the_named_devices_add_up() {
        let names = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(counters(TEXT, &names(&["eth0"])), Some([2_000_000, 1_000_000]));
        assert_eq!(counters(TEXT, &names(&["eth0", "eth10"])), Some([2_000_030, 1_000_070]));
        assert_eq!(counters(TEXT, &names(&["eth0", "eth1"])), None);
        assert_eq!(counters("eth0: 1 2 3\n", &names(&["eth0"])), None);
    }

    #[test]
    fn a_mean_is_a_rate_in_both_directions() {
        let links = mean([1_000, 0], [3_000, 500], 2.0);
        assert_eq!(links, Some(Links { sent: 1_000.0, received: 250.0 }));
        assert_eq!(mean([10, 0], [9, 0], 1.0), None, "the device is another one");
    }

    #[test]
    fn a_meter_without_devices_measures_nothing() {
        assert_eq!(LinkMeter::new(Vec::new()).measure(), None);
        let mut lo = LinkMeter::new(vec!["lo".to_owned()]);
        assert_eq!(lo.measure(), None);
        assert_eq!(lo.measure(), None, "no second has passed");
    }
}
