//! Published values beside those of a comparison: `compare --against`.
//!
//! A published value is a line of CSV with the columns `policy`, `metric`, `value` and `tolerance`.
//! A metric is any number of `compare --json`: `cct_s.mean` is one of a policy's result, and
//! `speedup.mean_of_means` one of its speed-up over the baseline.

use std::io::Read;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::units::{decimals, fixed};

/// The most bytes that are read.
const MOST_BYTES: u64 = 1 << 20;

/// Limits are wider by this: rounding must not decide a verdict.
const ROUNDING: f64 = 1e-12;

/// What is wrong with published values: where, what was expected, and what was found.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct PublishedError(String);

/// A value that somebody has published.
#[derive(Debug, Clone, PartialEq)]
pub struct PublishedValue {
    /// The line of the file, from 1.
    line: u64,
    /// The policy, as the user typed it.
    policy: String,
    metric: String,
    value: f64,
    /// The share of the value by which ours may differ from it.
    tolerance: f64,
}

#[derive(Deserialize)]
struct Row {
    policy: String,
    metric: String,
    value: String,
    tolerance: String,
}

/// A published value beside ours.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Claim {
    /// The policy, as the user typed it.
    pub policy: String,
    /// The metric.
    pub metric: String,
    /// The published value.
    pub published: f64,
    /// The value of the comparison.
    pub ours: f64,
    /// `ours / published - 1`; none if 0 was published.
    pub difference: Option<f64>,
    /// The share of the published value by which ours may differ.
    pub tolerance: f64,
    /// Whether ours is that close.
    pub verdict: ClaimVerdict,
}

/// Whether a published value is that of the comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClaimVerdict {
    /// Within the tolerance.
    Holds,
    /// Not within it.
    Differs,
}

impl ClaimVerdict {
    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Differs => "differs",
        }
    }
}

impl PublishedValue {
    /// Reads the values of a file called `name`, for policies of these `labels`.
    ///
    /// # Errors
    ///
    /// A column is missing, a number is none, or a policy is not compared.
    pub fn read(
        file: impl Read,
        name: &str,
        labels: &[&str],
    ) -> Result<Vec<PublishedValue>, PublishedError> {
        let mut text = Vec::new();
        let read = file.take(MOST_BYTES + 1).read_to_end(&mut text);
        read.map_err(|error| PublishedError(format!("{name}: {error}")))?;
        if text.len() as u64 > MOST_BYTES {
            let expected = format!("expected at most {MOST_BYTES} bytes, found more");
            return Err(PublishedError(format!("{name}: {expected}")));
        }
        let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(&text[..]);
        let mut values = Vec::new();
        let headers = reader.headers().map_err(|error| wrong(name, &error))?.clone();
        let needed = ["policy", "metric", "value", "tolerance"];
        if let Some(missing) = needed.iter().find(|it| !headers.iter().any(|header| header == **it))
        {
            let expected = "expected the columns policy, metric, value and tolerance";
            return Err(PublishedError(format!("{name}: line 1: {expected}, found no {missing}")));
        }
        let mut record = csv::StringRecord::new();
        while reader.read_record(&mut record).map_err(|error| wrong(name, &error))? {
            let line = record.position().map_or(0, csv::Position::line);
            let row: Row =
                record.deserialize(Some(&headers)).map_err(|error| wrong(name, &error))?;
            let refused = |column: &str, expected: &str, found: &str| {
                let text = format!("{column}: expected {expected}, found '{found}'");
                PublishedError(format!("{name}: line {line}: {text}"))
            };
            if !labels.contains(&row.policy.as_str()) {
                let expected = format!("one of {}", labels.join(", "));
                return Err(refused("policy", &expected, &row.policy));
            }
            let value = number(&row.value)
                .ok_or_else(|| refused("value", "a number such as 1.44", &row.value))?;
            let tolerance = share(&row.tolerance).ok_or_else(|| {
                refused("tolerance", "a share such as 5% or 0.05", &row.tolerance)
            })?;
            let (policy, metric) = (row.policy, row.metric);
            values.push(PublishedValue { line, policy, metric, value, tolerance });
        }
        if values.is_empty() {
            return Err(PublishedError(format!("{name}: expected published values, found none")));
        }
        Ok(values)
    }

    /// Each value beside that of the comparison, which has a label, a result and a speed-up for
    /// each policy. `name` is the file's.
    ///
    /// # Errors
    ///
    /// A metric is none of the comparison's.
    pub(crate) fn beside<R: Serialize, S: Serialize>(
        values: Vec<PublishedValue>,
        name: &str,
        policies: &[(&str, &R, &S)],
    ) -> Result<Vec<Claim>, PublishedError> {
        let claim = |value: PublishedValue| {
            let policy = policies.iter().find(|(label, ..)| *label == value.policy);
            let Some(&(_, result, speedup)) = policy else {
                let PublishedValue { line, policy, .. } = value;
                let text = format!("policy: expected one that is compared, found '{policy}'");
                return Err(PublishedError(format!("{name}: line {line}: {text}")));
            };
            let numbers = numbers(result, speedup);
            let found = numbers.iter().find(|(metric, _)| *metric == value.metric);
            let Some(&(_, ours)) = found else {
                let known: Vec<&str> = numbers.iter().map(|(metric, _)| metric.as_str()).collect();
                let PublishedValue { line, metric, .. } = value;
                let known = known.join(", ");
                let text = format!("metric: expected one of {known}, found '{metric}'");
                return Err(PublishedError(format!("{name}: line {line}: {text}")));
            };
            let published = value.value;
            let is_close =
                (ours - published).abs() <= (value.tolerance + ROUNDING) * published.abs();
            Ok(Claim {
                policy: value.policy,
                metric: value.metric,
                published,
                ours,
                difference: (published != 0.0).then(|| ours / published - 1.0),
                tolerance: value.tolerance,
                verdict: if is_close { ClaimVerdict::Holds } else { ClaimVerdict::Differs },
            })
        };
        values.into_iter().map(claim).collect()
    }
}

