//! Means of groups, shrunk towards their own mean.
//!
//! The mean of a few values says little, and the mean of many values says much. So the mean of a
//! group of `n` values is trusted by `n / (n + k)`, and the mean over all groups by the rest. `k` is
//! the variance within groups over the variance between them (empirical Bayes; the variances by the
//! method of moments of a one-way random-effects model).

/// Limits of `k`: groups are never taken to be all alike inside, nor all the same.
const K_MIN: f64 = 0.02;
const K_MAX: f64 = 50.0;
/// `k` where the values do not tell: one a group, or all in one group.
const K_UNKNOWN: f64 = 0.5;

/// Values by group, as numbers and sums. Each value is added once, so rounding does not accumulate
/// as it would in sums from which values are also taken away.
#[derive(Debug, Default)]
pub(crate) struct GroupSums {
    /// By group.
    count: Vec<f64>,
    sum: Vec<f64>,
    /// Groups with values, in order of their first value.
    used: Vec<u32>,
    /// Of all values.
    n: f64,
    squares: f64,
}

impl GroupSums {
    /// No values, of so many groups.
    pub fn clear(&mut self, groups: usize) {
        self.count.clear();
        self.count.resize(groups, 0.0);
        self.sum.clear();
        self.sum.resize(groups, 0.0);
        self.used.clear();
        (self.n, self.squares) = (0.0, 0.0);
    }

    /// Adds a value of a group.
    pub fn add(&mut self, group: u32, value: f64) {
        let g = group as usize;
        if self.count[g] == 0.0 {
            self.used.push(group);
        }
        self.count[g] += 1.0;
        self.sum[g] += value;
        self.n += 1.0;
        self.squares += value * value;
    }

    /// Groups with values.
    pub fn used(&self) -> &[u32] {
        &self.used
    }

    /// The groups of `self` with the residuals of its values: `fitted` has, by group, the sum of
    /// what is taken away from the values, and `squares` is the sum of all squared residuals.
    pub fn assign_residuals(&mut self, of: &GroupSums, fitted: &[f64], squares: f64) {
        self.count.clone_from(&of.count);
        self.sum.clear();
        self.sum.extend(of.sum.iter().zip(fitted).map(|(sum, fitted)| sum - fitted));
        self.used.clone_from(&of.used);
        (self.n, self.squares) = (of.n, squares.max(0.0));
    }

    /// The sum of squares that is left when each value loses its group's `mean`.
    pub fn residual_squares(&self, means: &Means) -> f64 {
        let change = |&group: &u32| {
            let (count, sum) = (self.count[group as usize], self.sum[group as usize]);
            let mean = means.of(group);
            mean * (count * mean - 2.0 * sum)
        };
        self.squares + self.used.iter().map(change).sum::<f64>()
    }

    /// Writes the shrunk means to `means`.
    pub fn shrink(&self, means: &mut Means) {
        let variances = self.variances();
        let k = variances.ratio();
        let groups = || self.used.iter().map(|&group| group as usize);
        let trust = |g: usize| 1.0 / (self.count[g] + k);
        let weights: f64 = groups().map(|g| self.count[g] * trust(g)).sum();
        let weighted: f64 = groups().map(|g| self.sum[g] * trust(g)).sum();
        let unseen = if weights > 0.0 { weighted / weights } else { 0.0 };
        means.clear(self.count.len(), unseen);
        means.between = variances.between;
        for g in groups() {
            means.of_group[g] = (self.sum[g] + k * unseen) * trust(g);
        }
    }

    /// The variance components, by the method of moments.
    fn variances(&self) -> Variances {
        let groups = self.used.len() as f64;
        if groups <= 1.0 || self.n <= groups {
            return Variances { within: None, between: 0.0 };
        }
        let (mut sum, mut explained, mut count_squares) = (0.0, 0.0, 0.0);
        for &group in &self.used {
            let (count, of_group) = (self.count[group as usize], self.sum[group as usize]);
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
    /// `None` where the values do not tell.
    within: Option<f64>,
    between: f64,
}

impl Variances {
    /// `k`: how many values of a group are trusted as much as all the other groups.
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
    /// By group; NaN for a group without values.
    of_group: Vec<f64>,
    /// The mean of a group without values.
    unseen: f64,
    /// Variance between groups.
    pub between: f64,
}

impl Means {
    /// No group of so many has values; the mean of each is `unseen`.
    pub fn clear(&mut self, groups: usize, unseen: f64) {
        self.of_group.clear();
        self.of_group.resize(groups, f64::NAN);
        (self.unseen, self.between) = (unseen, 0.0);
    }

    /// Number of groups.
    pub fn groups(&self) -> usize {
        self.of_group.len()
    }

    /// The mean of a group.
    pub fn of(&self, group: u32) -> f64 {
        let mean = self.of_group[group as usize];
        if mean.is_nan() { self.unseen } else { mean }
    }

    /// Puts `f(mean)` in place of each mean; `used` are the groups with values.
    pub fn map(&mut self, used: &[u32], f: impl Fn(f64) -> f64) {
        self.unseen = f(self.unseen);
        for &group in used {
            let mean = &mut self.of_group[group as usize];
            *mean = f(*mean);
        }
    }
}
