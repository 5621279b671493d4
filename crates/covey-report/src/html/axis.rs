//! Axes, which map values to coordinates of the plot.

/// Maximum number of decades of a logarithmic axis; smaller values are drawn at its lower end.
const MAX_DECADES: f64 = 9.0;

/// Maximum width of a character, at the larger font size of narrow screens.
pub(super) const CHARACTER: f64 = 12.8;
/// Width of a number on a horizontal axis: that of six characters.
const NUMBER_WIDTH: f64 = 6.0 * CHARACTER;

/// An axis of a plot.
pub(super) trait Axis {
    /// The coordinate of a value. A value beyond an end is drawn at that end.
    fn at(&self, value: f64) -> f64;
    /// The grid lines and their numbers.
    fn ticks(&self) -> Vec<Tick>;
}

/// A logarithmic axis.
pub(super) struct LogAxis {
    /// Decimal logarithm of the value at each end.
    low: f64,
    high: f64,
    /// Coordinate of each end.
    left: f64,
    right: f64,
}

/// A linear axis from 0.
pub(super) struct LinearAxis {
    step: f64,
    steps: u32,
    /// Coordinates of both ends.
    ends: [f64; 2],
}

/// A linear axis of shares from 0 to 1, with numbers in percent.
pub(super) struct PercentAxis {
    /// Coordinates of both ends.
    pub ends: [f64; 2],
}

/// A grid line, which may have a number.
pub(super) struct Tick {
    pub at: f64,
    pub label: Option<String>,
}

impl LogAxis {
    /// An axis from `left` to `right` that covers all positive finite `values`. Its ends are 1, 2
    /// or 5 times a power of ten.
    pub fn covering(values: impl IntoIterator<Item = f64>, [left, right]: [f64; 2]) -> Self {
        let positive = values.into_iter().filter(|v| v.is_finite() && *v > 0.0);
        let (min, max) =
            positive.fold((f64::INFINITY, 0.0_f64), |(min, max), v| (min.min(v), max.max(v)));
        if min > max {
            return Self { low: 0.0, high: 1.0, left, right };
        }
        let (mut low, high) = (round(min.log10(), f64::floor), round(max.log10(), f64::ceil));
        if low == high {
            low -= 1.0;
        }
        Self { low: low.max((high - MAX_DECADES).ceil()), high, left, right }
    }
}

impl LogAxis {
    /// An axis for bars. Bars begin at 1, or if all values are above or all below 1, at the end
    /// nearest to 1. That end lies beyond the values, so that each bar has a length.
    pub fn of_bars(values: impl IntoIterator<Item = f64>, ends: [f64; 2]) -> Self {
        const BEYOND: f64 = 1.2;
        let values: Vec<f64> = values.into_iter().filter(|v| v.is_finite() && *v > 0.0).collect();
        let min = values.iter().copied().fold(f64::INFINITY, f64::min);
        let max = values.iter().copied().fold(0.0, f64::max);
        let start = 1.0_f64.max(min / BEYOND).min(max * BEYOND);
        Self::covering(values.into_iter().chain([start]), ends)
    }
}

impl Axis for LogAxis {
    fn at(&self, value: f64) -> f64 {
        let log = value.max(f64::MIN_POSITIVE).log10().clamp(self.low, self.high);
        self.left + (self.right - self.left) * (log - self.low) / (self.high - self.low)
    }

    // Ticks are at 1 to 9 times the powers of ten. A tick has a number if there is room for it.
    fn ticks(&self) -> Vec<Tick> {
        let decades = self.high - self.low;
        let room = (self.right - self.left).abs() / decades;
        let every = (NUMBER_WIDTH / room).ceil() as i32;
        let mut ticks = Vec::new();
        for power in self.low.floor() as i32..=self.high.floor() as i32 {
            for factor in 1..=9 {
                let log = f64::from(power) + f64::from(factor).log10();
                if log < self.low - 1e-9 || log > self.high + 1e-9 {
                    continue;
                }
                let numbered = match factor {
                    1 => power.rem_euclid(every.max(1)) == 0,
                    2 | 5 => room * std::f64::consts::LOG10_2 >= NUMBER_WIDTH,
                    _ => false,
                };
                let share = (log - self.low) / decades;
                let at = self.left + (self.right - self.left) * share;
                ticks.push(Tick { at, label: numbered.then(|| number(factor, power)) });
            }
        }
        ticks
    }
}

impl LinearAxis {
    /// An axis from 0 to a round number, which is at least the greatest of `values`.
    pub fn covering(values: impl IntoIterator<Item = f64>, ends: [f64; 2]) -> Self {
        let max = values.into_iter().filter(|v| v.is_finite()).fold(0.0, f64::max);
        let max = if max > 0.0 { max } else { 1.0 };
        // Four to nine steps of 1, 2 or 5 times a power of ten.
        let step = 10_f64.powf(round((max / 4.0).log10(), f64::floor));
        Self { step, steps: (max / step - 1e-9).ceil() as u32, ends }
    }
}

impl Axis for LinearAxis {
    fn at(&self, value: f64) -> f64 {
        let share = value / (self.step * f64::from(self.steps));
        self.ends[0] + (self.ends[1] - self.ends[0]) * share.clamp(0.0, 1.0)
    }

