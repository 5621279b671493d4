//! The least of many numbers.

/// The least of `first` and `all`, in a form that compiles to vector instructions: no comparison
/// waits for the one before.
pub fn least<T: PartialOrd + Copy>(first: T, all: &[T]) -> T {
    const LANES: usize = 16;
    let lesser = |a: T, b: T| if a < b { a } else { b };
    let (chunks, rest) = all.as_chunks::<LANES>();
    let mut lanes = [first; LANES];
    for chunk in chunks {
        for (lane, number) in lanes.iter_mut().zip(chunk) {
            *lane = lesser(*number, *lane);
        }
    }
    lanes.into_iter().chain(rest.iter().copied()).fold(first, lesser)
}

#[cfg(test)]
mod tests {
    use super::least;

    #[test]
    fn the_least_is_found_wherever_it_is() {
        assert_eq!(least(2.0, &[]), 2.0);
        for n in 1..70 {
            for k in 0..n {
                let all: Vec<f64> = (0..n).map(|j| if j == k { -1.0 } else { j as f64 }).collect();
                assert_eq!(least(f64::INFINITY, &all), -1.0);
                assert_eq!(least(-2.0, &all), -2.0);
            }
        }
    }
}
