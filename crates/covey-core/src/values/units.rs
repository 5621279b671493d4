//! Quantities as people write them: `1gbps`, `128MiB/s`, `10MiB`, `8ms`.
//!
//! `b` and `bit` are bits, `B` and `byte` bytes. A unit that people write for both is refused with
//! its two readings, and so is a number without a unit, unless it is 0.

use thiserror::Error;

use crate::values::suggest::did_you_mean;

/// Bytes of a trace's "MB" (it means mebibyte).
pub const MIB: f64 = 1_048_576.0;

/// Splits `text` into a finite number that is not negative and a unit.
fn number_and_unit(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    let digits = text
        .char_indices()
        .find(|&(i, c)| {
            // An exponent belongs to the number only if digits follow: `1e3B`, not `1eB`.
            let exponent = (c == 'e' || c == 'E')
                && text[i + 1..]
                    .trim_start_matches(['+', '-'])
                    .starts_with(|d: char| d.is_ascii_digit());
            let sign = (c == '+' || c == '-') && text[..i].ends_with(['e', 'E']);
            !(c.is_ascii_digit() || c == '.' || exponent || sign)
        })
        .map_or(text.len(), |(i, _)| i);
    let value: f64 = text[..digits].parse().ok()?;
    (value.is_finite() && value >= 0.0).then(|| (value, text[digits..].trim()))
}

/// A text that is no quantity of its kind. The message is one sentence.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("'{text}' is not {what}: expected one like {examples}{hint}")]
pub struct QuantityError {
    text: String,
    what: &'static str,
    examples: &'static str,
    hint: String,
}

impl QuantityError {
    /// The end of a message that begins with a semicolon and says what may be meant, or nothing.
    pub fn hint(&self) -> &str {
        &self.hint
    }
}

/// A speed in bytes per second: `1gbps`, `100mbps`, `8bps`, `10Gb/s` and `10Gbit/s` are bits a
/// second, `1.25GB/s`, `10GBps` and `128MiB/s` bytes a second. A prefix is decimal, and binary with
/// an `i`.
///
/// # Errors
/// When `text` is not a speed above zero, or can be read as bits and as bytes, such as `10gb/s` and
/// `10GBPS`.
pub fn parse_rate(text: &str) -> Result<f64, QuantityError> {
    let error = |hint: String| QuantityError {
        text: text.to_owned(),
        what: "a speed above zero with its unit",
        examples: "1gbps, 100mbps, 8bps, 10Gb/s or 128MiB/s",
        hint,
    };
    let (value, unit) = number_and_unit(text).ok_or_else(|| error(String::new()))?;
    let amount = ["/sec", "/s", "/S", "ps", "PS"].iter().find_map(|end| unit.strip_suffix(end));
    let Some(data) = amount.and_then(DataUnit::of) else {
        return Err(error(if value > 0.0 { speed_hint(text, unit) } else { String::new() }));
    };
    let bytes = match data.word {
        Word::Letter(_) if is_usual_speed(unit) => data.prefix / 8.0,
        Word::Letter(_) if is_one_case(unit) => return Err(error(data.readings(text, unit, "/s"))),
        Word::Letter('b') | Word::Bits => data.prefix / 8.0,
        Word::Letter(_) | Word::Bytes => data.prefix,
    };
    let rate = value * bytes;
    if rate > 0.0 && rate.is_finite() { Ok(rate) } else { Err(error(String::new())) }
}

/// A size in bytes: `100B`, `10MB`, `10MiB`, `1.5GiB`, and `8Mbit` (bits). 0 needs no unit.
///
/// # Errors
/// When `text` is not a size, has no unit, or can be read as bits and as bytes, such as `10mb` and
/// `10Mb`.
pub fn parse_size(text: &str) -> Result<f64, QuantityError> {
    let error = |hint: String| QuantityError {
        text: text.to_owned(),
        what: "a size with its unit",
        examples: "10MiB, 1.5GB or 4096B",
        hint,
    };
    let (value, unit) = number_and_unit(text).ok_or_else(|| error(String::new()))?;
    if unit.is_empty() {
        return if value == 0.0 { Ok(0.0) } else { Err(error(without_unit(text, ["B", "MiB"]))) };
    }
    let Some(data) = DataUnit::of(unit) else {
        let meant = DataUnit::of(&format!("{unit}B")).map(|_| format!("{}B", text.trim()));
        return Err(error(did_you_mean(meant.as_deref().filter(|_| value > 0.0))));
    };
    let bytes = match data.word {
        Word::Letter('b') => return Err(error(data.readings(text, unit, ""))),
        Word::Bits => data.prefix / 8.0,
        Word::Letter(_) | Word::Bytes => data.prefix,
    };
    let size = value * bytes;
    if size.is_finite() { Ok(size) } else { Err(error(String::new())) }
}

