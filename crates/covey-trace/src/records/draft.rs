//! Records as they are read.

use std::net::IpAddr;

use covey_identify::{Address, Observed};

use super::connection::Connection;
use super::fields::check_time;
use super::record::{Hidden, Records, Repairs};
use super::states::{Flows, State};
use super::stitch::{Piece, Pieces, Stitch};
use crate::error::{Location, TraceError, quote};
use crate::limits::{MAX_FLOWS, MAX_NAME_BYTES};
use crate::moment::Moment;
use crate::read::{First, Rest};
use crate::texts::Texts;

/// If the first record is at least this far from the zero of the clock, times count from a moment
/// near that record. An `f64` is exact to a nanosecond up to a multiple of this.
const FAR_S: f64 = 1e6;

/// The reason to pass over a state.
const TWICE: &str = "states of flows that are there twice";

/// Records as they are read.
pub(super) struct Draft {
    stitch: Stitch,
    /// Broken lines are passed over.
    skips_bad: bool,
    /// Records of no use are errors.
    is_strict: bool,
    origin: Option<Moment>,
    flows: Vec<Observed>,
    hidden: Vec<Hidden>,
    pieces: Vec<Piece>,
    names: Texts,
    labels: Texts,
    exporters: Texts,
    /// The latest start of the present file.
    latest_start_s: f64,
    is_sorted: bool,
    /// States of flows, which are put together at the end.
    pub states: Vec<State>,
    /// What is counted while the formats read.
    pub repairs: Repairs,
    /// The first record that was passed over, as an error.
    first_passed_over: Option<TraceError>,
    /// The power of ten of a second that times of the present file count, if their size told it.
    unit: Option<i64>,
}

impl Draft {
    pub fn new(stitch: Stitch, skips_bad: bool, is_strict: bool) -> Draft {
        Draft {
            stitch,
            skips_bad,
            is_strict,
            origin: None,
            flows: Vec::new(),
            hidden: Vec::new(),
            pieces: Vec::new(),
            names: Texts::default(),
            labels: Texts::default(),
            exporters: Texts::default(),
            latest_start_s: f64::NEG_INFINITY,
            is_sorted: true,
            states: Vec::new(),
            repairs: Repairs::default(),
            first_passed_over: None,
            unit: None,
        }
    }

    /// Whether what would be passed over or capped is an error.
    pub fn is_strict(&self) -> bool {
        self.is_strict
    }

    /// Begins a file. Its records may start before those of other files.
    pub fn begin_file(&mut self) {
        self.is_sorted &= self.flows.is_empty();
        self.latest_start_s = f64::NEG_INFINITY;
        self.unit = None;
    }

    /// Remembers what was taken because a file does not say it.
    pub fn take(&mut self, what: &str) {
        if !self.repairs.taken.contains(what) {
            self.repairs.taken.insert(what.to_owned());
        }
    }

    /// Remembers the unit that the size of a time tells, as a power of ten of a second.
    ///
    /// # Errors
    /// If a time before it in the file has another one.
    pub fn take_unit(
        &mut self,
        location: Location<'_>,
        field: &str,
        unit: i64,
    ) -> Result<(), TraceError> {
        let name = |unit: i64| match unit {
            0 => "seconds",
            -3 => "milliseconds",
            -6 => "microseconds",
            _ => "nanoseconds",
        };
        match self.unit {
            Some(before) if before == unit => Ok(()),
            Some(before) => {
                let expected =
                    format_args!("{}, as before (--columns unit=… says the unit)", name(before));
                Err(location.bad(field, expected, format_args!("{}, by its size", name(unit))))
            }
            None => {
                self.unit = Some(unit);
                self.take(&format!("times count {}, by their size", name(unit)));
                Ok(())
            }
        }
    }

    /// Reads the next line; false at the end. Passes over lines that are no text, if told so.
    pub fn advance(&mut self, lines: &mut Rest<'_>) -> Result<bool, TraceError> {
        loop {
            match lines.advance() {
                Ok(is_there) => return Ok(is_there),
                Err(error) => self.accept(Err(error))?,
            }
        }
    }

