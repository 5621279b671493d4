//! Times of day and durations as text.

use time::{Date, Month};

use crate::moment::Moment;

/// The moment of `2026-11-25T16:02:30.25+01:00`, on a clock that starts with 1970. A blank may
/// replace the `T`, a comma the point. The fraction and the zone may be missing; without zone the
/// time counts as UTC.
pub(super) fn date_and_time(text: &str) -> Option<Moment> {
    date_time_and_zone(text).map(|(moment, _)| moment)
}

/// [`date_and_time`], and whether the text has a zone.
pub(super) fn date_time_and_zone(text: &str) -> Option<(Moment, bool)> {
    let (date, rest) = text.split_once(['T', 't', ' '])?;
    let date = numbers(date, '-')?;
    let is_of_time = |c: char| c.is_ascii_digit() || ":.,".contains(c);
    let (time, zone) = rest.split_at(rest.find(|c| !is_of_time(c)).unwrap_or(rest.len()));
    let zone = zone.trim();
    Some((moment(date, time, -offset_s(zone)?)?, !zone.is_empty()))
}

/// The moment of `25/11/2026 4:02:30.25 PM` or, with the month first, `11/25/2026 16:02`, as UTC.
pub(super) fn date_with_slashes(text: &str, is_day_first: bool) -> Option<Moment> {
    let (date, rest) = text.split_once(' ')?;
    let [first, second, year] = numbers(date, '/')?;
    let date = if is_day_first { [year, second, first] } else { [year, first, second] };
    let (time, half) = rest.trim().split_once(' ').unwrap_or((rest.trim(), ""));
    let time = if time.matches(':').count() == 1 { format!("{time}:00") } else { time.to_owned() };
    let hour: i64 = time.split(':').next()?.parse().ok()?;
    let later_h = match half.to_ascii_uppercase().as_str() {
        "" => 0,
        "AM" if hour == 12 => -12,
        "PM" if hour < 12 => 12,
        "AM" | "PM" if hour <= 12 => 0,
        _ => return None,
    };
    moment(date, &time, later_h * 3600)
}

/// A date, a time of day `16:02:30.25`, and seconds after it.
fn moment(date: [i64; 3], time: &str, later_s: i64) -> Option<Moment> {
    let (whole, fraction) = time.split_once(['.', ',']).unwrap_or((time, "0"));
    let time = numbers(whole, ':')?;
    let is_valid = time[0] < 24 && time[1] < 60 && time[2] <= 60 && is_number(fraction);
    if !is_valid {
        return None;
    }
    let seconds = days(date)? * 86_400 + time[0] * 3600 + time[1] * 60 + time[2] + later_s;
    Moment::parse(&seconds.to_string())?.plus(Moment::parse(&format!("0.{fraction}"))?)
}

/// A duration in seconds, or as `00:01:02.5` or `1d 02:00:01.000`.
pub(super) fn duration(text: &str) -> Option<Moment> {
    let (days, rest) = match text.split_once('d') {
        Some((days, rest)) => (days.trim(), rest.trim()),
        None => ("0", text.trim()),
    };
    let parts: Vec<&str> = rest.split(':').collect();
    let (last, before) = parts.split_last()?;
    let is_decimal = |text: &str| text.split('.').all(is_number) && text.matches('.').count() <= 1;
    if before.len() > 2 || !is_number(days) || !is_decimal(last) {
        return None;
    }
    let mut whole_s: i64 = 0;
    for part in before {
        whole_s =
            whole_s.checked_mul(60)?.checked_add(part.parse().ok().filter(|_| is_number(part))?)?;
    }
    whole_s = whole_s.checked_mul(if before.is_empty() { 0 } else { 60 })?;
    whole_s = whole_s.checked_add(days.parse::<i64>().ok()?.checked_mul(86_400)?)?;
    Moment::parse(&whole_s.to_string())?.plus(Moment::parse(last)?)
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

/// Three numbers of up to four digits.
fn numbers(text: &str, separator: char) -> Option<[i64; 3]> {
    let mut parts = text.split(separator).map(|part| {
        let is_number = (1..=4).contains(&part.len()) && is_number(part);
        is_number.then(|| part.parse().ok()).flatten()
    });
    let three = [parts.next()??, parts.next()??, parts.next()??];
    parts.next().is_none().then_some(three)
}

/// Seconds that a zone is ahead of UTC. A zone is empty, or `Z`, `UTC`, `GMT`, `+01:00`, `+0100` or
/// `-01`; `None` if it is none of these.
fn offset_s(zone: &str) -> Option<i64> {
    if zone.is_empty() || ["Z", "UTC", "GMT"].iter().any(|it| it.eq_ignore_ascii_case(zone)) {
        return Some(0);
    }
    let (sign, digits) = match zone.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, zone.strip_prefix('+')?),
    };
    let (hours, rest) = digits.split_at_checked(2)?;
    let minutes = if rest.is_empty() { "00" } else { rest.strip_prefix(':').unwrap_or(rest) };
    let below = |text: &str, limit: i64| {
        let number: i64 = text.parse().ok().filter(|_| text.len() == 2 && is_number(text))?;
        (number < limit).then_some(number)
    };
    Some(sign * (below(hours, 24)? * 3600 + below(minutes, 60)? * 60))
}

