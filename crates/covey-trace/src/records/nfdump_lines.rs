//! The lines of nfdump: `DATE TIME DURATION PROTOCOL SOURCE -> DESTINATION`, then the columns of
//! the header.

use super::clock::{date_and_time, duration};
use super::connection::{Connection, Counters, Opened};
use super::draft::Draft;
use super::fields::{check_time, has_ports, port, protocol};
use super::layout::{CONDENSED, is_condensed};
use crate::error::{Location, TraceError, quote};
use crate::limits::MAX_BYTES;
use crate::moment::Moment;
use crate::read::{First, Rest};

const LINE: &str = "DATE TIME DURATION PROTOCOL SOURCE -> DESTINATION";

/// Whether a first line is the header of such lines, or, with `nfdump -q`, a record.
pub(super) fn is_line(line: &str) -> bool {
    is_header(line)
        || line.contains("-> ") && line.get(..19).is_some_and(|it| date_and_time(it).is_some())
}

fn is_header(line: &str) -> bool {
    line.starts_with("Date f")
}

/// Whether a line is of the summary below the records, or says that there are none.
pub(super) fn is_summary(line: &str) -> bool {
    const STARTS: [&str; 8] = [
        "Summary",
        "Time window",
        "Total flows processed",
        "Total records processed",
        "Sys:",
        "No matched flows",
        "No matching flows",
        "flows,bytes,packets",
    ];
    STARTS.iter().any(|start| line.starts_with(start))
}

/// The columns behind the destination.
struct Columns(Vec<String>);

impl Columns {
    /// The columns of `-o line`.
    fn of_line() -> Columns {
        Columns(["Packets", "Bytes", "Flows"].map(str::to_owned).to_vec())
    }

    /// The columns that a header names. Those for two directions are two words.
    fn new(location: Location<'_>, header: &str) -> Result<Columns, TraceError> {
        let is_whole = header.contains("Duration") && header.contains("Proto");
        let behind = header.split_once("Dst IP Addr:Port").filter(|_| is_whole);
        let columns = behind.map(|(_, names)| {
            let mut columns: Vec<String> = Vec::new();
            for word in names.split_ascii_whitespace() {
                match columns.last_mut() {
                    Some(last) if last == "In" || last == "Out" => last.push_str(word),
                    _ => columns.push(word.to_owned()),
                }
            }
            Columns(columns)
        });
        columns.filter(|it| it.place("Bytes").or(it.place("InByte")).is_some()).ok_or_else(|| {
            let expected = "the header of nfdump -o line, long or extended, or one with commas";
            location.bad("header", expected, quote(header))
        })
    }

    fn place(&self, name: &str) -> Option<usize> {
        self.0.iter().position(|it| it == name)
    }
}

/// Reads the lines of one output, or of several.
pub(super) fn read(
    (location, line): First<'_>,
    mut lines: Rest<'_>,
    draft: &mut Draft,
) -> Result<(), TraceError> {
    let mut columns = match is_line(line) && !is_header(line) {
        true => {
            let columns = Columns::of_line();
            let result = add(location, line, &columns, draft);
            draft.accept(result)?;
            columns
        }
        false => Columns::new(location, line)?,
    };
    while draft.advance(&mut lines)? {
        let (location, line) = lines.current();
        let line = line.trim_start_matches('\u{feff}');
        if is_header(line) {
            columns = Columns::new(location, line)?;
        } else if !is_summary(line) {
            let result = add(location, line, &columns, draft);
            draft.accept(result)?;
        }
    }
    Ok(())
}