/// A duration in seconds: `8ms`, `10us`, `2s`, `1.5h`. 0 needs no unit.
///
/// # Errors
/// When `text` is not a duration, or has no unit.
pub fn parse_duration(text: &str) -> Result<f64, QuantityError> {
    let error = |hint: String| QuantityError {
        text: text.to_owned(),
        what: "a duration with its unit",
        examples: "8ms, 10us, 2s or 0",
        hint,
    };
    let (value, unit) = number_and_unit(text).ok_or_else(|| error(String::new()))?;
    let factor = match unit {
        "" if value == 0.0 => 1.0,
        "" => return Err(error(without_unit(text, ["s", "ms"]))),
        "s" => 1.0,
        "ms" => 1e-3,
        "us" => 1e-6,
        "ns" => 1e-9,
        "min" => 60.0,
        "h" => 3600.0,
        "d" => 86_400.0,
        _ => {
            let known = time_unit(unit).filter(|_| value > 0.0);
            let meant = known.map(|known| format!("{}{known}", number(text, unit)));
            return Err(error(did_you_mean(meant.as_deref())));
        }
    };
    let seconds = value * factor;
    if seconds.is_finite() { Ok(seconds) } else { Err(error(String::new())) }
}

/// A unit of data: a prefix, and a word for bits or bytes.
struct DataUnit {
    /// What the prefix multiplies by.
    prefix: f64,
    /// The prefix as it is usually written.
    usual: String,
    word: Word,
}

/// What a unit of data is a multiple of.
#[derive(Clone, Copy)]
enum Word {
    /// `bit` or `bits`.
    Bits,
    /// `byte` or `bytes`.
    Bytes,
    /// `b` or `B`, this one.
    Letter(char),
}

impl DataUnit {
    fn of(unit: &str) -> Option<DataUnit> {
        let at = unit.find(['b', 'B'])?;
        let (prefix, word) = unit.split_at(at);
        let word = match word.to_ascii_lowercase().as_str() {
            "bit" | "bits" => Word::Bits,
            "byte" | "bytes" => Word::Bytes,
            "b" => Word::Letter(word.chars().next()?),
            _ => return None,
        };
        let lower_case = prefix.to_ascii_lowercase();
        let (letter, base, binary) = match lower_case.strip_suffix('i') {
            Some(letter) => (letter, 1024.0_f64, "i"),
            None => (lower_case.as_str(), 1000.0, ""),
        };
        let (usual, power) = match letter {
            "" if binary.is_empty() => ("", 0),
            "k" if binary.is_empty() => ("k", 1),
            "k" => ("K", 1),
            "m" => ("M", 2),
            "g" => ("G", 3),
            "t" => ("T", 4),
            _ => return None,
        };
        Some(DataUnit {
            prefix: libm::pow(base, f64::from(power)),
            usual: format!("{usual}{binary}"),
            word,
        })
    }

    /// The end of the message for a unit that stands for bits and for bytes.
    fn readings(&self, text: &str, unit: &str, per: &str) -> String {
        let (number, usual) = (number(text, unit), &self.usual);
        let bit = if per.is_empty() { "bit" } else { "b" };
        format!(
            "; it may mean {number}{usual}{bit}{per} (bits) or {number}{usual}B{per} (bytes): write one of these"
        )
    }
}

/// Whether a unit is `bps`, `mbps` or the like: all small, and always bits.
fn is_usual_speed(unit: &str) -> bool {
    unit.ends_with("bps") && !unit.contains('i') && unit.chars().all(|c| c.is_ascii_lowercase())
}

/// Whether all letters of a unit with a prefix are small, or all of a unit are capital: then they
/// do not tell bits from bytes.
fn is_one_case(unit: &str) -> bool {
    let is_small = unit.chars().all(|c| !c.is_ascii_uppercase());
    is_small && !unit.starts_with('b') || unit.chars().all(|c| !c.is_ascii_lowercase())
}

