//! The text of a metric file: JSON with a line for each attribute.
//!
//! `{"covey_metric": 2, "attributes": {NAME: {"scale": S, "row": [A, …]}, …}, "radius": ε,
//! "leader_radius": τ, "training": …}`. The rows are those of the matrix, in the order of the
//! attributes; a diagonal matrix has `"weight": A` instead of a row. `training` may be left out.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::attributes::{ATTRIBUTES, Attribute};
use crate::metric::{Matrix, Metric, Training};

/// The version of the format, which changes when the attributes do.
const VERSION: u64 = 2;
/// How far from symmetric and from semidefinite a matrix may be, as a share of its largest entry.
const TOLERANCE: f64 = 1e-9;

/// Why a text is not a metric.
#[derive(Debug, thiserror::Error)]
#[error("line {line}: {field}: expected {expected}, found {found}")]
pub struct MetricError {
    /// The line, from 1.
    pub line: usize,
    /// The field, with its path.
    pub field: String,
    /// The expected value.
    pub expected: String,
    /// What is there.
    pub found: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    covey_metric: u64,
    attributes: Map<String, Value>,
    radius: f64,
    leader_radius: f64,
    training: Option<Training>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    scale: f64,
    weight: Option<f64>,
    row: Option<[f64; ATTRIBUTES]>,
}

impl Metric {
    /// The metric as the text of a file, which [`Metric::from_text`] reads to the last digit.
    pub fn to_text(&self) -> String {
        let lines = Attribute::ALL.iter().enumerate().map(|(k, attribute)| {
            let row: Vec<f64> = self.matrix().row(k).iter().copied().collect();
            let line = match self.is_diagonal() {
                true => json!({"scale": self.scales()[k], "weight": row[k]}),
                false => json!({"scale": self.scales()[k], "row": row}),
            };
            format!("    \"{}\": {line}", attribute.name())
        });
        let lines: Vec<String> = lines.collect();
        let training = (self.training.as_ref())
            .map_or(String::new(), |training| format!(",\n  \"training\": {}", json!(training)));
        format!(
            "{{\n  \"covey_metric\": {VERSION},\n  \"attributes\": {{\n{}\n  }},\n  \"radius\": {},\n  \
             \"leader_radius\": {}{training}\n}}\n",
            lines.join(",\n"),
            json!(self.radius),
            json!(self.leader_radius),
        )
    }

    /// Reads the text of a metric file.
    ///
    /// # Errors
    /// [`MetricError`] for a text that is no metric of this version: it names line and field.
    pub fn from_text(text: &str) -> Result<Metric, MetricError> {
        let text = text.trim_start_matches('\u{feff}');
        Metric::from_json(text).map_err(|mut error| {
            if error.line == 0 {
                error.line = line_of(&error.field, text);
            }
            error
        })
    }

    /// [`Metric::from_text`]; line 0 stands for that of the field.
    fn from_json(text: &str) -> Result<Metric, MetricError> {
        let file: File = parse(&mut serde_json::Deserializer::from_str(text), "")?;
        if file.covey_metric != VERSION {
            return Err(bad("covey_metric", format!("version {VERSION}"), file.covey_metric));
        }
        let mut matrix = Matrix::zeros();
        let mut scales = [1.0; ATTRIBUTES];
        for (k, attribute) in Attribute::ALL.iter().enumerate() {
            let field = format!("attributes.{}", attribute.name());
            let Some(line) = file.attributes.get(attribute.name()) else {
                return Err(bad(&field, "this attribute", "nothing"));
            };
            let line: Line = parse(line, &field)?;
            scales[k] = positive(&format!("{field}.scale"), line.scale)?;
            match (line.weight, line.row) {
                (Some(weight), None) => matrix[(k, k)] = weight,
                (None, Some(row)) => row.iter().enumerate().for_each(|(j, a)| matrix[(k, j)] = *a),
                _ => return Err(bad(&field, "a weight or a row", "both or neither")),
            }
        }
        if file.attributes.len() > ATTRIBUTES {
            return Err(bad(
                "attributes",
                format!("{ATTRIBUTES} attributes"),
                file.attributes.len(),
            ));
        }
        check(&matrix)?;
        let mut metric = Metric::new(matrix, scales);
        metric.radius = positive("radius", file.radius)?;
        metric.leader_radius = positive("leader_radius", file.leader_radius)?;
        metric.training = file.training;
        Ok(metric)
    }
}

