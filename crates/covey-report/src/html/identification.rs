//! The page of an identification: flows over time and host pairs, coloured by group.

use std::collections::BTreeMap;
use std::fmt::Write;

use covey_trace::records::Grouped;
use maud::{Markup, html};

use super::axis::{Axis, LinearAxis};
use super::document::{document, repeat};
use super::frame::{BOTTOM, Frame, RIGHT, TOP, left, rounded};
use crate::identification::{HEADINGS, Identification};
use crate::palette::COLOURS;
use crate::units::{bytes, count, counted};

/// Flows that are drawn at most; of more, every so-manieth in order of start is.
const MAX_FLOWS: usize = 5_000;

/// A self-contained HTML page about an identification: the picture of the flows, the largest
/// groups, the agreement with labels, and `command`, the command line that repeats it.
pub fn identification_page(
    identification: &Identification,
    grouped: &Grouped<'_>,
    command: &str,
) -> String {
    let title = format!("Groups of flows in {}", identification.records);
    let header = html! {
        header {
            h1 { (title) }
            p { (identification.summary()) }
            @if let Some(labels) = identification.labels() { p class="lead" { (labels) } }
        }
    };
    let main = html! {
        (picture(grouped))
        (largest(identification))
        (repeat(command, None))
    };
    document(&title, header, main)
}

/// The flows that are drawn, by group: start and end in seconds after the first start, and the host
/// pair.
struct Drawn {
    by_group: BTreeMap<u32, Vec<[f64; 3]>>,
    pairs: usize,
    last_s: f64,
    /// Of so many flows one is drawn.
    every: usize,
}

impl Drawn {
    fn of(grouped: &Grouped<'_>) -> Drawn {
        let records = grouped.records;
        let mut pairs: Vec<_> = records.flows.iter().map(|flow| (flow.src, flow.dst)).collect();
        pairs.sort_unstable();
        pairs.dedup();
        let zero_s = records.flows.first().map_or(0.0, |flow| flow.start_s);
        let every = records.flows.len().div_ceil(MAX_FLOWS).max(1);
        let mut by_group = BTreeMap::<u32, Vec<[f64; 3]>>::new();
        let mut last_s = 0.0_f64;
        for place in (0..records.flows.len()).step_by(every) {
            let (flow, hidden) = (&records.flows[place], &records.hidden[place]);
            let pair = pairs.partition_point(|pair| *pair < (flow.src, flow.dst));
            let start_s = flow.start_s - zero_s;
            let end_s = hidden.end_s.map_or(start_s, |end_s| end_s - zero_s);
            last_s = last_s.max(end_s);
            by_group.entry(grouped.group_of[place]).or_default().push([
                start_s,
                end_s,
                pair as f64,
            ]);
        }
        Drawn { by_group, pairs: pairs.len(), last_s, every }
    }
}

fn picture(grouped: &Grouped<'_>) -> Markup {
    let drawn = Drawn::of(grouped);
    let pairs = LinearAxis::covering([drawn.pairs.saturating_sub(1) as f64], [BOTTOM, TOP]);
    let time = LinearAxis::covering([drawn.last_s], [left(&pairs), RIGHT]);
    let inside = html! {
        @for (group, flows) in &drawn.by_group {
            path class={ "curve c" (*group as usize % COLOURS.len()) } stroke-linecap="round" d=(lines(flows, &time, &pairs)) {
                title { (name(grouped, *group)) }
            }
        }
    };
    let frame = Frame {
        title: "Flows over time, by host pair, coloured by group",
        name: None,
        x: ("seconds after the first start", &time),
        y: ("host pair, by source, then destination", &pairs),
    };
    html! {
        figure {
            h2 { "Flows over time" }
            (frame.draw(inside))
            figcaption {
                "How to read: each mark is a flow, from its start to its end. A flow of unknown end is a dot. Flows of one "
                "group have one colour; groups that follow each other have different ones. "
                @if drawn.every > 1 {
                    "One of " (count(drawn.every)) " flows is drawn, in order of start; "
                    (counted(grouped.groups.len() - drawn.by_group.len(), "group")) " of few flows may not be seen. "
                }
                "There are " (counted(drawn.pairs, "host pair")) "."
            }
        }
    }
}

/// A group in words.
fn name(grouped: &Grouped<'_>, group: u32) -> String {
    let it = &grouped.groups[group as usize];
    format!("group {group}: {}, {}", counted(it.flows as usize, "flow"), bytes(it.bytes))
}

/// A horizontal line for each flow.
fn lines(flows: &[[f64; 3]], time: &dyn Axis, pairs: &dyn Axis) -> String {
    let mut path = String::new();
    for [start_s, end_s, pair] in flows {
        let (from, to) = (rounded(time.at(*start_s)), rounded(time.at(*end_s)));
        // Writing to a string cannot fail. The round ends of a line of no length make a dot.
        let _ = write!(path, "M{from} {}H{to}", rounded(pairs.at(*pair)));
    }
    path
}

fn largest(identification: &Identification) -> Markup {
    html! {
        section id="groups" {
            h2 { "Largest groups" }
            div class="scroll" role="region" tabindex="0" aria-label="Largest groups" {
                table {
                    thead { tr { th scope="col" { "group" } @for heading in HEADINGS { th scope="col" { (heading) } } } }
                    tbody {
                        @for row in identification.top() {
                            tr {
                                th scope="row" { (row.group) }
                                @for cell in &row.cells { td { (cell) } }
                            }
                        }
                    }
                }
            }
            p class="note" {
                @if let Some(more) = identification.more() { (more) ". " }
                @if let Some(clock) = identification.clock() { (clock) " " }
                "Bytes are those of flows whose bytes are known."
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use covey_trace::records::read;

    #[test]
    fn of_many_flows_every_so_manieth_is_drawn_and_the_page_says_so() {
        let flows = 2 * MAX_FLOWS + 1;
        let rows: String =
            (0..flows).map(|k| format!("{k},a,b,{},2,6,8,{},\n", 1 + k, k + 1)).collect();
        let text = format!("start_s,src,dst,sport,dport,proto,bytes,end_s,label\n{rows}");
        let records = read(text.as_bytes(), "f", None).expect("records");
        let grouped = Grouped::new(&records, (0..flows as u32).map(|k| k / 4).collect());
        let drawn = Drawn::of(&grouped);
        assert_eq!((drawn.every, drawn.pairs, drawn.last_s), (3, 1, (flows - 1) as f64));
        assert_eq!(drawn.by_group.values().map(Vec::len).sum::<usize>(), flows.div_ceil(3));
        assert_eq!(drawn.by_group[&0], [[0.0, 1.0, 0.0], [3.0, 4.0, 0.0]]);
        let page = picture(&grouped).into_string();
        assert!(page.contains("One of 3 flows is drawn"), "{page}");
    }

    #[test]
    fn no_flows_are_a_picture_too() {
        let records = covey_trace::records::Records::default();
        let page = picture(&Grouped::new(&records, Vec::new())).into_string();
        assert!(page.contains("There are 0 host pairs."), "{page}");
    }
}
