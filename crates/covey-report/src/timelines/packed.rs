//! Rows of timelines as text of a bounded size.
//!
//! A row is a list of numbers, four for each piece, in order of begin and coflow: the ticks since
//! the begin of the piece before, its length in ticks, the coflow, and its share of the link's
//! capacity in 31sts. A number is written as digits of 5 bits, the lowest first; all but the last
//! have 32 added. Each digit is a character of [`DIGITS`].

use covey_core::{Fabric, LinkId};

use super::sendings::Sendings;

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
/// The highest share of a link.
const WHOLE: f64 = 31.0;
/// The number of ticks is a power of two: at most and at least this one, if there are rows.
const FINEST: u32 = 20;
const COARSEST: u32 = 11;

/// The rows of all runs.
pub(super) struct Packed {
    /// The length of a tick.
    pub tick_s: f64,
    /// The links of the rows, ascending.
    pub links: Vec<LinkId>,
    /// The number of links over which something is sent.
    pub of: usize,
    /// By run and link.
    pub rows: Vec<Vec<String>>,
}

impl Packed {
    /// The rows, in at most `size` characters and with the shortest ticks for which they fit. If no
    /// ticks are long enough, half of the links are left out, and so on.
    pub fn within(size: usize, runs: &[Sendings], fabric: &Fabric) -> Packed {
        let mut links: Vec<LinkId> = runs.iter().flat_map(Sendings::links).collect();
        links.sort_unstable();
        links.dedup();
        let of = links.len();
        let mut busiest: Vec<(f64, LinkId)> = links
            .into_iter()
            .map(|link| (runs.iter().map(|run| run.bytes(link)).sum(), link))
            .collect();
        busiest.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let until_s = runs.iter().map(Sendings::until_s).fold(0.0, f64::max);
        let mut power = FINEST;
        loop {
            let tick_s = until_s / f64::from(1_u32 << power);
            let mut links: Vec<LinkId> = busiest.iter().map(|&(_, link)| link).collect();
            links.sort_unstable();
            let mut rows = Vec::new();
            let mut taken = 0;
            for run in runs {
                rows.push(Vec::new());
                for &link in &links {
                    if taken > size {
                        break;
                    }
                    let packed = row(run, link, tick_s, fabric.capacity()[link.index()]);
                    taken += packed.len();
                    rows.last_mut().expect("it was added").push(packed);
                }
            }
            match (taken <= size, power > COARSEST) {
                (true, _) => return Packed { tick_s, links, of, rows },
                (false, true) => power -= 1,
                (false, false) => busiest.truncate(busiest.len() / 2),
            }
        }
    }
}

/// The row of a link in a run.
fn row(run: &Sendings, link: LinkId, tick_s: f64, capacity: f64) -> String {
    let ticks = |s: f64| (s / tick_s).round() as u32;
    let pieces = run.at(link, tick_s).flat_map(|(coflow, pieces)| {
        pieces.into_iter().map(move |piece| {
            let share = (WHOLE * piece.rate() / capacity).round().clamp(1.0, WHOLE);
            let from = ticks(piece.from_s);
            let length = ticks(piece.until_s).saturating_sub(from).max(1);
            (from, coflow, length, share as u32)
        })
    });
    let mut pieces: Vec<_> = pieces.collect();
    pieces.sort_unstable();
    let mut packed = String::new();
    let mut last = 0;
    for (from, coflow, length, share) in pieces {
        for number in [from - last, length, coflow, share] {
            put(&mut packed, number);
        }
        last = from;
    }
    packed
}

fn put(text: &mut String, mut number: u32) {
    while number >= 32 {
        text.push(char::from(DIGITS[(number % 32 + 32) as usize]));
        number /= 32;
    }
    text.push(char::from(DIGITS[number as usize]));
}

#[cfg(test)]
mod tests {
    use super::*;
    use covey_trace::results::Span;

    fn numbers(text: &str) -> Vec<u32> {
        let mut numbers = Vec::new();
        let (mut number, mut shift) = (0, 0);
        for letter in text.bytes() {
            let digit = DIGITS.iter().position(|&digit| digit == letter).unwrap() as u32;
            number |= (digit % 32) << shift;
            shift += 5;
            if digit < 32 {
                numbers.push(number);
                (number, shift) = (0, 0);
            }
        }
        numbers
    }

    /// Three links, of which the second is the busiest.
    fn run() -> Sendings {
        let mut run = Sendings::default();
        let span = |coflow, link, start_s, end_s, rate| {
            let link = LinkId(link);
            Span { coflow, link, start_s, end_s, rate }
        };
        run.add(&span(40, 0, 0.0, 1.0, 31.0));
        run.add(&span(1, 1, 0.0, 4.0, 15.0));
        run.add(&span(2, 1, 2.0, 8.0, 16.0));
        run.add(&span(2, 2, 2.0, 3.0, 0.1));
        run
    }

    #[test]
    fn a_row_has_four_numbers_for_each_piece() {
        let fabric = Fabric::big_switch(2, 31.0).unwrap();
        let packed = Packed::within(1000, &[run()], &fabric);
        assert_eq!((packed.of, packed.links.len()), (3, 3));
        assert_eq!(packed.tick_s, 8.0 / 1_048_576.0);
        let second = 1_048_576 / 8;
        assert_eq!(numbers(&packed.rows[0][0]), [0, second, 40, 31]);
        let expected = [0, 4 * second, 1, 15, 2 * second, 6 * second, 2, 16];
        assert_eq!(numbers(&packed.rows[0][1]), expected);
        assert_eq!(numbers(&packed.rows[0][2]), [2 * second, second, 2, 1]);
    }

    #[test]
    fn ticks_grow_and_then_links_go_until_there_is_room() {
        let fabric = Fabric::big_switch(2, 31.0).unwrap();
        let finest = Packed::within(1000, &[run()], &fabric);
        let size = |packed: &Packed| packed.rows[0].iter().map(String::len).sum::<usize>();
        let coarser = Packed::within(size(&finest) - 1, &[run()], &fabric);
        assert!(coarser.tick_s > finest.tick_s && coarser.links.len() == 3);
        let fewer = Packed::within(20, &[run()], &fabric);
        assert_eq!((fewer.links.as_slice(), fewer.of), (&[LinkId(1)][..], 3));
        assert_eq!(fewer.tick_s, 8.0 / 2048.0);
        assert!(size(&fewer) <= 20);
    }
}
