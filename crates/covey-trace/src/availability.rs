//! The share of each port's processor available for compressing, over time.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use crate::Moment;
use crate::error::{TraceError, quote};
use crate::limits::MAX_TIME_S;
use crate::read::{Lines, number};

/// A change of the available share of a processor.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Change {
    /// Time of the change, in seconds after the origin of the workload; it may be negative.
    pub time_s: f64,
    /// The port; `None` for all ports.
    pub port: Option<u32>,
    /// The share, from 0 (none) to 1 (all).
    pub share: f64,
}

/// The shares of all ports' processors over time. Each is 1 until its first change.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Availability {
    /// The changes in order of time; of two at the same time, the later one in the list counts.
    changes: Vec<Change>,
}

impl Availability {
    /// The shares after these changes, which may have any order.
    pub fn new(mut changes: Vec<Change>) -> Availability {
        changes.sort_by(|a, b| a.time_s.total_cmp(&b.time_s));
        Availability { changes }
    }

    /// The changes in order of time.
    pub fn changes(&self) -> &[Change] {
        &self.changes
    }

    /// The largest share of a port's processor at any time.
    pub fn greatest(&self, port: u32) -> f64 {
        let of_port = self.changes.iter().filter(|c| c.port.is_none_or(|p| p == port));
        of_port.fold(1.0, |greatest, change| {
            if change.time_s <= 0.0 { change.share } else { change.share.max(greatest) }
        })
    }

    /// Reads `text` of a command line: a share for all ports and times, from 0 to 1, or else the
    /// name of a file for [`Availability::read`]. `origin` is that of the workload.
    ///
    /// # Errors
    /// Those of [`Availability::read`]; a number out of range; a file that cannot be read.
    pub fn open(text: &str, ports: u32, origin: Moment) -> Result<Availability, TraceError> {
        if let Ok(share) = text.parse::<f64>() {
            if !(0.0..=1.0).contains(&share) {
                return Err(TraceError::Argument {
                    argument: "cpu".to_owned(),
                    expected: "a share from 0 to 1, or a file".to_owned(),
                    found: quote(text),
                });
            }
            return Ok(Availability::new(vec![Change { time_s: 0.0, port: None, share }]));
        }
        let path = Path::new(text);
        let name = path.display().to_string();
        let file = File::open(path).map_err(|e| {
            let error = TraceError::io(&name, e);
            let percent = text.strip_suffix('%').and_then(|percent| percent.parse::<f64>().ok());
            match percent {
                Some(percent) => error.suggesting(&(percent / 100.0).to_string()),
                None => error,
            }
        })?;
        Availability::read(BufReader::new(file), &name, ports, origin)
    }

    /// Reads comma-separated values under the header `port,from_s,share`: from that second of the
    /// trace's clock on, the port's processor has that share. A port of `*` means all ports. `name`
    /// names the source in messages.
    ///
    /// # Errors
    /// An error of a line, with its number and field.
    pub fn read(
        source: impl BufRead,
        name: &str,
        ports: u32,
        origin: Moment,
    ) -> Result<Availability, TraceError> {
        const HEADER: &str = "port,from_s,share";
        let mut lines = Lines::new(source, name);
        match lines.next()? {
            Some((_, line)) if line.trim() == HEADER => {}
            Some((location, line)) => {
                return Err(location.bad("header", HEADER, quote(line.trim())));
            }
            None => return Err(lines.location().bad("header", HEADER, "the end of the file")),
        }
        let mut changes = Vec::new();
        while let Some((location, line)) = lines.next()? {
            let mut fields = line.split(',').map(str::trim);
            let mut field = |what: &str, expected: &str| {
                fields.next().ok_or_else(|| location.bad(what, expected, "the end of the line"))
            };
            let last = ports.saturating_sub(1);
            let expected = format!("a port from 0 to {last}, or *");
            let port = match field("port", &expected)? {
                "*" => None,
                text => match text.parse() {
                    Ok(port) if port < ports => Some(port),
                    _ => return Err(location.bad("port", expected, quote(text))),
                },
            };
            let text = field("from_s", "seconds")?;
            let from_s = number(location, "from_s", "seconds", text, MAX_TIME_S)?;
            let time_s = Moment::parse(text).map_or(from_s, |moment| moment.since(origin));
            let share = number(location, "share", "a share", field("share", "a share")?, 1.0)?;
            if let Some(text) = fields.next() {
                return Err(location.bad("end of line", "nothing after share", quote(text)));
            }
            changes.push(Change { time_s, port, share });
        }
        Ok(Availability::new(changes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Availability, String> {
        Availability::read(text.as_bytes(), "cpu.csv", 4, Moment::ZERO)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn changes_are_in_order_of_time() {
        let read = read("port,from_s,share\n2,3.5,0.25\n*, 1, 0\n\n").unwrap();
        let change = |time_s, port, share| Change { time_s, port, share };
        assert_eq!(read.changes(), [change(1.0, None, 0.0), change(3.5, Some(2), 0.25)]);
        assert_eq!(
            Availability::open("0.5", 4, Moment::ZERO).unwrap().changes(),
            [change(0.0, None, 0.5)]
        );
    }

    #[test]
    fn times_are_on_the_clock_of_the_trace() {
        let text = "port,from_s,share\n*,1700000000.000002,0\n*,0,0.5\n";
        let origin = Moment::parse("1700000000").unwrap();
        let read = Availability::read(text.as_bytes(), "cpu.csv", 4, origin).unwrap();
        let times: Vec<f64> = read.changes().iter().map(|change| change.time_s).collect();
        assert_eq!(times, [-1.7e9, 2e-6]);
    }

    #[test]
    fn the_greatest_share() {
        let read = read("port,from_s,share\n*,0,0.5\n2,0,0.1\n1,9,0.8\n*,10,0\n").unwrap();
        assert_eq!([0, 1, 2].map(|port| read.greatest(port)), [0.5, 0.8, 0.1]);
        assert_eq!(Availability::default().greatest(0), 1.0);
    }

    #[test]
    fn errors_name_line_and_field() {
        let error = |line: &str| read(&format!("port,from_s,share\n{line}\n")).unwrap_err();
        assert_eq!(
            error("4,0,1"),
            "cpu.csv: line 2: port: expected a port from 0 to 3, or *, found \"4\""
        );
        assert_eq!(
            error("0,-1,1"),
            "cpu.csv: line 2: from_s: expected seconds from 0 to 1e12, found \"-1\""
        );
        assert_eq!(
            error("0,1,1.5"),
            "cpu.csv: line 2: share: expected a share from 0 to 1e0, found \"1.5\""
        );
        assert_eq!(
            error("0,1"),
            "cpu.csv: line 2: share: expected a share, found the end of the line"
        );
        assert_eq!(
            error("0,1,1,1"),
            "cpu.csv: line 2: end of line: expected nothing after share, found \"1\""
        );
        assert_eq!(
            read("0,1,1\n").unwrap_err(),
            "cpu.csv: line 1: header: expected port,from_s,share, found \"0,1,1\""
        );
        assert_eq!(
            read("").unwrap_err(),
            "cpu.csv: line 1: header: expected port,from_s,share, found the end of the file"
        );
        assert_eq!(
            Availability::open("2", 4, Moment::ZERO).unwrap_err().to_string(),
            "cpu: expected a share from 0 to 1, or a file, found \"2\""
        );
    }
}