/// The number before a unit, as it is written.
fn number<'a>(text: &'a str, unit: &str) -> &'a str {
    let text = text.trim();
    text.strip_suffix(unit).unwrap_or(text).trim_end()
}

/// The end of the message for a number that may be meant with one of two units.
fn without_unit(text: &str, units: [&str; 2]) -> String {
    let number = text.trim();
    let [first, second] = units;
    format!("; did you mean '{number}{first}' or '{number}{second}'?")
}

/// The end of the message for a speed whose unit is `G`, `Gbit` or `GB`.
fn speed_hint(text: &str, unit: &str) -> String {
    let number = number(text, unit);
    let data = match DataUnit::of(unit) {
        Some(data) => data,
        None => match DataUnit::of(&format!("{unit}bit")) {
            Some(data) if !unit.is_empty() => data,
            _ => return String::new(),
        },
    };
    let bits = || match data.usual.contains('i') {
        true => format!("{number}{}bit/s", data.usual),
        false => format!("{number}{}bps", data.usual.to_ascii_lowercase()),
    };
    match data.word {
        Word::Letter(_) if is_one_case(unit) && unit.ends_with('b') => {
            data.readings(text, unit, "/s")
        }
        Word::Letter('b') | Word::Bits => did_you_mean(Some(&bits())),
        Word::Letter(_) | Word::Bytes => did_you_mean(Some(&format!("{number}{}B/s", data.usual))),
    }
}

