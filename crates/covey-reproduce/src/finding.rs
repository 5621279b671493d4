//! One number of a paper beside the number that Covey found.

use std::fmt;

use serde::Serialize;

use crate::plan::{RunId, TraceId};

/// How a number was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Setting {
    /// In Covey's exact simulator, like all other policies of the comparison.
    FairComparison,
    /// In emulations of the simulators that the paper used.
    PapersSetting,
    /// The real coordinator with simulated hosts.
    Live,
    /// Real coordinator, agents and flows, on emulated hosts.
    Testbed,
    /// Applications on a cluster of Spark, with Covey's plug-in.
    Spark,
}

impl Setting {
    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::FairComparison => "fair comparison",
            Self::PapersSetting => "paper's setting",
            Self::Live => "live",
            Self::Testbed => "testbed",
            Self::Spark => "Spark",
        }
    }
}

/// The least ratio of two times that counts as a gain. A smaller margin may come from the order in
/// which ties are broken, or from the seed of a generated workload.
pub const LEAST_GAIN: f64 = 1.02;

/// The rule for a gain that a paper claims without a number: "better", "faster", "grows".
pub const BETTER: Rule = Rule::AtLeast(LEAST_GAIN);

/// When a published value counts as reproduced.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Rule {
    /// Ours differs from the published value by at most this share of the latter.
    Within(f64),
    /// The same for a published gain, which ours must be as well: at least [`LEAST_GAIN`].
    GainWithin(f64),
    /// Ours is at least this.
    AtLeast(f64),
    /// Ours is at most this.
    AtMost(f64),
    /// Ours is more than this.
    MoreThan(f64),
    /// Ours is at least the first limit and at most the second.
    Between(f64, f64),
}

impl Rule {
    /// Whether `ours` satisfies the rule, given the published number if there is one. Limits are
    /// widened by `ROUNDING`: a rounding error must not decide a verdict.
    fn holds(self, ours: f64, published: Option<f64>) -> bool {
        const ROUNDING: f64 = 1e-12;
        match self {
            Self::Within(share) => {
                published.is_some_and(|value| (ours / value - 1.0).abs() <= share + ROUNDING)
            }
            Self::GainWithin(share) => {
                Self::Within(share).holds(ours, published) && BETTER.holds(ours, published)
            }
            Self::AtLeast(min) => ours >= min - ROUNDING,
            Self::AtMost(max) => ours <= max + ROUNDING,
            Self::MoreThan(limit) => ours > limit + ROUNDING,
            Self::Between(min, max) => (min - ROUNDING..=max + ROUNDING).contains(&ours),
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Within(0.0) => write!(out, "exactly"),
            Self::Within(share) if *share < 1e-3 => write!(out, "but for rounding"),
            Self::Within(share) => write!(out, "within {} %", (share * 1000.0).round() / 10.0),
            Self::GainWithin(share) => write!(out, "{}, {BETTER}", Self::Within(*share)),
            Self::AtLeast(min) => write!(out, "at least {min}"),
            Self::AtMost(max) => write!(out, "at most {max}"),
            Self::MoreThan(limit) => write!(out, "more than {limit}"),
            Self::Between(min, max) => write!(out, "from {min} to {max}"),
        }
    }
}

/// What a paper says.
#[derive(Debug, Clone, PartialEq)]
pub enum Published {
    /// Nothing: the finding is an additional number of ours.
    Nothing,
    /// A number.
    Value(f64),
    /// A statement, in our words.
    Words(String),
}

/// Whether Covey confirms what a paper says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Ours satisfies the rule, and could have failed to.
    Holds,
    /// Ours does not satisfy the rule.
    Differs,
    /// Ours satisfies the rule, as it must unless Covey is wrong ([`Finding::check`]).
    Check,
    /// Ours was found on another trace than the paper's.
    NotComparable,
    /// The paper has no such value.
    NotPublished,
}

impl Verdict {
    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Differs => "differs",
            Self::Check => "check",
            Self::NotComparable => "not comparable",
            Self::NotPublished => "ours only",
        }
    }
}

