//! Moments on the clock of a trace, as exact decimal numbers of seconds.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error as _};
use serde::ser::{Error as _, Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::limits::MAX_TIME_S;

/// Decimals of a second that a [`Moment`] keeps.
const PLACES: i64 = 24;
const SECOND: i128 = 10_i128.pow(PLACES as u32);

/// A moment on the clock of a trace, which may count from anywhere, such as from 1970: a number of
/// seconds with 24 exact decimals, up to ±10^14. Finer decimals are rounded.
///
/// An `f64` of 1.7e9 seconds is exact to 0.24 µs only. So times are read as moments, and everything
/// else counts seconds from the [origin](crate::Workload::origin) of the workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Moment(i128);

impl Moment {
    /// The zero of the clock.
    pub const ZERO: Moment = Moment(0);

    /// Reads a decimal number of seconds, such as `1700000000.000002` or `2e-6`; `None` for another
    /// text and for a moment out of range.
    pub fn parse(text: &str) -> Option<Moment> {
        Moment::parse_scaled(text, 0)
    }

    /// [`Moment::parse`] for a number of milliseconds.
    pub fn parse_ms(text: &str) -> Option<Moment> {
        Moment::parse_scaled(text, -3)
    }

    /// Reads a decimal number of 10^`exponent` seconds.
    pub(crate) fn parse_scaled(text: &str, exponent: i64) -> Option<Moment> {
        let (text, power) = match text.split_once(['e', 'E']) {
            Some((number, power)) => (number, power.parse::<i32>().ok()?),
            None => (text, 0),
        };
        let (is_negative, text) = match text.strip_prefix('-') {
            Some(text) => (true, text),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let digits = || whole.bytes().chain(fraction.bytes());
        if whole.len() + fraction.len() == 0 || !digits().all(|digit| digit.is_ascii_digit()) {
            return None;
        }
        // The place of a digit is its exponent, counted from the last one that is kept.
        let mut place = PLACES + exponent + i64::from(power) + whole.len() as i64;
        let mut sum = 0_i128;
        for digit in digits().map(|digit| i128::from(digit - b'0')) {
            place -= 1;
            if place < 0 {
                sum = sum.checked_add(i128::from(place == -1 && digit >= 5))?;
                break;
            }
            if digit > 0 {
                let unit = 10_i128.checked_pow(u32::try_from(place).ok()?)?;
                sum = sum.checked_add(digit.checked_mul(unit)?)?;
            }
        }
        Some(Moment(if is_negative { -sum } else { sum }))
    }

    /// The moment that the shortest text of `seconds` names; `None` out of range.
    pub fn from_secs(seconds: f64) -> Option<Moment> {
        Moment::parse(&seconds.to_string())
    }

    /// The seconds from `origin` to this moment, rounded once.
    pub fn since(self, origin: Moment) -> f64 {
        self.0.checked_sub(origin.0).map_or(f64::INFINITY, |between| Moment(between).as_secs())
    }

    /// The moment `seconds` later, by the shortest text of that number; `None` out of range.
    pub fn after(self, seconds: f64) -> Option<Moment> {
        self.0.checked_add(Moment::from_secs(seconds)?.0).map(Moment)
    }

    /// Whether it is within the limits of an arrival.
    pub(crate) fn is_arrival(&self) -> bool {
        (0..=MAX_TIME_S as i128 * SECOND).contains(&self.0)
    }

    /// The sum of two moments: one of them is a duration. `None` out of range.
    pub(crate) fn plus(self, other: Moment) -> Option<Moment> {
        self.0.checked_add(other.0).map(Moment)
    }

    /// Whether it is within the limits of times, before or after the zero of the clock.
    pub(crate) fn is_time(&self) -> bool {
        self.0.unsigned_abs() <= (MAX_TIME_S as i128 * SECOND).unsigned_abs()
    }

    /// Seconds since the zero of the clock, rounded.
    pub fn as_secs(self) -> f64 {
        const NANOSECOND: i128 = SECOND / 1_000_000_000;
        let nanoseconds = self.0 / NANOSECOND;
        if self.0 % NANOSECOND == 0 && nanoseconds.unsigned_abs() < 1 << f64::MANTISSA_DIGITS {
            // Both numbers are exact.
            return nanoseconds as f64 / 1e9;
        }
        // A decimal text is rounded once; a division would round twice.
        self.to_string().parse().unwrap_or(f64::INFINITY)
    }
}

/// The decimal number of seconds, with all its decimals and without an exponent.
impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, fraction) = (self.0 / SECOND, self.0 % SECOND);
        let sign = if self.0 < 0 { "-" } else { "" };
        write!(f, "{sign}{}", whole.unsigned_abs())?;
        if fraction == 0 {
            return Ok(());
        }
        let decimals = format!("{:024}", fraction.unsigned_abs());
        write!(f, ".{}", decimals.trim_end_matches('0'))
    }
}