/// The unit of time that people may mean by `sec`, `msec` or `m`.
fn time_unit(unit: &str) -> Option<&'static str> {
    Some(match unit {
        "sec" | "secs" | "second" | "seconds" | "S" => "s",
        "msec" | "msecs" | "millisecond" | "milliseconds" | "MS" => "ms",
        "usec" | "usecs" | "microseconds" | "µs" | "μs" => "us",
        "m" | "mins" | "minute" | "minutes" => "min",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_as_people_write_them() {
        assert_eq!(parse_rate("128MiB/s"), Ok(134_217_728.0));
        assert_eq!(parse_rate("1e3B/s"), Ok(1000.0));
        assert_eq!(parse_size("10MiB"), Ok(10_485_760.0));
        assert_eq!(parse_size("4096B"), Ok(4096.0));
        assert_eq!(parse_size("0"), Ok(0.0));
        assert_eq!(parse_size("8Mbit"), Ok(1e6));
        for size in ["10MB", "10 mB", "10MBytes", "10Mbyte"] {
            assert_eq!(parse_size(size), Ok(1e7), "{size}");
        }
        assert_eq!(parse_duration("8ms"), Ok(0.008));
        assert_eq!(parse_duration("0"), Ok(0.0));
        assert_eq!(parse_duration("30d"), Ok(2_592_000.0));
        assert_eq!(parse_duration("1.5h"), Ok(5400.0));
    }

    #[test]
    fn small_b_is_bits_and_capital_b_is_bytes() {
        for bits in [
            "8bps",
            "8b/s",
            "8 bit/s",
            "8Bits/s",
            "0.008kbps",
            "0.008Kb/s",
            "8e-6mbps",
            "8e-6Mbps",
            "8e-6Mb/s",
            "8e-6Mbit/s",
            "8e-6mbit/s",
            "8e-6Mbits/sec",
            "8e-9Gbps",
            "8e-9Gb/s",
            "8e-12Tb/s",
        ] {
            let read = parse_rate(bits).map(|rate| (rate - 1.0).abs() < 1e-12);
            assert_eq!(read, Ok(true), "{bits}");
        }
        for bytes in [
            "1B/s",
            "1Bps",
            "1byte/s",
            "1e-3kB/s",
            "1e-3KB/s",
            "1e-3KBps",
            "1e-6MB/s",
            "1e-6MBps",
            "1e-6mB/s",
            "1e-6MBytes/sec",
            "1e-9GB/s",
            "1e-9GBps",
            "1e-9Gbyte/s",
            "1e-12TBps",
        ] {
            let read = parse_rate(bytes).map(|rate| (rate - 1.0).abs() < 1e-12);
            assert_eq!(read, Ok(true), "{bytes}");
        }
        assert_eq!(parse_rate("1gbps"), Ok(125e6));
        assert_eq!(parse_rate("10Gb/s"), Ok(1.25e9));
        assert_eq!(parse_rate("10GBps"), Ok(1e10));
        assert_eq!(parse_rate("1.25GB/s"), Ok(1.25e9));
        assert_eq!(parse_rate("100 Mbps"), Ok(12.5e6));
        assert_eq!(parse_rate("1GiBps"), Ok(1_073_741_824.0));
        assert_eq!(parse_rate("8Gibit/s"), Ok(1_073_741_824.0));
    }

    #[test]
    fn units_in_letters_of_one_case_have_two_readings() {
        let hint = |text: &str| parse_rate(text).expect_err("ambiguous").hint().to_owned();
        for (text, bits, bytes) in [
            ("10gb/s", "10Gb/s", "10GB/s"),
            ("10 mb/s", "10Mb/s", "10MB/s"),
            ("10kb/s", "10kb/s", "10kB/s"),
            ("10GB/S", "10Gb/s", "10GB/s"),
            ("10GBPS", "10Gb/s", "10GB/s"),
            ("10BPS", "10b/s", "10B/s"),
            ("10mib/s", "10Mib/s", "10MiB/s"),
            ("10mibps", "10Mib/s", "10MiB/s"),
            ("10gb", "10Gb/s", "10GB/s"),
        ] {
            let readings =
                format!("; it may mean {bits} (bits) or {bytes} (bytes): write one of these");
            assert_eq!(hint(text), readings, "{text}");
        }
        let hint = |text: &str| parse_size(text).expect_err("ambiguous").hint().to_owned();
        for (text, bits, bytes) in [
            ("10mb", "10Mbit", "10MB"),
            ("10Mb", "10Mbit", "10MB"),
            ("10mib", "10Mibit", "10MiB"),
            ("10kb", "10kbit", "10kB"),
            ("10b", "10bit", "10B"),
        ] {
            let readings =
                format!("; it may mean {bits} (bits) or {bytes} (bytes): write one of these");
            assert_eq!(hint(text), readings, "{text}");
        }
    }

    #[test]
    fn a_number_needs_a_unit() {
        let hint =
            |error: Result<f64, QuantityError>| error.expect_err("no unit").hint().to_owned();
        assert_eq!(hint(parse_size("10")), "; did you mean '10B' or '10MiB'?");
        assert_eq!(hint(parse_duration(" 8 ")), "; did you mean '8s' or '8ms'?");
    }

    #[test]
    fn units_of_others_are_known_again() {
        let suggested = |error: Result<f64, QuantityError>| {
            let message = error.expect_err("no unit of ours").to_string();
            message.split_once("did you mean ").expect("a suggestion").1.to_owned()
        };
        for (text, meant) in [
            ("10G", "'10gbps'?"),
            ("100 M", "'100mbps'?"),
            ("10Gbit", "'10gbps'?"),
            ("10Gb", "'10gbps'?"),
            ("125MB", "'125MB/s'?"),
            ("1GiB", "'1GiB/s'?"),
        ] {
            assert_eq!(suggested(parse_rate(text)), meant);
        }
        for (text, meant) in [("5sec", "'5s'?"), ("5m", "'5min'?"), ("8 msec", "'8ms'?")] {
            assert_eq!(suggested(parse_duration(text)), meant);
        }
        assert_eq!(suggested(parse_size("10M")), "'10MB'?");
        for text in ["0G", "-1G", "10", "10x"] {
            assert_eq!(parse_rate(text).expect_err("no speed").hint(), "", "{text}");
        }
    }

    #[test]
    fn nonsense_is_refused() {
        for text in [
            "",
            "gbps",
            "-1gbps",
            "1",
            "0gbps",
            "nan gbps",
            "1e999gbps",
            "inf",
            "é",
            "1e",
            "1bbps",
            "1/s",
        ] {
            assert!(parse_rate(text).is_err(), "{text}");
        }
        for text in ["", "x", "-1", "10XB", "1e", "NaN", "1e308TB", "1e308d"] {
            assert!(parse_size(text).is_err(), "{text}");
            assert!(parse_duration(text).is_err(), "{text}");
        }
    }
}
