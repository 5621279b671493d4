//! MADD: minimum allocation for desired duration (Varys, SIGCOMM 2014, §5.2).
//!
//! All flows of a coflow need end no earlier than the slowest. With Γ the largest, over links, of
//! bytes left over free capacity, rates of (bytes left) / Γ let all flows end together at Γ and
//! take the least that this needs.
//!
//! Mostly what is free and what is left changes at few links, and not at the one that decides Γ.
//! Then rates stay, and only those few links are looked at.

/// What the last decision was made of.
#[derive(Debug, Default)]
pub(super) struct Madd {
    /// 1 / Γ, if bytes left are in bytes.
    ratio: f64,
    /// What was left at each local link; empty before the first decision.
    left: Vec<f64>,
    /// The link that decides, if any.
    tightest: Option<u32>,
}

impl Madd {
    pub fn ratio(&self) -> f64 {
        self.ratio
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.ratio = 0.0;
        self.left.clear();
    }

    /// Brings the ratio up to date. `before` is free at the local links, and differs from the last
    /// time at `moved`; `left` is left there, and may differ anywhere if `touched`. The ratio is at
    /// most `limit`. Returns whether it is new; if not, `moved` now has all links at which anything
    /// differs.
    pub fn decide(
        &mut self,
        before: &[f64],
        left: &[f64],
        limit: f64,
        touched: bool,
        moved: &mut Vec<u32>,
    ) -> bool {
        if self.left.len() == left.len() && self.tightest.is_some() && self.ratio <= limit {
            if touched {
                crate::differences(left, &self.left, moved);
            }
            let mut stays = true;
            for &l in &*moved {
                let k = l as usize;
                self.left[k] = left[k];
                stays &= self.tightest != Some(l) && ratio(before[k], left[k]) >= self.ratio;
            }
            if stays {
                return false;
            }
        }
        self.left.clear();
        self.left.extend_from_slice(left);
        self.ratio = least_ratio(before, left).min(limit);
        let tightest = before.iter().zip(left).position(|(b, l)| ratio(*b, *l) == self.ratio);
        self.tightest = tightest.map(|l| l as u32);
        true
    }

    /// What of `before` is not used at a local link.
    pub fn rest(&self, before: f64, left: f64) -> f64 {
        (before - left * self.ratio).max(0.0)
    }
}

fn ratio(free: f64, left: f64) -> f64 {
    if left > 0.0 { free / left } else { f64::INFINITY }
}

/// Least of `free / left` over the links where something is left; 0 when one of them has nothing
/// free, or nothing is left anywhere. With `left` in bytes this is 1 / Γ.
fn least_ratio(free: &[f64], left: &[f64]) -> f64 {
    const LANES: usize = 8;
    let lesser = |a: f64, b: f64| if a < b { a } else { b };
    // A form that compiles to vector instructions.
    let mut least = [f64::INFINITY; LANES];
    let (frees, lefts) = (free.chunks_exact(LANES), left.chunks_exact(LANES));
    for (k, (free, left)) in frees.remainder().iter().zip(lefts.remainder()).enumerate() {
        least[k] = ratio(*free, *left);
    }
    for (free, left) in frees.zip(lefts) {
        for k in 0..LANES {
            least[k] = lesser(ratio(free[k], left[k]), least[k]);
        }
    }
    let least = least.into_iter().fold(f64::INFINITY, lesser);
    if least.is_finite() { least } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slowest_link_decides() {
        assert_eq!(least_ratio(&[1.0, 1.0, 0.0], &[3.0, 2.0, 0.0]), 1.0 / 3.0);
        assert_eq!(least_ratio(&[1.0, 0.0], &[3.0, 2.0]), 0.0);
        assert_eq!(least_ratio(&[1.0], &[0.0]), 0.0);
    }

    #[test]
    fn a_limit_decides_where_it_is_less_than_what_fits() {
        let mut madd = Madd::default();
        let mut ratio = |limit| {
            madd.decide(&[1.0, 1.0], &[4.0, 2.0], limit, true, &mut Vec::new());
            madd.ratio()
        };
        assert_eq!([0.125, 0.5, 0.0625].map(&mut ratio), [0.125, 0.25, 0.0625]);
    }

    #[test]
    fn a_link_that_does_not_decide_leaves_the_ratio() {
        let mut madd = Madd::default();
        let (mut before, mut left) = (vec![1.0, 1.0, 1.0], vec![4.0, 2.0, 1.0]);
        let mut decide = |before: &[f64], left: &[f64], moved: &[u32], touched| {
            let mut moved = moved.to_vec();
            let is_new = madd.decide(before, left, f64::INFINITY, touched, &mut moved);
            (is_new, moved, madd.ratio())
        };
        assert_eq!(decide(&before, &left, &[], true), (true, vec![], 0.25));
        left[1] = 1.0;
        assert_eq!(decide(&before, &left, &[], true), (false, vec![1], 0.25));
        before[2] = 0.5;
        assert_eq!(decide(&before, &left, &[2], false), (false, vec![2], 0.25));
        before[2] = 0.125;
        assert_eq!(decide(&before, &left, &[2], false), (true, vec![2], 0.125));
        before[2] = 1.0;
        assert_eq!(decide(&before, &left, &[2], false), (true, vec![2], 0.25));
    }
}