/// Checks that a matrix is symmetric and positive semidefinite.
fn check(matrix: &Matrix) -> Result<(), MetricError> {
    let tolerance = TOLERANCE * matrix.amax();
    for (i, j) in (0..ATTRIBUTES).flat_map(|i| (0..i).map(move |j| (i, j))) {
        if (matrix[(i, j)] - matrix[(j, i)]).abs() > tolerance {
            let [a, b] = [i, j].map(|k| Attribute::ALL[k].name());
            let found = format!("{} and {}", matrix[(i, j)], matrix[(j, i)]);
            return Err(bad(&format!("attributes.{a}.row"), format!("symmetry with {b}"), found));
        }
    }
    let least = matrix.symmetric_eigenvalues().min();
    if least < -tolerance {
        let expected = "a positive semidefinite matrix";
        return Err(bad("attributes", expected, format!("eigenvalue {least}")));
    }
    Ok(())
}

fn parse<'de, T: Deserialize<'de>>(
    from: impl serde::Deserializer<'de, Error = serde_json::Error>,
    inside: &str,
) -> Result<T, MetricError> {
    serde_path_to_error::deserialize(from).map_err(|error| {
        let path = [inside, &error.path().to_string()].map(|p| p.trim_matches('.').to_owned());
        let path: Vec<String> =
            path.into_iter().filter(|part| !matches!(&**part, "" | "?")).collect();
        let field = if path.is_empty() { "text".to_owned() } else { path.join(".") };
        let line = error.inner().line();
        MetricError { line, ..bad(&field, "a metric file", error.inner()) }
    })
}

fn positive(field: &str, value: f64) -> Result<f64, MetricError> {
    if value > 0.0 && value.is_finite() {
        Ok(value)
    } else {
        Err(bad(field, "a number above 0", value))
    }
}

fn bad(field: &str, expected: impl ToString, found: impl ToString) -> MetricError {
    MetricError {
        line: 0,
        field: field.to_owned(),
        expected: expected.to_string(),
        found: found.to_string(),
    }
}

/// The line of a field in the text of a JSON object, or that of the last part of its path that is
/// there.
fn line_of(field: &str, text: &str) -> usize {
    let mut end = 0;
    for part in field.split('.') {
        let Some(at) = text[end..].find(&format!("\"{part}\"")) else { break };
        end += at;
    }
    1 + text[..end].matches('\n').count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn full() -> Metric {
        let mut matrix = *Metric::default().matrix();
        matrix[(0, 1)] = 0.1 / 3.0;
        matrix[(1, 0)] = 0.1 / 3.0;
        matrix[(1, 1)] = 1.0 / 7.0;
        let mut metric = Metric::new(matrix, [0.3; ATTRIBUTES]);
        metric.training = Some(Training {
            flows: 10,
            coflows: 2,
            same_pairs: 5,
            different_pairs: 4,
            seed: 1,
            steps: 7,
            f1_per_flow: 0.9,
            f1_per_coflow: 0.8,
        });
        metric
    }

    #[test]
    fn a_metric_comes_back_to_the_last_digit() {
        for metric in [Metric::default(), full()] {
            let again = Metric::from_text(&metric.to_text()).expect("what was written");
            assert_eq!(again, metric);
        }
    }

    #[test]
    fn errors_name_line_and_field() {
        let text = full().to_text();
        let message = |from: &str, to: &str| {
            assert!(text.contains(from), "{text}");
            let error = Metric::from_text(&text.replacen(from, to, 1)).expect_err("an error");
            error.to_string()
        };
        let version = message("\"covey_metric\": 2", "\"covey_metric\": 1");
        assert_eq!(version, "line 2: covey_metric: expected version 2, found 1");
        let radius = message("\"radius\": 1.0", "\"radius\": -1.0");
        assert_eq!(radius, "line 12: radius: expected a number above 0, found -1");
        let scale = message("\"scale\":0.3", "\"scale\":\"x\"");
        assert!(
            scale.starts_with("line 4: attributes.start.scale: expected a metric file"),
            "{scale}"
        );
        let missing = message("\"peers\"", "\"pears\"");
        assert_eq!(missing, "line 3: attributes.peers: expected this attribute, found nothing");
        let symmetric = message("0.03333333333333333", "0.5");
        assert!(
            symmetric.starts_with("line 5: attributes.protocol.row: expected symmetry with start")
        );
        let negative = message("0.14285714285714285", "-2.0");
        assert!(
            negative.starts_with("line 3: attributes: expected a positive semidefinite matrix")
        );
        let cut = Metric::from_text(&text[..200]).expect_err("an error").to_string();
        assert!(
            cut.starts_with("line 5: attributes.protocol.row: expected a metric file"),
            "{cut}"
        );
        let training = message("\"seed\":1", "\"seed\":-1");
        assert!(training.starts_with("line 14: training.seed"), "{training}");
    }
}
