//! Times of day as text.

/// Seconds since the start of 1970 of `2026-11-25T16:02:30.25+01:00`. A blank may replace the `T`, a comma the
/// point. The fraction and the offset may be missing; without offset the time counts as UTC.
pub(super) fn date_and_time(text: &str) -> Option<f64> {
    let (date, rest) = text.split_once(['T', ' '])?;
    let date = numbers(date, '-')?;
    let zone = rest.find(['Z', '+', '-']).unwrap_or(rest.len());
    let (time, zone) = rest.split_at(zone);
    let (whole, fraction) = time.split_once(['.', ',']).unwrap_or((time, "0"));
    let time = numbers(whole, ':')?;
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let is_valid = (1..=12).contains(&date[1])
        && (1..=31).contains(&date[2])
        && time[0] < 24
        && time[1] < 60
        && time[2] <= 60
        && is_number(fraction);
    if !is_valid {
        return None;
    }
    let seconds = days(date) * 86_400 + time[0] * 3600 + time[1] * 60 + time[2] - offset_s(zone)?;
    let fraction: f64 = format!("0.{fraction}").parse().ok()?;
    Some(seconds as f64 + fraction)
}

/// Three numbers of up to four digits.
fn numbers(text: &str, separator: char) -> Option<[i64; 3]> {
    let mut parts = text.split(separator).map(|part| {
        let is_number = (1..=4).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit());
        is_number.then(|| part.parse().ok()).flatten()
    });
    let three = [parts.next()??, parts.next()??, parts.next()??];
    parts.next().is_none().then_some(three)
}

/// Seconds that a zone is ahead of UTC: ``, `Z`, `+01:00`, `+0100` or `-01`.
fn offset_s(zone: &str) -> Option<i64> {
    if matches!(zone, "" | "Z") {
        return Some(0);
    }
    let sign = if zone.starts_with('-') { -1 } else { 1 };
    let digits = zone[1..].replace(':', "");
    if !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let number: i64 = digits.parse().ok()?;
    match digits.len() {
        2 => Some(sign * number * 3600),
        4 => Some(sign * (number / 100 * 3600 + number % 100 * 60)),
        _ => None,
    }
}

/// Days from the first of January 1970 to a date of the Gregorian calendar. Years start in March, so that the
/// day that leap years add is their last.
fn days([year, month, day]: [i64; 3]) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let month = (month + 9) % 12;
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    365 * year + leap_days + (153 * month + 2) / 5 + day - 1 - 719_468
}

#[cfg(test)]
mod tests {
    use super::date_and_time;

    #[test]
    fn known_times() {
        for (text, seconds) in [
            ("1970-01-01 00:00:00", 0.0),
            ("2000-02-29 12:00:00.5", 951_825_600.5),
            ("2000-03-01T00:00:00Z", 951_868_800.0),
            ("2026-11-25T17:02:30,25+01:00", 1_795_622_550.25),
            ("2026-11-25T11:02:30-0500", 1_795_622_550.0),
            ("1969-12-31 23:59:59.25", -0.75),
        ] {
            assert_eq!(date_and_time(text), Some(seconds), "{text}");
        }
    }

    #[test]
    fn other_texts_are_no_times() {
        for text in [
            "",
            "2026-11-25",
            "2026-13-01 00:00:00",
            "2026-11-25 24:00:00",
            "2026-11-25 1:2",
            "a b",
        ] {
            assert_eq!(date_and_time(text), None, "{text}");
        }
        for text in ["2026-11-25 01:02:03.x", "2026-11-25 01:02:03+é1", "2026-11-25 01:02:03+123"]
        {
            assert_eq!(date_and_time(text), None, "{text}");
        }
    }
}