    /// Calls `take` with the first line of a file, and with each of its other lines.
    pub fn each<'a>(
        &mut self,
        (location, line): First<'a>,
        lines: &mut Rest<'a>,
        mut take: impl FnMut(Location<'a>, &str, &mut Draft) -> Result<(), TraceError>,
    ) -> Result<(), TraceError> {
        take(location, line, self)?;
        while self.advance(lines)? {
            let (location, line) = lines.current();
            take(location, line, self)?;
        }
        Ok(())
    }

    /// Takes the result of reading a record. Passes over a broken one, if told so.
    pub fn accept(&mut self, result: Result<(), TraceError>) -> Result<(), TraceError> {
        match result {
            Err(error @ TraceError::Bad { .. }) if self.skips_bad => {
                self.repairs.bad_lines += 1;
                self.first_passed_over.get_or_insert(error);
                Ok(())
            }
            result => result,
        }
    }

    /// Passes over a record that is of no use, and counts it.
    ///
    /// # Errors
    /// If the draft is strict.
    pub fn pass_over(
        &mut self,
        location: Location<'_>,
        reason: &'static str,
    ) -> Result<(), TraceError> {
        let error = || location.bad("record", "a flow", reason);
        if self.is_strict {
            return Err(error());
        }
        *self.repairs.passed_over.entry(reason).or_default() += 1;
        self.first_passed_over.get_or_insert_with(error);
        Ok(())
    }

    /// The host that a field names by IPv4 or IPv6 address, by number or by name.
    pub fn host(
        &mut self,
        location: Location<'_>,
        field: &str,
        text: &str,
    ) -> Result<Address, TraceError> {
        if let Some(address) = address(text) {
            return Ok(address);
        }
        let is_part = |b: u8| b.is_ascii_alphanumeric() || b"-_.".contains(&b);
        let is_name = text.len() <= 253
            && text.bytes().all(is_part)
            && text.bytes().any(|b| b.is_ascii_alphabetic());
        if !is_name {
            return Err(location.bad(
                field,
                "an address, or the name or number of a host",
                quote(text),
            ));
        }
        Ok(Address::named(self.names.number(text)))
    }

    /// The number of a label; nothing for a blank one.
    pub fn label(&mut self, location: Location<'_>, text: &str) -> Result<Option<u32>, TraceError> {
        let text = text.trim();
        if text.len() > MAX_NAME_BYTES || text.contains(char::is_control) {
            let expected = format_args!("at most {MAX_NAME_BYTES} bytes, no control characters");
            return Err(location.bad("label", expected, quote(text)));
        }
        Ok((!text.is_empty()).then(|| self.labels.number(text)))
    }

    /// The number of an exporter; 0 for those that collectors write for an unknown one.
    pub fn exporter(&mut self, text: &str) -> u32 {
        match text {
            "" | "0" | "0.0.0.0" | "::" => 0,
            text => self.exporters.number(text) + 1,
        }
    }

    /// Adds a connection as one flow, in the direction that carried more bytes.
    pub fn push(
        &mut self,
        location: Location<'_>,
        connection: Connection,
    ) -> Result<(), TraceError> {
        if self.flows.len() >= MAX_FLOWS as usize {
            return Err(location.bad(
                "record",
                format_args!("at most {MAX_FLOWS} records"),
                "more",
            ));
        }
        check_time(location, "start", connection.start)?;
        connection.end.map(|end| check_time(location, "end", end)).transpose()?;
        let origin = *self.origin.get_or_insert_with(|| origin_of(connection.start));
        let from = connection.sender();
        let flow = Observed {
            start_s: connection.start.since(origin),
            src: connection.hosts[from],
            dst: connection.hosts[1 - from],
            sport: connection.ports[from],
            dport: connection.ports[1 - from],
            protocol: connection.protocol,
            community: None,
        };
        let is_out_of_order = flow.start_s < self.latest_start_s;
        self.repairs.out_of_order += u64::from(is_out_of_order);
        self.is_sorted &= !is_out_of_order;
        self.latest_start_s = self.latest_start_s.max(flow.start_s);
        let end = connection.end.filter(|end| *end >= connection.start);
        self.repairs.ended_before_start += u64::from(end != connection.end);
        self.pieces.push(Piece {
            until_s: end.or(connection.seen_until).map_or(f64::NAN, |end| end.since(origin)),
            exporter: connection.exporter,
            opened: connection.opened,
            counters: connection.counters,
        });
        self.flows.push(flow);
        self.hidden.push(Hidden {
            bytes: connection.bytes[from],
            end_s: end.map(|end| end.since(origin)),
            label: connection.label,
        });
        Ok(())
    }