/// One number: its label, the paper's value or statement, and ours.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// The label, such as `order D, mean of CCTs`.
    pub what: String,
    /// How the number was found.
    pub setting: Setting,
    /// The runs that the number comes from.
    pub runs: Vec<RunId>,
    /// Workloads that the number comes from, besides those of the runs.
    pub traces: Vec<TraceId>,
    /// The paper's value or statement.
    pub published: Published,
    /// The number that Covey found.
    pub ours: f64,
    /// The unit of both numbers; empty for none.
    pub unit: &'static str,
    /// The rule by which the published value counts as reproduced.
    pub rule: Rule,
    /// Whether only a mistake of ours could break the rule.
    pub is_check: bool,
    /// The reason to give if ours differs; may be empty.
    pub why: &'static str,
}

impl Finding {
    /// A finding without a published value; [`published`](Self::published),
    /// [`at_most`](Self::at_most) or [`says`](Self::says) adds one.
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
            is_check: false,
            why: "",
        }
    }

    /// Adds a workload that the finding comes from.
    #[must_use]
    pub fn on(mut self, trace: TraceId) -> Self {
        self.traces.push(trace);
        self
    }

    /// Sets the unit.
    #[must_use]
    pub fn unit(mut self, unit: &'static str) -> Self {
        self.unit = unit;
        self
    }

    /// Sets the paper's number, which ours must match within this share of it.
    #[must_use]
    pub fn published(mut self, value: Option<f64>, within: f64) -> Self {
        self.published = value.map_or(Published::Nothing, Published::Value);
        self.rule = Rule::Within(within);
        self
    }

    /// Sets the paper's number, which ours must not exceed.
    #[must_use]
    pub fn at_most(mut self, value: Option<f64>) -> Self {
        self.published = value.map_or(Published::Nothing, Published::Value);
        self.rule = Rule::AtMost(value.unwrap_or(0.0));
        self
    }

    /// Sets what the paper says in words, and the rule that ours must satisfy to confirm it.
    #[must_use]
    pub fn says(mut self, words: impl Into<String>, rule: Rule) -> Self {
        self.published = Published::Words(words.into());
        self.rule = rule;
        self
    }

    /// Marks the number as a check of Covey rather than a confirmation of the paper: it is given by
    /// the paper and read back, follows by hand or by proof, or is that of another program of ours.
    #[must_use]
    pub fn check(mut self) -> Self {
        self.is_check = true;
        self
    }

    /// Sets the reason for a difference. Reports show it only if the verdict is `Differs`.
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

    /// The rule that decides. Near 1, to be close to a published gain is not enough: ours must be a
    /// gain, too.
    pub fn deciding_rule(&self) -> Rule {
        match (self.rule, self.value()) {
            (Rule::Within(share), Some(value))
                if self.unit == "×" && value > LEAST_GAIN && value * (1.0 - share) < LEAST_GAIN =>
            {
                Rule::GainWithin(share)
            }
            (rule, _) => rule,
        }
    }

    /// The verdict. `comparable` says whether all workloads of the finding are the paper's.
    pub fn verdict(&self, comparable: bool) -> Verdict {
        if self.published == Published::Nothing {
            return Verdict::NotPublished;
        }
        if !comparable {
            return Verdict::NotComparable;
        }
        match self.deciding_rule().holds(self.ours, self.value()) {
            true if self.is_check => Verdict::Check,
            true => Verdict::Holds,
            false => Verdict::Differs,
        }
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

    #[test]
    fn a_check_counts_apart_unless_it_fails() {
        let read_back = |ours| {
            let found = Finding::new("x", Setting::FairComparison, &[], ours);
            found.published(Some(785.0), 1e-6).check().verdict(true)
        };
        assert_eq!(read_back(785.0), Verdict::Check);
        assert_eq!(read_back(784.0), Verdict::Differs);
    }

    #[test]
    fn a_gain_within_the_noise_is_no_gain() {
        let found = |ours| Finding::new("x", Setting::FairComparison, &[], ours);
        let better = |ours| found(ours).says("better", BETTER).verdict(true);
        assert_eq!([1.005, 1.02].map(better), [Verdict::Differs, Verdict::Holds]);
        // 1.0 is within 10 % of 1.1, and no gain.
        let close = |ours, unit| found(ours).unit(unit).published(Some(1.1), 0.1).verdict(true);
        assert_eq!(close(1.0, "×"), Verdict::Differs);
        assert_eq!(close(1.05, "×"), Verdict::Holds);
        assert_eq!(close(1.0, "s"), Verdict::Holds, "no ratio, and so no gain");
    }
}
