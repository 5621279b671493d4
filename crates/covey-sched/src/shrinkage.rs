//! Means of groups, shrunk towards their own mean.
//!
//! The mean of a few values says little, and the mean of many values says much. So the mean of a
//! group of `n` values is trusted by `n / (n + k)`, and the mean over all groups by the rest. `k`
//! is the variance within groups over the variance between them (empirical Bayes; the variances by
//! the method of moments of a one-way random-effects model).

/// Limits of `k`: groups are never taken to be all alike inside, nor all the same.
const K_MIN: f64 = 0.02;
const K_MAX: f64 = 50.0;
/// `k` where the values do not determine it: one value a group, or all in one group.
const K_UNKNOWN: f64 = 0.5;

/// Values by group, as counts and sums. Each value is added once and none is subtracted, so
/// rounding does not accumulate.
#[derive(Debug, Default)]
pub(crate) struct GroupSums {
    /// By group; groups are numbered in order of their first value.
    count: Vec<f64>,
    sum: Vec<f64>,
    /// Of all values.
    n: f64,
    squares: f64,
}

impl GroupSums {
    /// No values.
    pub fn clear(&mut self) {
        self.count.clear();
        self.sum.clear();
        (self.n, self.squares) = (0.0, 0.0);
    }

    /// Adds a value of a group that has values, or of the next.
    pub fn add(&mut self, group: u32, value: f64) {
        let g = group as usize;
        if self.count.len() == g {
            self.count.push(0.0);
            self.sum.push(0.0);
        }
        self.count[g] += 1.0;
        self.sum[g] += value;
        self.n += 1.0;
        self.squares += value * value;
    }

    /// The same groups with the residuals of the values: `fitted` has, by group, the sum of what is
    /// subtracted from the values, and `squares` is the sum of all squared residuals.
    pub fn assign_residuals(&mut self, of: &GroupSums, fitted: &[f64], squares: f64) {
        self.count.clone_from(&of.count);
        self.sum.clear();
        self.sum.extend(of.sum.iter().zip(fitted).map(|(sum, fitted)| sum - fitted));
        (self.n, self.squares) = (of.n, squares.max(0.0));
    }

    /// The sum of squares that is left when each value loses its group's `mean`.
    pub fn residual_squares(&self, means: &Means) -> f64 {
        let groups = self.count.iter().zip(&self.sum).zip(&means.of_group);
        let changes = groups.map(|((count, sum), mean)| mean * (count * mean - 2.0 * sum));
        self.squares + changes.sum::<f64>()
    }

    /// Writes the shrunk means to `means`.
    pub fn shrink(&self, means: &mut Means) {
        let variances = self.variances();
        let k = variances.ratio();
        let groups = || self.count.iter().zip(&self.sum);
        let trust = |count: f64| 1.0 / (count + k);
        let weights: f64 = groups().map(|(count, _)| count * trust(*count)).sum();
        let weighted: f64 = groups().map(|(count, sum)| sum * trust(*count)).sum();
        let unseen = if weights > 0.0 { weighted / weights } else { 0.0 };
        means.clear(unseen);
        means.between = variances.between;
        means.of_group.extend(groups().map(|(count, sum)| (sum + k * unseen) * trust(*count)));
    }

    /// The variance components, by the method of moments.
    fn variances(&self) -> Variances {
        let groups = self.count.len() as f64;
        if groups <= 1.0 || self.n <= groups {
            return Variances { within: None, between: 0.0 };
        }
        let (mut sum, mut explained, mut count_squares) = (0.0, 0.0, 0.0);
        for (count, of_group) in self.count.iter().zip(&self.sum) {
            sum += of_group;
            explained += of_group * of_group / count;
            count_squares += count * count;
        }
        let within = ((self.squares - explained) / (self.n - groups)).max(0.0);
        let among = (explained - sum * sum / self.n) / (groups - 1.0);
        let per_group = (self.n - count_squares / self.n) / (groups - 1.0);
        Variances { within: Some(within), between: ((among - within) / per_group).max(0.0) }
    }
}

struct Variances {
    /// `None` if the values do not determine it.
    within: Option<f64>,
    between: f64,
}

impl Variances {
    /// `k`: the number of values at which a group's mean is trusted as much as the mean over all
    /// groups.
    fn ratio(&self) -> f64 {
        match self.within {
            None => K_UNKNOWN,
            Some(within) if self.between > 0.0 => (within / self.between).clamp(K_MIN, K_MAX),
            Some(_) => K_MAX,
        }
    }
}

/// Shrunk means.
#[derive(Debug, Default)]
pub(crate) struct Means {
    /// By group, of those that have values.
    of_group: Vec<f64>,
    /// The mean of a group without values.
    unseen: f64,
    /// Variance between groups.
    pub between: f64,
}

impl Means {
    /// No group has values; the mean of each is `unseen`.
    pub fn clear(&mut self, unseen: f64) {
        self.of_group.clear();
        (self.unseen, self.between) = (unseen, 0.0);
    }

    /// The mean of a group.
    pub fn of(&self, group: u32) -> f64 {
        self.of_group.get(group as usize).copied().unwrap_or(self.unseen)
    }

    /// The mean of a group without values.
    pub fn unseen(&self) -> f64 {
        self.unseen
    }

    /// Puts `f(mean)` in place of each mean.
    pub fn map(&mut self, f: impl Fn(f64) -> f64) {
        self.unseen = f(self.unseen);
        self.of_group.iter_mut().for_each(|mean| *mean = f(*mean));
    }
}