    /// All records, in order of start and each flow once.
    ///
    /// # Errors
    /// If all of them were passed over: the first one.
    pub fn finish(mut self) -> Result<Records, TraceError> {
        self.add_states()?;
        if let (true, Some(first)) = (self.flows.is_empty(), self.first_passed_over.take()) {
            return Err(first);
        }
        let names = self.in_order_of_names();
        if !self.is_sorted {
            sort(&mut self.flows, &mut self.hidden, &mut self.pieces);
        }
        let mut pieces = Pieces { flows: self.flows, hidden: self.hidden, pieces: self.pieces };
        self.repairs.together = pieces.put_together(self.stitch);
        Ok(Records {
            origin: self.origin.unwrap_or_default(),
            flows: pieces.flows,
            hidden: pieces.hidden,
            labels: self.labels.into_texts(),
            names,
            repairs: self.repairs,
        })
    }
}

impl Draft {
    /// Adds the flows of all states.
    fn add_states(&mut self) -> Result<(), TraceError> {
        if self.states.is_empty() {
            return Ok(());
        }
        let flows = Flows::of(std::mem::take(&mut self.states));
        self.repairs.open_before += flows.begun_before;
        if flows.twice > 0 {
            *self.repairs.passed_over.entry(TWICE).or_default() += flows.twice;
        }
        let out_of_order = self.repairs.out_of_order;
        for connection in flows.connections {
            self.push(Location { name: "states of flows", line: 1 }, connection)?;
        }
        // The files are not to blame: flows came in order of their ends.
        self.repairs.out_of_order = out_of_order;
        self.is_sorted = false;
        Ok(())
    }

    /// Numbers named hosts in order of their names, so that the order of records does not matter.
    fn in_order_of_names(&mut self) -> Vec<String> {
        let names = std::mem::take(&mut self.names).into_texts();
        let mut order: Vec<u32> = (0..names.len() as u32).collect();
        order.sort_unstable_by_key(|&number| &names[number as usize]);
        let mut number_of = vec![0; names.len()];
        for (place, &number) in (0..).zip(&order) {
            number_of[number as usize] = place;
        }
        for host in self.flows.iter_mut().flat_map(|flow| [&mut flow.src, &mut flow.dst]) {
            if let Some(number) = host.name_number() {
                *host = Address::named(number_of[number as usize]);
            }
        }
        order.iter().map(|&number| names[number as usize].clone()).collect()
    }
}

/// The moment from which the times of records count. It depends on no more than the first day or
/// so.
fn origin_of(start: Moment) -> Moment {
    let far = (start.as_secs() / FAR_S).floor() * FAR_S;
    Moment::from_secs(far).filter(|_| start.as_secs().abs() >= FAR_S).unwrap_or_default()
}

/// Sorts by start. Records that start together keep their order.
fn sort(flows: &mut Vec<Observed>, hidden: &mut Vec<Hidden>, pieces: &mut Vec<Piece>) {
    let mut order: Vec<u32> = (0..flows.len() as u32).collect();
    order.sort_by(|&a, &b| flows[a as usize].start_s.total_cmp(&flows[b as usize].start_s));
    *flows = order.iter().map(|&place| flows[place as usize]).collect();
    *hidden = order.iter().map(|&place| hidden[place as usize]).collect();
    *pieces = order.iter().map(|&place| pieces[place as usize]).collect();
}

/// An IPv4 or IPv6 address, also with the name of an interface behind a `%`, or the number of a
/// host.
fn address(text: &str) -> Option<Address> {
    if let Ok(ip) = text.split('%').next().unwrap_or(text).parse::<IpAddr>() {
        return Some(ip.into());
    }
    let is_number = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    is_number.then(|| text.parse().ok().map(Address::host)).flatten()
}