/// Days from the first of January 1970 to a date.
fn days([year, month, day]: [i64; 3]) -> Option<i64> {
    let month = Month::try_from(u8::try_from(month).ok()?).ok()?;
    let date = |year, day| Date::from_calendar_date(year, month, day).ok();
    let date = date(i32::try_from(year).ok()?, u8::try_from(day).ok()?)?;
    Some((date - Date::from_ordinal_date(1970, 1).ok()?).whole_days())
}

#[cfg(test)]
mod tests {
    use super::{date_and_time, date_with_slashes, duration};
    use crate::moment::Moment;

    #[test]
    fn known_times() {
        for (text, seconds) in [
            ("1970-01-01 00:00:00", "0"),
            ("2000-02-29 12:00:00.5", "951825600.5"),
            ("2000-03-01T00:00:00Z", "951868800"),
            ("2026-11-25T17:02:30,25+01:00", "1795622550.25"),
            ("2026-11-25T11:02:30.123456789-0500", "1795622550.123456789"),
            ("1969-12-31 23:59:59.25", "-0.75"),
            ("2024-05-01 12:00:00+02:00", "1714557600"),
            ("2024-05-01t12:00:00 UTC", "1714564800"),
            ("2024-05-01 12:00:00.5 +0200", "1714557600.5"),
            ("2024-05-01 12:00:00+14", "1714514400"),
            ("2024-05-01 12:00:00-00:30", "1714566600"),
            ("2024-05-01 12:00:00+23:59", "1714478460"),
        ] {
            assert_eq!(date_and_time(text), Moment::parse(seconds), "{text}");
        }
    }

    #[test]
    fn dates_with_slashes() {
        for (text, is_day_first, same) in [
            ("25/11/2026 16:02:30.25", true, "2026-11-25 16:02:30.25"),
            ("11/25/2026 16:02", false, "2026-11-25 16:02:00"),
            ("7/7/2017 8:55", true, "2017-07-07 08:55:00"),
            ("07/07/2017 03:30:01 PM", true, "2017-07-07 15:30:01"),
            ("07/07/2017 12:30:01 am", true, "2017-07-07 00:30:01"),
            ("07/07/2017 12:30:01 PM", true, "2017-07-07 12:30:01"),
        ] {
            assert_eq!(date_with_slashes(text, is_day_first), date_and_time(same), "{text}");
        }
        for text in ["25/11/2026 16:02", "7/7/2017", "7/7/2017 13:00 PM", "7/7/2017 1:00 XM"] {
            assert_eq!(date_with_slashes(text, false), None, "{text}");
        }
    }

    #[test]
    fn durations() {
        for (text, seconds) in [
            ("2.25", "2.25"),
            ("    00:00:00.001", "0.001"),
            ("00:01:02.5", "62.5"),
            ("1:2.5", "62.5"),
            ("1d 02:00:01.000", "93601"),
            (" 12d 00:00:00.25", "1036800.25"),
        ] {
            assert_eq!(duration(text), Moment::parse(seconds), "{text}");
        }
        for text in [
            "",
            "x",
            "-1",
            "1d",
            "d 1",
            "1:2:3:4",
            "1d 02:00:-1",
            "1e3",
            "1.2.3",
            "99999999999999999999",
        ] {
            assert!(duration(text).is_none() || text.len() > 15, "{text}");
        }
    }

    #[test]
    fn other_texts_are_no_times() {
        for text in [
            "",
            "2026-11-25",
            "2026-13-01 00:00:00",
            "2026-11-25 24:00:00",
            "2026-02-29 00:00:00",
            "2026-11-25 00:00:00 CET",
            "2026-11-25 1:2",
            "a b",
        ] {
            assert_eq!(date_and_time(text), None, "{text}");
        }
        for text in ["2026-11-25 01:02:03.x", "2026-11-25 01:02:03+é1", "2026-11-25 01:02:03+123"]
        {
            assert_eq!(date_and_time(text), None, "{text}");
        }
        for zone in
            ["+", "+1", "+24", "+01:60", "+0160", "+01:", "+:01", "+0:100", "+01::00", "+-1"]
        {
            assert_eq!(date_and_time(&format!("2026-11-25 01:02:03{zone}")), None, "{zone}");
        }
    }
}