/// The error of a file that is no table.
fn wrong(name: &str, error: &csv::Error) -> PublishedError {
    PublishedError(format!("{name}: {error}"))
}

fn number(text: &str) -> Option<f64> {
    text.parse().ok().filter(|number: &f64| number.is_finite())
}

/// A share of at least 0, as a number or in percent.
fn share(text: &str) -> Option<f64> {
    let share = match text.strip_suffix('%') {
        Some(percent) => number(percent.trim())? / 100.0,
        None => number(text)?,
    };
    Some(share).filter(|share| *share >= 0.0)
}

/// All numbers of a policy, by their names.
fn numbers(result: &impl Serialize, speedup: &impl Serialize) -> Vec<(String, f64)> {
    let mut numbers = Vec::new();
    let mut add = |prefix: &str, value: Option<Value>| {
        value.into_iter().for_each(|value| collect(prefix, &value, &mut numbers));
    };
    add("", serde_json::to_value(result).ok());
    add("speedup", serde_json::to_value(speedup).ok());
    numbers
}

fn collect(name: &str, value: &Value, numbers: &mut Vec<(String, f64)>) {
    match value {
        Value::Number(number) => numbers.extend(number.as_f64().map(|it| (name.to_owned(), it))),
        Value::Object(fields) => {
            for (field, value) in fields {
                let dot = if name.is_empty() { "" } else { "." };
                collect(&format!("{name}{dot}{field}"), value, numbers);
            }
        }
        _ => {}
    }
}

/// The headings of the columns after the policy.
pub(crate) const HEADINGS: [[&str; 2]; 6] = [
    ["metric", ""],
    ["value", "published"],
    ["value", "ours"],
    ["verdict", ""],
    ["difference", "%"],
    ["tolerance", "%"],
];

impl Claim {
    /// The cells after the policy.
    pub(crate) fn cells(&self) -> [String; 6] {
        let digits = decimals([self.published.abs(), self.ours.abs()]);
        [
            self.metric.clone(),
            fixed(self.published, digits),
            fixed(self.ours, digits),
            self.verdict.name().to_owned(),
            self.difference.map_or("-".to_owned(), |it| format!("{:+.1}", 100.0 * it)),
            fixed(100.0 * self.tolerance, 1),
        ]
    }

    /// How many hold, as a sentence.
    pub(crate) fn tally(claims: &[Claim]) -> String {
        let differ = differing(claims);
        let (all, hold) = (claims.len(), claims.len() - differ);
        format!("Published values that hold: {hold} of {all}; that differ: {differ}.")
    }
}

/// The number of claims that differ.
pub fn differing(claims: &[Claim]) -> usize {
    claims.iter().filter(|claim| claim.verdict == ClaimVerdict::Differs).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "policy,metric,value,tolerance\n";

    fn read(rows: &str) -> Result<Vec<PublishedValue>, String> {
        let labels = ["fair", "aalo:q1=1MB,K=5"];
        PublishedValue::read(format!("{HEAD}{rows}").as_bytes(), "p.csv", &labels)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn values_are_read_with_shares_in_two_forms() {
        let values =
            read("fair,cct_s.mean,62.73,0.5%\n\"aalo:q1=1MB,K=5\", speedup.p50 ,7.7,0.1\n");
        let values = values.unwrap();
        assert_eq!((values[0].value, values[0].tolerance, values[0].line), (62.73, 0.005, 2));
        assert_eq!((values[1].metric.as_str(), values[1].tolerance), ("speedup.p50", 0.1));
    }

    #[test]
    fn mistakes_are_named_with_their_line() {
        for (rows, found) in [
            (
                "far,cct_s.mean,1,5%\n",
                "line 2: policy: expected one of fair, aalo:q1=1MB,K=5, found 'far'",
            ),
            (
                "fair,cct_s.mean,about 1,5%\n",
                "line 2: value: expected a number such as 1.44, found 'about 1'",
            ),
            ("fair,cct_s.mean,inf,5%\n", "line 2: value: expected a number"),
            (
                "fair,cct_s.mean,1,-5%\n",
                "line 2: tolerance: expected a share such as 5% or 0.05, found '-5%'",
            ),
            ("fair,cct_s.mean,1\n", "p.csv: "),
            ("", "p.csv: expected published values, found none"),
        ] {
            let error = read(rows).unwrap_err();
            assert!(error.contains(found), "{rows}: {error}");
        }
        let long = "fair,cct_s.mean,1,5%\n".repeat(MOST_BYTES as usize / 20);
        assert!(read(&long).unwrap_err().ends_with("bytes, found more"));
        let error = PublishedValue::read("policy,value\n".as_bytes(), "p.csv", &[]).unwrap_err();
        assert!(error.to_string().contains("line 1: expected the columns"), "{error}");
        assert!(error.to_string().ends_with("found no metric"), "{error}");
    }
}
