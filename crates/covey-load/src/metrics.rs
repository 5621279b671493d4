//! The values that a coordinator reports at `/metrics`.

use std::collections::BTreeMap;

use covey_api::{Client, ClientError};

/// Values by name with labels.
#[derive(Debug, Clone, Default)]
pub struct Metrics(BTreeMap<String, f64>);

impl Metrics {
    /// Asks a coordinator for its metrics.
    ///
    /// # Errors
    /// When the coordinator does not answer.
    pub async fn of(client: &mut Client) -> Result<Metrics, ClientError> {
        let answer = client.get("/metrics").await?;
        Ok(Metrics::parse(&String::from_utf8_lossy(&answer.body)))
    }

    fn parse(text: &str) -> Metrics {
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        let pairs = lines.filter_map(|line| line.rsplit_once(' '));
        Metrics(pairs.filter_map(|(k, v)| Some((k.to_owned(), v.parse().ok()?))).collect())
    }

    /// The value of that name; NaN if there is none.
    pub fn get(&self, name: &str) -> f64 {
        self.0.get(name).copied().unwrap_or(f64::NAN)
    }

    /// Quantile of what a histogram has counted since `before`: the upper bound of its bucket, in
    /// milliseconds. NaN if nothing was counted.
    pub fn quantile_ms(&self, before: &Metrics, name: &str, quantile: f64) -> f64 {
        let since = |name: &str| self.get(name) - before.0.get(name).copied().unwrap_or(0.0);
        let count = since(&format!("{name}_count"));
        if count <= 0.0 {
            return f64::NAN;
        }
        let prefix = format!("{name}_bucket{{le=\"");
        let ends = self.0.keys().filter_map(|key| {
            let end = key.strip_prefix(&prefix)?.strip_suffix("\"}")?.parse::<f64>().ok()?;
            (since(key) >= quantile * count).then_some(end)
        });
        1e3 * ends.fold(f64::INFINITY, f64::min)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_of_what_has_come_since() {
        let text = |a, b| {
            format!(
                "# HELP t\nt_bucket{{le=\"0.001\"}} {a}\nt_bucket{{le=\"+Inf\"}} {b}\nt_count {b}\n"
            )
        };
        let (before, after) = (Metrics::parse(&text(0, 5)), Metrics::parse(&text(99, 105)));
        assert_eq!(after.quantile_ms(&before, "t", 0.99), 1.0);
        assert_eq!(after.quantile_ms(&Metrics::default(), "t", 0.99), f64::INFINITY);
        assert!(before.quantile_ms(&before, "t", 0.5).is_nan());
    }
}