/// In JSON, a number with all decimals.
impl Serialize for Moment {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let number = RawValue::from_string(self.to_string());
        number.map_err(S::Error::custom)?.serialize(serializer)
    }
}

/// From a JSON number, whose text is read.
impl<'de> Deserialize<'de> for Moment {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Moment, D::Error> {
        let number = Box::<RawValue>::deserialize(deserializer)?;
        Moment::parse(number.get()).ok_or_else(|| {
            let value = serde_json::from_str(number.get()).unwrap_or(Value::Null);
            match f64::deserialize(value) {
                Ok(_) => D::Error::custom(format_args!("{number}, expected fewer seconds")),
                Err(error) => D::Error::custom(error),
            }
        })
    }
}

/// A time in seconds after the origin of a workload, shown on the clock of its trace.
///
/// Its text and its JSON number have all decimals.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OnClock {
    pub(crate) origin: Moment,
    pub(crate) seconds: f64,
}

impl OnClock {
    /// The time on the clock, rounded.
    pub fn as_secs(self) -> f64 {
        self.exact().map_or(self.seconds, Moment::as_secs)
    }

    /// The moment, unless the seconds after the origin are the time on the clock.
    fn exact(self) -> Option<Moment> {
        (self.origin != Moment::ZERO).then(|| self.origin.after(self.seconds)).flatten()
    }
}

impl fmt::Display for OnClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.exact() {
            Some(moment) => moment.fmt(f),
            None => self.seconds.fmt(f),
        }
    }
}

impl Serialize for OnClock {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.exact() {
            Some(moment) => moment.serialize(serializer),
            None => serializer.serialize_f64(self.seconds),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Moment;

    fn text(text: &str) -> Option<String> {
        Moment::parse(text).map(|moment| moment.to_string())
    }

    #[test]
    fn decimal_texts_are_kept() {
        for same in ["0", "1.5", "-0.25", "1700000000.123456789", "0.000000000000000000000001"] {
            assert_eq!(text(same).as_deref(), Some(same));
        }
        for (other, as_decimal) in [
            ("2e-06", "0.000002"),
            ("1.7E9", "1700000000"),
            ("+.5", "0.5"),
            ("5.", "5"),
            ("-0.0", "0"),
            ("000.100", "0.1"),
            ("0.0000000000000000000000015", "0.000000000000000000000002"),
            ("9.9999999999999999999999999", "10"),
            ("1e-400", "0"),
            ("0e400", "0"),
        ] {
            assert_eq!(text(other).as_deref(), Some(as_decimal), "{other}");
        }
        assert_eq!(Moment::parse_ms("1700000000123.5"), Moment::parse("1700000000.1235"));
    }

    #[test]
    fn other_texts_are_no_moments() {
        for none in ["", ".", "-", "1e", "e5", "inf", "NaN", "1,5", "1.2.3", "1e400", "0x1", "1 "] {
            assert_eq!(text(none), None, "{none}");
        }
        assert_eq!(text(&"9".repeat(100_000)), None);
        assert_eq!(Moment::from_secs(f64::NAN), None);
    }

    #[test]
    fn differences_are_exact() {
        let origin = Moment::parse("1700000000.000001").unwrap();
        let later = Moment::parse("1700000000.000003").unwrap();
        assert_eq!(later.since(origin), 2e-6);
        assert_eq!(origin.since(later), -2e-6);
        assert_eq!(origin.after(2e-6), Some(later));
    }

    proptest! {
        #[test]
        fn a_number_of_seconds_stays_the_same(seconds in -1e12..1e12_f64, exponent in -8..0) {
            let seconds = seconds * 10_f64.powi(exponent);
            prop_assert_eq!(Moment::from_secs(seconds).unwrap().as_secs(), seconds);
        }

        #[test]
        fn differences_do_not_depend_on_the_clock(ns in 0..604_800_000_000_000_u64, s in 0..10_u64.pow(12)) {
            let origin = Moment::parse(&s.to_string()).unwrap();
            let later = Moment::parse(&format!("{}.{:09}", s + ns / 1_000_000_000, ns % 1_000_000_000));
            prop_assert_eq!(later.unwrap().since(origin), ns as f64 / 1e9);
        }
    }
}
