//! Explanations in words, and then in a table.

use super::align::align;
use super::{Explained, ExplainedPart, ExplainedReason, Explanations, HEADINGS};
use crate::units::{bytes, decimals, fixed};
use covey_trace::results::Kind;
use std::fmt::{self, Write};

/// The number of parts that a sentence names, and the number of rows of a table.
const NAMED: usize = 3;
const ROWS: usize = 12;
/// The part of a completion time that a sentence names at least.
const WORTH: f64 = 0.02;

impl fmt::Display for Explanations {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (k, of_coflow) in self.by_coflow().enumerate() {
            if k > 0 {
                out.write_char('\n')?;
            }
            for explained in of_coflow {
                writeln!(out, "{}", explained.sentence())?;
            }
            match of_coflow {
                [one] => table(one, out)?,
                several => compared(several, out)?,
            }
        }
        Ok(())
    }
}

impl Explained {
    /// The explanation in a sentence or two.
    pub fn sentence(&self) -> String {
        let seconds = |s: f64| format!("{} s", seconds(s));
        let worth = |part: &&ExplainedPart| part.s >= WORTH * self.cct_s;
        let named: Vec<&ExplainedPart> = self.parts.iter().filter(worth).take(NAMED).collect();
        let took = if self.is_present { "has been present for" } else { "took" };
        let mut text =
            format!("{} {took} {} under {}", self.coflow, seconds(self.cct_s), self.policy);
        for (k, part) in named.iter().enumerate() {
            text += if k == 0 { ", of which " } else { "; " };
            let _ = write!(text, "{} {}", seconds(part.s), part.what(&self.coflow));
        }
        let others = self.parts.len() - named.len();
        if others > 0 {
            let rest: f64 = self.cct_s - named.iter().map(|part| part.s).sum::<f64>();
            let parts = if others == 1 { "part" } else { "parts" };
            let _ = write!(text, "; {} in {others} smaller {parts}", seconds(rest.max(0.0)));
        }
        text.push('.');
        if let Some(parent) = &self.parent {
            let wait = seconds(self.parents_s);
            let _ = write!(text, " Before, it waited {wait} for its parent {parent}.");
        }
        text
    }
}

impl ExplainedPart {
    /// What the time went to, in words.
    fn what(&self, own: &str) -> String {
        let port = self.port.as_deref().unwrap_or_default();
        let other = self.coflow.as_deref().unwrap_or_default();
        let reason = self.reason.as_ref().map(ExplainedReason::words).unwrap_or_default();
        match self.kind {
            Kind::Sending if port.is_empty() => "sending".to_owned(),
            Kind::Sending => format!("sending at {port}"),
            Kind::Sharing => format!("sharing {port} with {other}"),
            Kind::Waiting => format!("behind {other} at {port}{reason}"),
            Kind::OtherEnd if other == own => format!("while {port} was full with its own flows"),
            Kind::OtherEnd => format!("while {port} was full with {other}{reason}"),
            Kind::Start => "until its last flow started".to_owned(),
            Kind::Compression => "compressing its last flow".to_owned(),
            Kind::Undecided => "until the policy decided on it".to_owned(),
            Kind::Paced => "at less than the rate that was free".to_owned(),
            Kind::Away => "while a host was away".to_owned(),
            Kind::Idle => format!("while it did not use its rate{reason}"),
            Kind::Unseen => "before it was watched".to_owned(),
        }
    }
}

impl ExplainedReason {
    /// The reason behind the name of the coflow that was served first.
    fn words(&self) -> String {
        let value = |value: f64| match self.unit {
            Some("s") => format!("{} s", seconds(value)),
            Some(_) => bytes(value),
            None => fixed(value, 0),
        };
        match (self.value, self.own) {
            (Some(other), Some(own)) if other != own => {
                let than = match (self.by.as_str(), other < own) {
                    ("arrival" | "start", true) => "earlier",
                    ("arrival" | "start", false) => "later",
                    (_, true) => "smaller",
                    (_, false) => "larger",
                };
                let by = &self.by;
                format!(", whose {by} was {than} ({} against {})", value(other), value(own))
            }
            (Some(other), _) => format!(" ({} {})", self.by, value(other)),
            (None, _) => format!(" ({})", self.by),
        }
    }

    /// The reason in a column of a table.
    fn short(&self) -> String {
        self.words().trim_start_matches(", whose ").trim().replace(" was ", " ")
    }
}

/// A number of seconds with about four digits.
fn seconds(value: f64) -> String {
    fixed(value, decimals([value]))
}

impl Explained {
    /// The longest parts, a row each.
    pub(crate) fn rows(&self) -> Vec<[String; 8]> {
        let parts = &self.parts[..self.parts.len().min(ROWS)];
        let digits = decimals(parts.iter().map(|part| part.s));
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        let row = |part: &ExplainedPart| {
            [
                fixed(part.s, digits),
                fixed(100.0 * part.s / self.cct_s, 1),
                part.kind.name().to_owned(),
                text(&part.coflow),
                text(&part.port),
                seconds(part.from_s),
                seconds(part.until_s),
                part.reason.as_ref().map(ExplainedReason::short).unwrap_or_default(),
            ]
        };
        parts.iter().map(row).collect()
    }

    /// What [`rows`](Self::rows) leaves out, if anything.
    pub(crate) fn others(&self) -> Option<String> {
        let others = self.parts.get(ROWS..).filter(|others| !others.is_empty())?;
        let rest: f64 = others.iter().map(|part| part.s).sum();
        Some(format!("{} s in {} others", seconds(rest), others.len()))
    }
}

/// The longest parts of an explanation.
fn table(explained: &Explained, out: &mut fmt::Formatter<'_>) -> fmt::Result {
    let mut rows = vec![HEADINGS.map(str::to_owned)];
    rows.extend(explained.rows());
    let numbers = [0, 1, 5, 6];
    align(&rows, |column| numbers.contains(&column), out)?;
    match explained.others() {
        Some(others) => writeln!(out, "{others}; --json has all."),
        None => Ok(()),
    }
}

/// The kinds of parts under each policy.
fn compared(explained: &[Explained], out: &mut fmt::Formatter<'_>) -> fmt::Result {
    let mut rows = vec![vec!["s".to_owned()]];
    rows[0].extend(explained.iter().map(|one| one.policy.clone()));
    let all = explained.iter().flat_map(|one| Kind::ALL.map(|kind| one.seconds_of(kind)));
    let digits = decimals(all);
    for kind in Kind::ALL {
        if explained.iter().any(|one| one.seconds_of(kind) > 0.0) {
            let mut row = vec![kind.name().to_owned()];
            row.extend(explained.iter().map(|one| fixed(one.seconds_of(kind), digits)));
            rows.push(row);
        }
    }
    let mut sum = vec!["in all".to_owned()];
    sum.extend(explained.iter().map(|one| fixed(one.cct_s, digits)));
    rows.push(sum);
    align(&rows, |column| column > 0, out)
}
