//! What coflows send over links in one run.

use std::collections::BTreeMap;

use covey_core::LinkId;
use covey_trace::results::Span;

/// Two rates differ little if the larger is less than this many times the smaller. A rate that
/// falls to half, because two coflows now share, differs more.
const LITTLE: f64 = 1.4;

/// What each coflow sends over each link, put together from the spans of a run: a coflow goes on
/// sending while its rate changes little.
#[derive(Debug, Clone, Default)]
pub struct Sendings {
    by_link: BTreeMap<LinkId, BTreeMap<u32, Vec<Piece>>>,
    until_s: f64,
}

/// A time in which a coflow sends over a link at about one rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Piece {
    pub from_s: f64,
    pub until_s: f64,
    pub bytes: f64,
}

impl Sendings {
    /// Adds a span. Those of a coflow at a link come in order of time.
    pub fn add(&mut self, span: &Span) {
        let (from_s, until_s) = (span.start_s, span.end_s);
        let piece = Piece { from_s, until_s, bytes: span.rate * (until_s - from_s) };
        let of_link = self.by_link.entry(span.link).or_default();
        join(of_link.entry(span.coflow).or_default(), piece, 0.0);
        self.until_s = self.until_s.max(until_s);
    }

    /// The end of the last span, in seconds since the start of the trace.
    pub(super) fn until_s(&self) -> f64 {
        self.until_s
    }

    /// The links over which something is sent.
    pub(super) fn links(&self) -> impl Iterator<Item = LinkId> + '_ {
        self.by_link.keys().copied()
    }

    /// The bytes that are sent over a link.
    pub(super) fn bytes(&self, link: LinkId) -> f64 {
        let pieces = self.by_link.get(&link).into_iter().flat_map(BTreeMap::values).flatten();
        pieces.map(|piece| piece.bytes).sum()
    }

    /// The pieces of each coflow at a link, without pauses and pieces shorter than `tick_s`.
    pub(super) fn at(&self, link: LinkId, tick_s: f64) -> impl Iterator<Item = (u32, Vec<Piece>)> {
        self.by_link.get(&link).into_iter().flatten().map(move |(&coflow, pieces)| {
            let mut joined = Vec::new();
            pieces.iter().for_each(|&piece| join(&mut joined, piece, tick_s));
            (coflow, joined)
        })
    }
}

impl Piece {
    fn length_s(&self) -> f64 {
        self.until_s - self.from_s
    }

    /// Bytes per second.
    pub fn rate(&self) -> f64 {
        self.bytes / self.length_s()
    }
}

/// Adds a piece, as part of the last one if neither the pause between them nor the change of rate
/// lasts longer than `tick_s`.
fn join(pieces: &mut Vec<Piece>, next: Piece, tick_s: f64) {
    let is_short = |piece: &Piece| piece.length_s() < tick_s;
    let are_alike = |a: &Piece, b: &Piece| {
        let (a, b) = (a.rate(), b.rate());
        a.max(b) < LITTLE * a.min(b)
    };
    match pieces.last_mut() {
        Some(last)
            if next.from_s - last.until_s <= tick_s
                && (are_alike(last, &next) || is_short(last) || is_short(&next)) =>
        {
            last.until_s = next.until_s;
            last.bytes += next.bytes;
        }
        _ => pieces.push(next),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sendings(spans: &[[f64; 3]]) -> Sendings {
        let mut sendings = Sendings::default();
        for &[start_s, end_s, rate] in spans {
            sendings.add(&Span { coflow: 7, link: LinkId(1), start_s, end_s, rate });
        }
        sendings
    }

    fn pieces(sendings: &Sendings, tick_s: f64) -> Vec<[f64; 3]> {
        let all = sendings.at(LinkId(1), tick_s).flat_map(|(_, pieces)| pieces);
        all.map(|it| [it.from_s, it.until_s, it.bytes]).collect()
    }

    #[test]
    fn small_changes_of_rate_join_and_large_ones_and_pauses_part() {
        let all = sendings(&[[0.0, 1.0, 10.0], [1.0, 2.0, 13.0], [2.0, 3.0, 3.0], [3.5, 4.0, 3.0]]);
        let exact = [[0.0, 2.0, 23.0], [2.0, 3.0, 3.0], [3.5, 4.0, 1.5]];
        assert_eq!(pieces(&all, 0.0), exact);
        assert_eq!(pieces(&all, 0.5), [[0.0, 2.0, 23.0], [2.0, 4.0, 4.5]]);
        assert_eq!(pieces(&all, 2.5), [[0.0, 4.0, 27.5]]);
        assert_eq!((all.bytes(LinkId(1)), all.bytes(LinkId(0)), all.until_s()), (27.5, 0.0, 4.0));
    }
}
