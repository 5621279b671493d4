//! Formats numbers for people.

/// A rate of a port: `1 Gbps`.
pub fn rate(bps: f64) -> String {
    const UNITS: [&str; 5] = ["bps", "kbps", "Mbps", "Gbps", "Tbps"];
    scaled(bps, 1000.0, &UNITS)
}

/// A number of bytes: `8.13 TiB`.
pub(crate) fn bytes(bytes: f64) -> String {
    const UNITS: [&str; 7] = ["bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    scaled(bytes, 1024.0, &UNITS)
}

fn scaled(mut value: f64, step: f64, units: &[&str]) -> String {
    let mut unit = 0;
    while value >= step && unit + 1 < units.len() {
        value /= step;
        unit += 1;
    }
    let text = format!("{value:.2}");
    format!("{} {}", text.trim_end_matches('0').trim_end_matches('.'), units[unit])
}

/// A count: `706,397`.
pub(crate) fn count(n: usize) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (i, digit) in digits.char_indices() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A count with its noun: `1 coflow`, `706,397 flows`.
pub(crate) fn counted(n: usize, noun: &str) -> String {
    format!("{} {noun}{}", count(n), if n == 1 { "" } else { "s" })
}

/// A value with a number of decimals; a dash if the value is not finite (the mean of no coflows, or
/// a division by zero).
pub(crate) fn fixed(value: f64, decimals: usize) -> String {
    if value.is_finite() { format!("{value:.decimals$}") } else { "-".to_owned() }
}

/// The number of decimals for the values of a column. All values of a column have the same number,
/// so they line up. The smallest value has about four significant digits, with at most four
/// decimals; there are more decimals only if the greatest value needs them for three significant
/// digits.
pub(crate) fn decimals(values: impl IntoIterator<Item = f64>) -> usize {
    let decimals = |digits: i32, value: f64| digits - 1 - value.log10().floor() as i32;
    let positive = values.into_iter().filter(|v| v.is_finite() && *v > 0.0);
    let Some((min, max)) = positive.fold(None, |range: Option<(f64, f64)>, v| {
        Some(range.map_or((v, v), |(min, max)| (min.min(v), max.max(v))))
    }) else {
        return 1;
    };
    decimals(4, min).clamp(1, 4).max(decimals(3, max)) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_grow_with_the_value() {
        assert_eq!(rate(1e9), "1 Gbps");
        assert_eq!(rate(1_073_741_824.0), "1.07 Gbps");
        assert_eq!(rate(8.0), "8 bps");
        assert_eq!(bytes(0.0), "0 bytes");
        assert_eq!(bytes(1536.0), "1.5 KiB");
        assert_eq!(bytes(5e22), "43368.09 EiB");
    }

    #[test]
    fn counts_have_commas() {
        assert_eq!([0, 999, 1000, 706_397].map(count), ["0", "999", "1,000", "706,397"]);
        assert_eq!(counted(1, "coflow"), "1 coflow");
    }

    #[test]
    fn decimals_fit_the_column() {
        assert_eq!(decimals([12.3, 35.2]), 2);
        assert_eq!(decimals([0.0912, 3.2]), 4);
        assert_eq!(decimals([1234.5, 9000.0]), 1);
        assert_eq!(decimals([2e-6, 0.0]), 8);
        assert_eq!(decimals([0.0, f64::NAN, f64::INFINITY]), 1);
    }
}