    fn ticks(&self) -> Vec<Tick> {
        let decimals = (-self.step.log10().floor()).max(0.0) as usize;
        let tick = |k: u32| {
            let value = self.step * f64::from(k);
            Tick { at: self.at(value), label: Some(format!("{value:.decimals$}")) }
        };
        (0..=self.steps).map(tick).collect()
    }
}

impl Axis for PercentAxis {
    fn at(&self, value: f64) -> f64 {
        self.ends[0] + (self.ends[1] - self.ends[0]) * value
    }

    fn ticks(&self) -> Vec<Tick> {
        let tick = |percent: u32| Tick {
            at: self.at(f64::from(percent) / 100.0),
            label: Some(percent.to_string()),
        };
        [0, 25, 50, 75, 100].map(tick).into()
    }
}

/// Rounds to the decimal logarithm of 1, 2 or 5 times a power of ten. `whole` is `floor` to round
/// down, `ceil` to round up.
fn round(log: f64, whole: fn(f64) -> f64) -> f64 {
    const STEPS: [f64; 3] = [0.0, std::f64::consts::LOG10_2, 1.0 - std::f64::consts::LOG10_2];
    let candidates = STEPS.map(|step| whole(log - step) + step);
    // All candidates lie in the direction of rounding, so the nearest is the result.
    candidates
        .into_iter()
        .fold(f64::INFINITY, |best, c| if (c - log).abs() < (best - log).abs() { c } else { best })
}

/// `factor` times ten to the `power` as text.
fn number(factor: u32, power: i32) -> String {
    match power {
        -4..0 => {
            format!("{:.*}", power.unsigned_abs() as usize, f64::from(factor) * 10_f64.powi(power))
        }
        0..5 => crate::units::count(factor as usize * 10_usize.pow(power.unsigned_abs())),
        _ => format!("{factor}e{power}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(values: &[f64]) -> Vec<String> {
        let axis = LogAxis::covering(values.iter().copied(), [0.0, 480.0]);
        axis.ticks().into_iter().filter_map(|t| t.label).collect()
    }

    #[test]
    fn ends_are_round() {
        assert_eq!(numbers(&[0.9, 1.1]), ["0.5", "1", "2"]);
        assert_eq!(numbers(&[0.03, 700.0]), ["0.1", "1", "10", "100", "1,000"]);
        assert_eq!(numbers(&[1e-5, 1e-4]), ["1e-5", "2e-5", "5e-5", "0.0001"]);
    }

    #[test]
    fn numbers_have_room() {
        assert_eq!(numbers(&[0.001, 1e7]), ["0.01", "1", "100", "10,000", "1e6"]);
        assert_eq!(numbers(&[1.0, 1e5]), ["1", "10", "100", "1,000", "10,000", "1e5"]);
    }

    #[test]
    fn bars_start_where_the_values_do() {
        let ends = |values: [f64; 2]| {
            let axis = LogAxis::of_bars(values, [0.0, 480.0]);
            [10_f64.powf(axis.low), 10_f64.powf(axis.high)].map(|end| (end * 1e3).round() / 1e3)
        };
        assert_eq!(ends([0.5, 3.0]), [0.5, 5.0]);
        assert_eq!(ends([1.1, 1.9]), [1.0, 2.0]);
        assert_eq!(ends([78.0, 1947.0]), [50.0, 2000.0]);
        assert_eq!(ends([200.0, 300.0]), [100.0, 500.0]);
        assert_eq!(ends([0.002, 0.03]), [0.002, 0.05]);
        assert_eq!(ends([f64::NAN, f64::NAN]), [1.0, 10.0]);
    }

    #[test]
    fn one_value_or_none_is_an_axis_too() {
        assert_eq!(numbers(&[10.0]), ["1", "2", "5", "10"]);
        assert_eq!(numbers(&[0.0, f64::INFINITY]), ["1", "2", "5", "10"]);
    }

    #[test]
    fn equal_steps_from_zero() {
        let labels = |max: f64| {
            let axis = LinearAxis::covering([max], [300.0, 0.0]);
            axis.ticks().into_iter().filter_map(|t| t.label).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(labels(1.8), "0.0 0.2 0.4 0.6 0.8 1.0 1.2 1.4 1.6 1.8");
        assert_eq!(labels(9.0), "0 2 4 6 8 10");
        assert_eq!(labels(400.0), "0 100 200 300 400");
        assert_eq!(labels(f64::NAN), "0.0 0.2 0.4 0.6 0.8 1.0");
        assert_eq!(LinearAxis::covering([9.0], [300.0, 0.0]).at(5.0), 150.0);
    }

    #[test]
    fn values_beyond_an_end_are_at_that_end() {
        let axis = LogAxis::covering([1.0, 100.0], [0.0, 200.0]);
        let coordinates = [0.0, 1.0, 10.0, 100.0, 1e9, f64::INFINITY].map(|v| axis.at(v));
        assert_eq!(coordinates, [0.0, 0.0, 100.0, 200.0, 200.0, 200.0]);
    }

    #[test]
    fn a_very_small_value_does_not_squeeze_the_others() {
        let axis = LogAxis::covering([1e-300, 1.0], [0.0, 90.0]);
        assert_eq!([1e-300, 0.1].map(|v| axis.at(v)), [0.0, 80.0]);
    }
}