fn add(
    location: Location<'_>,
    line: &str,
    columns: &Columns,
    draft: &mut Draft,
) -> Result<(), TraceError> {
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    let arrow = words.iter().position(|word| matches!(*word, "->" | "<->"));
    let Some((head, [_, dst, values @ ..])) =
        arrow.filter(|arrow| *arrow >= 5).map(|arrow| words.split_at(arrow))
    else {
        return Err(location.bad("record", LINE, quote(line)));
    };
    let [date, time, lasted @ .., name, src] = head else {
        return Err(location.bad("record", LINE, quote(line)));
    };
    if is_condensed(src) || is_condensed(dst) {
        return draft.pass_over(location, CONDENSED);
    }
    let Some(values) = values_of(values).filter(|values| values.len() == columns.0.len()) else {
        let expected = format_args!("{} at the end of the line", columns.0.join(" "));
        return Err(location.bad("bytes", expected, quote(line)));
    };
    let value = |name: &str| columns.place(name).map(|place| &values[place]);
    let start = date_and_time(&format!("{date} {time}")).ok_or_else(|| {
        let found = quote(&format!("{date} {time}"));
        location.bad("first seen", "a time like 2026-11-25 16:02:30.250", found)
    })?;
    let start = check_time(location, "first seen", start)?;
    let lasted = lasted.join(" ");
    let lasted = duration(&lasted).filter(Moment::is_time).ok_or_else(|| {
        let expected = "a duration in seconds, or as 00:01:02.5 or 1d 02:00:01.5";
        location.bad("duration", expected, quote(&lasted))
    })?;
    let protocol = protocol(location, "protocol", name)?;
    let [(src, sport), (dst, dport)] = [host_and_port(src), host_and_port(dst)];
    let bytes = |names: [&str; 2]| {
        let value = names.iter().find_map(|name| value(name));
        let number = |it: &Value| it.number.filter(|bytes| (0.0..=MAX_BYTES).contains(bytes));
        value.map(|it| number(it).ok_or_else(|| location.bad("bytes", "bytes", quote(it.text))))
    };
    let is_rounded = ["Bytes", "InByte", "OutByte"]
        .iter()
        .any(|name| value(name).is_some_and(|it| it.is_rounded));
    let connection = Connection {
        end: start.plus(lasted),
        ports: match has_ports(protocol) {
            true => {
                [port(location, "source port", sport)?, port(location, "destination port", dport)?]
            }
            false => [0; 2],
        },
        bytes: [
            bytes(["Bytes", "InByte"]).transpose()?,
            bytes(["OutByte", "OutByte"]).transpose()?,
        ],
        opened: value("Flags").map_or(Opened::Unknown, |flags| Opened::by_flags(flags.text)),
        counters: Counters::Delta,
        ..Connection::new(
            start,
            protocol,
            [
                draft.host(location, "source address", src)?,
                draft.host(location, "destination address", dst)?,
            ],
        )
    };
    draft.push(location, connection)?;
    draft.repairs.rounded += u64::from(is_rounded);
    Ok(())
}

/// A value behind the destination.
struct Value<'a> {
    text: &'a str,
    number: Option<f64>,
    is_rounded: bool,
}

/// The values in words. Large numbers are two words, such as `2.7 M`.
fn values_of<'a>(words: &[&'a str]) -> Option<Vec<Value<'a>>> {
    let mut values: Vec<Value<'a>> = Vec::new();
    for &word in words {
        let unit = match word {
            "K" => 1e3,
            "M" => 1e6,
            "G" => 1e9,
            "T" => 1e12,
            "P" => 1e15,
            _ => {
                let number = word.parse().ok();
                values.push(Value { text: word, number, is_rounded: false });
                continue;
            }
        };
        let last = values.last_mut().filter(|last| !last.is_rounded)?;
        last.number = Some((last.number? * unit).round());
        last.is_rounded = true;
    }
    Some(values)
}

/// Splits `10.0.0.1:80` and `2001:db8::1.80`; without a port there is an empty one.
fn host_and_port(text: &str) -> (&str, &str) {
    let is_v6 = text.matches(':').count() > 1;
    let split = if is_v6 { text.split_once('.') } else { text.rsplit_once(':') };
    split.unwrap_or((text, ""))
}
