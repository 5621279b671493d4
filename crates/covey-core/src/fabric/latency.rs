//! How long links take to pass on what enters them.

/// Seconds from one end of a link to the other.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Latency {
    /// The same for every link.
    Uniform(f64),
    /// One for each link, by its number.
    ByLink(Vec<f64>),
}

impl Latency {
    /// Of one link, in seconds.
    pub fn of(&self, link: usize) -> f64 {
        match self {
            Latency::Uniform(seconds) => *seconds,
            Latency::ByLink(seconds) => seconds[link],
        }
    }

    /// Whether every link passes everything on at once.
    pub fn is_zero(&self) -> bool {
        *self == Latency::Uniform(0.0)
    }

    /// Whether all are finite numbers of at least zero.
    pub fn is_valid(&self) -> bool {
        let is_valid = |seconds: &f64| seconds.is_finite() && *seconds >= 0.0;
        match self {
            Latency::Uniform(seconds) => is_valid(seconds),
            Latency::ByLink(seconds) => seconds.iter().all(is_valid),
        }
    }
}
