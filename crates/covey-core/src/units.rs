//! Quantities as people write them: `1gbps`, `128MiB/s`, `10MiB`, `8ms`.

use crate::suggest::did_you_mean;

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

/// A link speed in bytes per second: `8bps`, `100mbps`, `1gbps` (decimal bits a second), or
/// `125MB/s`, `128MiB/s` (bytes a second).
///
/// # Errors
/// A sentence that says what was expected, when `text` is not a speed or not above zero.
pub fn parse_rate(text: &str) -> Result<f64, String> {
    let expected = || {
        let meant = meant(text, speed_unit);
        format!(
            "'{text}' is not a speed above zero with its unit: expected one like 1gbps, 100mbps, 8bps or 128MiB/s{meant}"
        )
    };
    let (value, unit) = number_and_unit(text).ok_or_else(expected)?;
    let bytes = match unit.to_ascii_lowercase().as_str() {
        "bps" => 1.0 / 8.0,
        "kbps" => 1e3 / 8.0,
        "mbps" => 1e6 / 8.0,
        "gbps" => 1e9 / 8.0,
        "tbps" => 1e12 / 8.0,
        other => size_unit(other.strip_suffix("/s").ok_or_else(expected)?).ok_or_else(expected)?,
    };
    let rate = value * bytes;
    if rate > 0.0 && rate.is_finite() { Ok(rate) } else { Err(expected()) }
}

/// A size in bytes: `100`, `100B`, `10MB`, `10MiB`, `1.5GiB`.
///
/// # Errors
/// A sentence that says what was expected.
pub fn parse_size(text: &str) -> Result<f64, String> {
    let expected = || {
        let meant = meant(text, |unit| {
            let bytes = format!("{unit}B");
            size_unit(&bytes.to_ascii_lowercase()).map(|_| bytes)
        });
        format!("'{text}' is not a size: expected one like 10MiB, 1.5GB or 4096{meant}")
    };
    let (value, unit) = number_and_unit(text).ok_or_else(expected)?;
    let factor = if unit.is_empty() { Some(1.0) } else { size_unit(&unit.to_ascii_lowercase()) };
    Ok(value * factor.ok_or_else(expected)?)
}

/// A duration in seconds: `8ms`, `10us`, `2s`, `1.5` (seconds).
///
/// # Errors
/// A sentence that says what was expected.
pub fn parse_duration(text: &str) -> Result<f64, String> {
    let expected = || {
        let meant = meant(text, time_unit);
        format!("'{text}' is not a duration: expected one like 8ms, 10us, 2s or 0{meant}")
    };
    let (value, unit) = number_and_unit(text).ok_or_else(expected)?;
    let factor = match unit {
        "" | "s" => 1.0,
        "ms" => 1e-3,
        "us" => 1e-6,
        "ns" => 1e-9,
        "min" => 60.0,
        "h" => 3600.0,
        "d" => 86_400.0,
        _ => return Err(expected()),
    };
    Ok(value * factor)
}

/// The end of a message about a quantity whose unit is another way of writing one that is known.
fn meant(text: &str, known: impl Fn(&str) -> Option<String>) -> String {
    let meant = number_and_unit(text).filter(|(value, _)| *value > 0.0).and_then(|(_, unit)| {
        let number = text.trim().strip_suffix(unit)?.trim_end();
        Some(format!("{number}{}", known(unit)?))
    });
    did_you_mean(meant.as_deref())
}

/// The unit of speed that people may mean by `G`, `Gbit/s` or `GB`.
fn speed_unit(unit: &str) -> Option<String> {
    let prefix = unit.chars().next().filter(|c| "kmgtKMGT".contains(*c))?;
    match &unit[1..] {
        "" | "b" | "bit" | "bits" | "bit/s" | "bits/s" => {
            Some(format!("{}bps", prefix.to_ascii_lowercase()))
        }
        "B" | "iB" => Some(format!("{unit}/s")),
        _ => None,
    }
}

/// The unit of time that people may mean by `sec`, `msec` or `m`.
fn time_unit(unit: &str) -> Option<String> {
    let known = match unit {
        "sec" | "secs" | "second" | "seconds" | "S" => "s",
        "msec" | "msecs" | "millisecond" | "milliseconds" | "MS" => "ms",
        "usec" | "usecs" | "microseconds" | "µs" | "μs" => "us",
        "m" | "mins" | "minute" | "minutes" => "min",
        _ => return None,
    };
    Some(known.to_owned())
}

/// Bytes of a lower-case size unit.
fn size_unit(unit: &str) -> Option<f64> {
    Some(match unit {
        "b" => 1.0,
        "kb" => 1e3,
        "mb" => 1e6,
        "gb" => 1e9,
        "tb" => 1e12,
        "kib" => 1024.0,
        "mib" => MIB,
        "gib" => MIB * 1024.0,
        "tib" => MIB * MIB,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_as_people_write_them() {
        assert_eq!(parse_rate("1gbps"), Ok(125e6));
        assert_eq!(parse_rate("8bps"), Ok(1.0));
        assert_eq!(parse_rate("100 Mbps"), Ok(12.5e6));
        assert_eq!(parse_rate("128MiB/s"), Ok(134_217_728.0));
        assert_eq!(parse_rate("1e3B/s"), Ok(1000.0));
        assert_eq!(parse_size("10MiB"), Ok(10_485_760.0));
        assert_eq!(parse_size("4096"), Ok(4096.0));
        assert_eq!(parse_duration("8ms"), Ok(0.008));
        assert_eq!(parse_duration("0"), Ok(0.0));
        assert_eq!(parse_duration("30d"), Ok(2_592_000.0));
        assert_eq!(parse_duration("1.5h"), Ok(5400.0));
    }

    #[test]
    fn units_of_others_are_known_again() {
        let suggested = |error: Result<f64, String>| {
            let message = error.expect_err("no unit of ours");
            message.split_once("did you mean ").expect("a suggestion").1.to_owned()
        };
        for (text, meant) in [
            ("10G", "'10gbps'?"),
            ("100 M", "'100mbps'?"),
            ("10Gbit/s", "'10gbps'?"),
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
            assert!(!parse_rate(text).expect_err("no speed").contains("mean"), "{text}");
        }
    }

    #[test]
    fn nonsense_is_refused() {
        for text in
            ["", "gbps", "-1gbps", "1", "0gbps", "nan gbps", "1e999gbps", "1gb", "inf", "é", "1e"]
        {
            assert!(parse_rate(text).is_err(), "{text}");
        }
        for text in ["", "x", "-1", "10XB", "1e", "NaN"] {
            assert!(parse_size(text).is_err(), "{text}");
            assert!(parse_duration(text).is_err(), "{text}");
        }
    }
}
