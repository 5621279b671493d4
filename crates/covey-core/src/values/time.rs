//! Moments, in seconds.

use std::cmp::Ordering;
use std::fmt;
use std::ops::{Add, Sub};

use crate::values::ordered::in_order;

/// A moment in seconds since the driver's origin. Never NaN; totally ordered.
///
/// The difference of two moments is a duration in seconds, a plain `f64`.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Time(f64);

impl Time {
    /// The origin.
    pub const ZERO: Time = Time(0.0);
    /// A moment that never comes.
    pub const NEVER: Time = Time(f64::INFINITY);
    /// Moments closer than this coincide and are handled together (see [`Time::slack_s`]).
    pub const RESOLUTION_S: f64 = 1e-9;

    /// The moment `seconds` after the origin. A NaN becomes [`Time::NEVER`].
    pub fn from_secs(seconds: f64) -> Time {
        // Adding zero makes a negative zero a positive one: there is one origin.
        if seconds.is_nan() { Time::NEVER } else { Time(seconds + 0.0) }
    }

    /// Seconds since the origin.
    pub fn as_secs(self) -> f64 {
        self.0
    }

    /// A whole number that grows with the moment, also before the origin.
    pub fn as_key(self) -> u64 {
        in_order(self.0)
    }

    /// Whether the moment ever comes.
    pub fn comes(self) -> bool {
        self.0 < f64::INFINITY
    }

    /// How close another moment must be to coincide with this one, in seconds:
    /// [`Time::RESOLUTION_S`], or more where a number of seconds this large is not that exact.
    pub fn slack_s(self) -> f64 {
        (self.0.abs() * (4.0 * f64::EPSILON)).max(Time::RESOLUTION_S)
    }

    /// Whether this moment has come at `now`, or coincides with it.
    pub fn due(self, now: Time) -> bool {
        self.0 <= now.0 + now.slack_s()
    }
}

impl Eq for Time {}

impl PartialOrd for Time {
    fn partial_cmp(&self, other: &Time) -> Option<Ordering> {
        Some(self.cmp(other))
    }

    // Without NaN and negative zero the plain comparison is the total order, and much faster.
    fn lt(&self, other: &Time) -> bool {
        self.0 < other.0
    }
}

impl Ord for Time {
    fn cmp(&self, other: &Time) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl Add<f64> for Time {
    type Output = Time;
    fn add(self, seconds: f64) -> Time {
        Time::from_secs(self.0 + seconds)
    }
}

impl Sub for Time {
    type Output = f64;
    fn sub(self, earlier: Time) -> f64 {
        self.0 - earlier.0
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} s", self.0)
    }
}
