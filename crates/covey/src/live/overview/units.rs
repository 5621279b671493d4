//! Quantities for people, short enough for a column.

/// A number with three digits that count, and a unit of these, each a thousand times the one
/// before.
fn scaled(mut value: f64, units: &[&str]) -> String {
    let mut unit = 0;
    while value >= 999.5 && unit + 1 < units.len() {
        value /= 1000.0;
        unit += 1;
    }
    let decimals = match value {
        _ if unit == 0 => 0,
        value if value < 9.995 => 2,
        value if value < 99.95 => 1,
        _ => 0,
    };
    format!("{value:.decimals$} {}", units[unit])
}

/// A number of bytes: `1.23 MB`.
pub fn bytes(bytes: f64) -> String {
    scaled(bytes, &["B", "kB", "MB", "GB", "TB", "PB", "EB"])
}

/// A rate in bytes per second: `12.5 MB/s`; a dash if it is none.
pub fn rate(bytes_per_s: f64) -> String {
    if bytes_per_s > 0.0 { bytes(bytes_per_s) + "/s" } else { "-".to_owned() }
}

/// A time in seconds: `0.4 s`, `12 s`, `34 min`, `5 h`, `3 d`.
pub fn duration(seconds: f64) -> String {
    match seconds.max(0.0) {
        s if s < 9.95 => format!("{s:.1} s"),
        s if s < 120.0 => format!("{s:.0} s"),
        s if s < 7200.0 => format!("{:.0} min", s / 60.0),
        s if s < 172_800.0 => format!("{:.0} h", s / 3600.0),
        s => format!("{:.0} d", s / 86_400.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_have_three_digits_and_a_unit() {
        let shown = [0.0, 999.0, 1000.0, 9994.0, 99_940.0, 999_499.0, 999_500.0, 1.5e30].map(bytes);
        let expected = [
            "0 B",
            "999 B",
            "1.00 kB",
            "9.99 kB",
            "99.9 kB",
            "999 kB",
            "1.00 MB",
            "1500000000000 EB",
        ];
        assert_eq!(shown, expected);
        assert_eq!([rate(0.0), rate(125e6)], ["-", "125 MB/s"]);
        let shown = [-1.0, 0.44, 9.96, 119.0, 121.0, 7300.0, 2e5].map(duration);
        assert_eq!(shown, ["0.0 s", "0.4 s", "10 s", "119 s", "2 min", "2 h", "2 d"]);
    }
}
