//! One number of a paper, and what came out here.

use std::fmt;

use serde::Serialize;

use crate::plan::{RunId, TraceId};

/// In what a number was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Setting {
    /// Everything in Covey's one exact simulator.
    FairComparison,
    /// As in the paper, with emulations of the simulators it used.
    PapersSetting,
    /// The real coordinator, under hosts that are simulated.
    Live,
    /// All of it real, on emulated hosts.
    Testbed,
}

impl Setting {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::FairComparison => "fair comparison",
            Self::PapersSetting => "paper's setting",
            Self::Live => "live",
            Self::Testbed => "testbed",
        }
    }
}

/// When a published value counts as reproduced.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Rule {
    /// Ours differs from it by at most this share of it.
    Within(f64),
    /// Ours is at least this.
    AtLeast(f64),
    /// Ours is at most this.
    AtMost(f64),
    /// Ours is more than this.
    MoreThan(f64),
    /// Ours is neither below the first nor above the second.
    Between(f64, f64),
}

impl Rule {
    /// Whether `ours` keeps to it, beside a published number if there is one. Rounding must not decide.
    fn holds(self, ours: f64, published: Option<f64>) -> bool {
        const ROUNDING: f64 = 1e-12;
        match self {
            Self::Within(share) => {
                published.is_some_and(|value| (ours / value - 1.0).abs() <= share + ROUNDING)
            }
            Self::AtLeast(least) => ours >= least - ROUNDING,
            Self::AtMost(most) => ours <= most + ROUNDING,
            Self::MoreThan(limit) => ours > limit + ROUNDING,
            Self::Between(least, most) => (least - ROUNDING..=most + ROUNDING).contains(&ours),
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Within(0.0) => write!(out, "exactly"),
            Self::Within(share) if *share < 1e-3 => write!(out, "but for rounding"),
            Self::Within(share) => write!(out, "within {} %", (share * 1000.0).round() / 10.0),
            Self::AtLeast(least) => write!(out, "at least {least}"),
            Self::AtMost(most) => write!(out, "at most {most}"),
            Self::MoreThan(limit) => write!(out, "more than {limit}"),
            Self::Between(least, most) => write!(out, "from {least} to {most}"),
        }
    }
}

/// What a paper says.
#[derive(Debug, Clone, PartialEq)]
pub enum Published {
    /// Nothing of this: a number of ours that belongs beside the others.
    Nothing,
    /// A number.
    Value(f64),
    /// Words, in ours.
    Words(String),
}

/// Whether what a paper says comes out here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It does, by the rule that stands with it.
    Holds,
    /// It does not.
    Differs,
    /// It was found on another trace than the paper's.
    NotComparable,
    /// The paper does not say it.
    NotPublished,
}

impl Verdict {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Differs => "differs",
            Self::NotComparable => "not comparable",
            Self::NotPublished => "ours only",
        }
    }
}

/// One number: what it is, what a paper says of it, and what came out.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// What it is, such as `order D, mean of CCTs`.
    pub what: String,
    /// In what it was found.
    pub setting: Setting,
    /// The simulations it comes from.
    pub runs: Vec<RunId>,
    /// The workloads it comes from, beside those of the runs.
    pub traces: Vec<TraceId>,
    /// What the paper says.
    pub published: Published,
    /// What came out.
    pub ours: f64,
    /// The unit of both; empty for none.
    pub unit: &'static str,
    /// When it counts as reproduced.
    pub rule: Rule,
    /// Why it differs, if it does; may be empty.
    pub why: &'static str,
}

impl Finding {
    /// A number that was found, of which nothing is published as long as nothing is said.
    pub fn new(what: impl Into<String>, setting: Setting, runs: &[RunId], ours: f64) -> Self {
        Self {
            what: what.into(),
            setting,
            runs: runs.to_vec(),
            traces: Vec::new(),
            published: Published::Nothing,
            ours,
            unit: "×",
            rule: Rule::Within(0.0),
            why: "",
        }
    }

    /// It comes from this workload.
    #[must_use]
    pub fn on(mut self, trace: TraceId) -> Self {
        self.traces.push(trace);
        self
    }

    /// Its unit.
    #[must_use]
    pub fn unit(mut self, unit: &'static str) -> Self {
        self.unit = unit;
        self
    }

    /// The paper's number, which is to come out but for this share of it.
    #[must_use]
    pub fn published(mut self, value: Option<f64>, within: f64) -> Self {
        self.published = value.map_or(Published::Nothing, Published::Value);
        self.rule = Rule::Within(within);
        self
    }

    /// The paper's number, which is not to be exceeded.
    #[must_use]
    pub fn at_most(mut self, value: Option<f64>) -> Self {
        self.published = value.map_or(Published::Nothing, Published::Value);
        self.rule = Rule::AtMost(value.unwrap_or(0.0));
        self
    }

    /// What the paper says in words, and the number from or to which that holds.
    #[must_use]
    pub fn says(mut self, words: impl Into<String>, rule: Rule) -> Self {
        self.published = Published::Words(words.into());
        self.rule = rule;
        self
    }

    /// The reason for a difference. It is told only where the verdict is that it differs.
    #[must_use]
    pub fn why(mut self, why: &'static str) -> Self {
        self.why = why;
        self
    }

    /// The paper's number, if it has one.
    pub fn value(&self) -> Option<f64> {
        match self.published {
            Published::Value(value) => Some(value),
            _ => None,
        }
    }

    /// Ours over the paper's, less 1, if the paper has a number.
    pub fn difference(&self) -> Option<f64> {
        Some(self.ours / self.value()? - 1.0)
    }

    /// Whether it holds, where the workload is the paper's (`comparable`).
    pub fn verdict(&self, comparable: bool) -> Verdict {
        if self.published == Published::Nothing {
            return Verdict::NotPublished;
        }
        if !comparable {
            return Verdict::NotComparable;
        }
        if self.rule.holds(self.ours, self.value()) { Verdict::Holds } else { Verdict::Differs }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_follow_the_rules() {
        let found = |ours| Finding::new("x", Setting::FairComparison, &[], ours);
        let verdict = |ours, value| found(ours).published(Some(value), 0.06).verdict(true);
        assert_eq!(verdict(1.598, 1.51), Verdict::Holds);
        assert_eq!(verdict(1.266, 1.37), Verdict::Differs);
        assert_eq!(verdict(f64::NAN, 1.37), Verdict::Differs);
        assert_eq!(found(1.0).published(Some(1.0), 0.0).verdict(false), Verdict::NotComparable);
        assert_eq!(found(1.0).verdict(true), Verdict::NotPublished);
        let says = |rule| found(2.0).says("more", rule).verdict(true);
        assert_eq!(says(Rule::AtLeast(2.0)), Verdict::Holds);
        assert_eq!(says(Rule::AtMost(1.9)), Verdict::Differs);
        assert_eq!(says(Rule::MoreThan(2.0)), Verdict::Differs);
        assert_eq!(says(Rule::MoreThan(1.9)), Verdict::Holds);
        assert_eq!(says(Rule::Between(0.9, 1.1)), Verdict::Differs);
        assert_eq!(says(Rule::Between(1.9, 2.0)), Verdict::Holds);
    }
}
