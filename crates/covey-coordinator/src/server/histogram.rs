//! How long something took, by ranges: a histogram in the text format of Prometheus.

use std::fmt::Write;

/// Upper ends of the buckets, in seconds.
const BUCKETS: [f64; 16] = [
    1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 4e-3, 8e-3, 16e-3, 32e-3, 64e-3, 0.25, 1.0, 4.0,
];

/// How many times fell into each bucket.
#[derive(Debug, Clone, Default)]
pub(super) struct Histogram {
    counts: [u64; BUCKETS.len() + 1],
    sum_s: f64,
}

impl Histogram {
    pub fn add(&mut self, seconds: f64) {
        let bucket = BUCKETS.partition_point(|end| *end < seconds);
        self.counts[bucket] += 1;
        self.sum_s += seconds;
    }

    /// Writes the series of a metric. `labels` are those of all its series, or nothing.
    pub fn write(&self, name: &str, labels: &str, out: &mut String) {
        let (comma, braced) = match labels {
            "" => ("", String::new()),
            _ => (",", format!("{{{labels}}}")),
        };
        let mut total = 0;
        for (count, end) in self.counts.iter().zip(BUCKETS) {
            total += count;
            let _ = writeln!(out, "{name}_bucket{{{labels}{comma}le=\"{end}\"}} {total}");
        }
        total += self.counts[BUCKETS.len()];
        let _ = writeln!(out, "{name}_bucket{{{labels}{comma}le=\"+Inf\"}} {total}");
        let _ = writeln!(out, "{name}_sum{braced} {}\n{name}_count{braced} {total}", self.sum_s);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_count_what_is_at_most_their_end() {
        let mut times = Histogram::default();
        [1e-5, 1.1e-5, 5.0].into_iter().for_each(|s| times.add(s));
        let (mut plain, mut labelled) = (String::new(), String::new());
        times.write("t", "", &mut plain);
        times.write("t", "a=\"b\"", &mut labelled);
        let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(
            lines(&plain)[..2],
            ["t_bucket{le=\"0.00001\"} 1", "t_bucket{le=\"0.00002\"} 2"]
        );
        assert_eq!(lines(&plain)[15], "t_bucket{le=\"4\"} 2");
        assert_eq!(lines(&plain)[16..], ["t_bucket{le=\"+Inf\"} 3", "t_sum 5.000021", "t_count 3"]);
        assert_eq!(lines(&labelled)[16], "t_bucket{a=\"b\",le=\"+Inf\"} 3");
        assert_eq!(lines(&labelled)[18], "t_count{a=\"b\"} 3");
    }
}
