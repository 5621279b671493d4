//! The report as text for a terminal.

use std::fmt;

use crate::finding::{Setting, Verdict};
use crate::report::Method;
use crate::report::{Counts, ItemReport, Number, Report};

/// Width of the text in characters.
const WIDTH: usize = 100;

/// Explains what is measured on Spark.
pub(crate) const SPARK: &str = "Setting: \"Spark\" is applications like HiBench's, each alone on a cluster of Spark with \
    shaped links; the paper ran HiBench on 100 virtual machines with Spark 2.2. \"With Swallow\" the plug-in chooses \
    the codec of each stage by the paper's criterion, and requests for blocks wait for the schedule of fvdf. \
    \"Without\" compresses nothing, as in the paper; Spark's default, LZ4, is beside it.";

impl fmt::Display for Report {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(out, "{}, {}", self.title, self.venue)?;
        let settings = match self.by {
            Method::Simulation => {
                "Settings: \"fair\" is the fair comparison, in which all policies run in the exact simulator; \
                 \"paper's\" emulates the simulators that the paper used."
            }
            Method::Live => {
                "Setting: \"live\" is the coordinator in a process of its own. Each port has a simulated agent \
                 that reports transfers without sending data."
            }
            Method::Testbed => {
                "Setting: \"testbed\" is real flows between emulated hosts, scheduled by a coordinator through \
                 agents."
            }
            Method::Spark => SPARK,
        };
        paragraph(out, "", settings)?;
        if self.by == Method::Spark {
            paragraph(out, "", &format!("Measured on {}.", self.trace))?;
        }
        if let Some(line) = self.not_comparable() {
            paragraph(out, "", &line)?;
        }
        for section in &self.sections {
            write_section(section, out)?;
        }
        writeln!(out)?;
        paragraph(out, "", &self.tally())
    }
}

impl Report {
    /// The warning for values that cannot be compared because the trace is not the paper's.
    pub(crate) fn not_comparable(&self) -> Option<String> {
        let all = self.sections.iter().flat_map(|section| &section.findings);
        let affects_some = all.into_iter().any(|found| found.verdict == Verdict::NotComparable);
        (!self.comparable && affects_some).then(|| {
            format!(
                "{} is not the trace of the paper. Published values beside results on it are only indicative: \
                 their verdict is \"not comparable\". README says where to get the Facebook trace.",
                self.trace
            )
        })
    }

    /// The number of claims with each verdict, and of checks.
    pub(crate) fn tally(&self) -> String {
        let Counts { checks, holds, differs, not_comparable, ours_only: _ } = self.counts;
        let not = match not_comparable {
            0 => String::new(),
            others => format!(", {others} are not comparable"),
        };
        let apart = match checks {
            0 => String::new(),
            1 => " 1 check of Covey against given values passes.".to_owned(),
            checks => format!(" {checks} checks of Covey against given values pass."),
        };
        let claims = holds + differs + not_comparable;
        format!("Of {claims} published values, {holds} hold, {differs} differ{not}.{apart}")
    }
}

fn write_section(section: &ItemReport, out: &mut fmt::Formatter<'_>) -> fmt::Result {
    writeln!(out)?;
    paragraph(
        out,
        "",
        &format!("{} (section {}): {}", section.place, section.section, section.shows),
    )?;
    if let Some(why) = &section.cannot {
        return paragraph(out, "  ", &format!("not shown: {why}"));
    }
    for note in &section.notes {
        paragraph(out, "  ", note)?;
    }
    let width = section.findings.iter().map(|f| f.what.chars().count()).max().unwrap_or(0).min(40);
    if !section.findings.is_empty() {
        let (a, b, c, d) = ("setting", "published", "ours", "diff.");
        writeln!(out, "  {:width$}  {a:7}  {b:>9}  {c:>9}  {d:>8}  verdict", "")?;
    }
    let mut last_reason = "";
    for number in &section.findings {
        if number.what.chars().count() > width {
            writeln!(out, "  {}", number.what)?;
            write!(out, "  {:width$}", "")?;
        } else {
            write!(out, "  {:width$}", number.what)?;
        }
        let published = if number.says.is_some() { "words".to_owned() } else { published(number) };
        writeln!(
            out,
            "  {:7}  {published:>9}  {:>9}  {:>8}  {}",
            match number.setting {
                Setting::FairComparison => "fair",
                Setting::PapersSetting => "paper's",
                Setting::Live => "live",
                Setting::Testbed => "testbed",
                Setting::Spark => "Spark",
            },
            value(number.ours, number.unit),
            difference(number),
            number.verdict.name(),
        )?;
        if let Some(says) = &number.says {
            paragraph(out, "    ", &format!("says: {says} ({})", number.rule))?;
        }
        if !number.why.is_empty() && number.why != last_reason {
            last_reason = number.why;
            paragraph(out, "    ", number.why)?;
        }
    }
    Ok(())
}

/// Writes `text` in lines of at most [`WIDTH`] characters, unless a word is longer.
fn paragraph(out: &mut fmt::Formatter<'_>, indent: &str, text: &str) -> fmt::Result {
    let mut column = 0;
    for word in text.split_whitespace() {
        let length = word.chars().count();
        if column == 0 || column + 1 + length > WIDTH {
            write!(out, "{}{indent}{word}", if column == 0 { "" } else { "\n" })?;
            column = indent.len() + length;
        } else {
            write!(out, " {word}")?;
            column += 1 + length;
        }
    }
    writeln!(out)
}

/// A value with its unit: three significant digits, or all digits of a whole number from 10 on.
pub(crate) fn value(value: f64, unit: &str) -> String {
    if !value.is_finite() {
        return "–".to_owned();
    }
    let decimals = match value.abs() {
        v if v.fract() == 0.0 && v >= 10.0 => 0,
        0.0 => 0,
        v => (2 - v.log10().floor() as i32).clamp(0, 6) as usize,
    };
    let joint = if matches!(unit, "" | "×") { "" } else { " " };
    format!("{value:.decimals$}{joint}{unit}")
}

/// The published value or statement; a dash without one.
pub(crate) fn published(number: &Number) -> String {
    match (&number.published, &number.says) {
        (Some(published), _) => value(*published, number.unit),
        (None, Some(says)) => says.clone(),
        (None, None) => "–".to_owned(),
    }
}

/// The difference of ours in percent; empty without a published number.
pub(crate) fn difference(number: &Number) -> String {
    number.difference.filter(|d| d.is_finite()).map_or(String::new(), |d| {
        let percent = format!("{:+.1} %", 100.0 * d);
        // A difference that rounds to zero is written without a minus.
        if percent == "-0.0 %" { "+0.0 %".to_owned() } else { percent }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_three_significant_digits() {
        let shown = [1.598, 0.13, 77.96, 1947.0, 894_472.0, 0.0, 100.0].map(|v| value(v, "×"));
        assert_eq!(shown, ["1.60×", "0.130×", "78.0×", "1947×", "894472×", "0×", "100×"]);
        assert_eq!(value(12.5, "%"), "12.5 %");
        assert_eq!(value(f64::NAN, "%"), "–");
    }
}
