//! How applications are laid over one another.

use covey_core::{SplitMix, units};
use covey_experiment::Error;

use crate::model::Model;

/// How applications are laid over one another.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Offsets {
    /// As their clocks say.
    #[default]
    Clock,
    /// Each starts so many seconds after the start of the replay.
    Given(Vec<f64>),
    /// They start at random times within the time of the longest one, so many times.
    Random(u32),
}

/// The longest time without an application, in seconds. Replays of logs of many days would be
/// inexact without.
const GAP_S: f64 = 3600.0;
/// Draws at most.
const MAX_DRAWS: u32 = 1_000;

impl Offsets {
    /// Reads `clock`, `random:20`, or a list such as `0s,30s`.
    ///
    /// # Errors
    /// What was expected.
    pub fn parse(text: &str) -> Result<Offsets, Error> {
        let expected = || {
            let expected = format!(
                "clock, random:N with N from 1 to {MAX_DRAWS}, or a time for each log like 0s,30s"
            );
            Error::argument("offsets", expected, format!("'{text}'"))
        };
        if text == "clock" {
            return Ok(Offsets::Clock);
        }
        if let Some(draws) = text.strip_prefix("random:") {
            let draws = draws.parse().ok().filter(|draws| (1..=MAX_DRAWS).contains(draws));
            return draws.map(Offsets::Random).ok_or_else(expected);
        }
        let times: Result<Vec<f64>, _> =
            text.split(',').map(|time| units::parse_duration(time.trim())).collect();
        times.map(Offsets::Given).map_err(|_| expected())
    }

    /// The starts of applications in each draw, in seconds after the start of the replay.
    ///
    /// # Errors
    /// If other than one time is given for each.
    pub fn draw(&self, models: &[Model], seed: u64) -> Result<Vec<Vec<f64>>, Error> {
        let first_s = models.iter().map(|model| model.start_s).fold(f64::INFINITY, f64::min);
        Ok(match self {
            Offsets::Given(times) if times.len() != models.len() => {
                let expected = format!(
                    "a time for each of {} applications that can be replayed",
                    models.len()
                );
                return Err(Error::argument("offsets", expected, times.len()));
            }
            _ if models.len() < 2 => vec![vec![0.0; models.len()]],
            Offsets::Clock => {
                let starts_s: Vec<f64> =
                    models.iter().map(|model| model.start_s - first_s).collect();
                vec![with_short_gaps(models, &starts_s)]
            }
            Offsets::Given(times) => vec![times.clone()],
            Offsets::Random(draws) => {
                let span_s = models.iter().map(|model| model.logged_s).fold(0.0, f64::max);
                let mut random = SplitMix::new(seed);
                (0..*draws)
                    .map(|_| models.iter().map(|_| span_s * random.unit()).collect())
                    .collect()
            }
        })
    }

    /// In words.
    pub(crate) fn describe(&self, models: &[Model], seed: u64) -> String {
        match self {
            _ if models.len() < 2 => "the log's".to_owned(),
            Offsets::Clock => "by the logs' clocks, with breaks of an hour at most".to_owned(),
            Offsets::Given(_) => "as given".to_owned(),
            Offsets::Random(_) => format!("random, seed {seed}"),
        }
    }
}

/// The starts of applications, with times in which none is there cut to [`GAP_S`].
fn with_short_gaps(models: &[Model], starts_s: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..models.len()).collect();
    order.sort_by(|&a, &b| starts_s[a].total_cmp(&starts_s[b]).then(a.cmp(&b)));
    let mut short_s = vec![0.0; models.len()];
    let (mut end_s, mut cut_s) = (0.0_f64, 0.0);
    for k in order {
        cut_s += (starts_s[k] - end_s - GAP_S).max(0.0);
        short_s[k] = starts_s[k] - cut_s;
        end_s = end_s.max(starts_s[k] + models[k].logged_s);
    }
    short_s
}

/// Whether no two applications are there at the same time.
pub(crate) fn are_apart(models: &[Model], starts_s: &[f64]) -> bool {
    let mut times: Vec<(f64, f64)> = models
        .iter()
        .zip(starts_s)
        .map(|(model, start_s)| (*start_s, start_s + model.logged_s))
        .collect();
    times.sort_by(|a, b| a.0.total_cmp(&b.0));
    times.windows(2).all(|pair| pair[0].1 <= pair[1].0)
}
