//! The page of a what-if: the answer, the logs, stages and links over time, and times of jobs by
//! link rate.

use maud::{Markup, html};

use super::axis::{Axis, LinearAxis};
use super::document::{document, repeat};
use super::frame::{
    BOTTOM, EDGE, Frame, LINE, RIGHT, TOP, WIDTH, left, lines, rounded, vertical_grid, x_title,
};
use crate::palette::COLOURS;
use crate::units::{bytes, fixed};
use crate::whatif::{LinkUse, WhatIf};

/// Stages that are drawn at most.
const MAX_STAGES: usize = 400;
/// Hosts whose links are drawn at most.
const MAX_HOSTS: usize = 24;
/// Height of a direction of a link that is in full use.
const FULL: f64 = 16.0;

/// A self-contained HTML page about a what-if, and `command`, the command line that repeats it.
pub fn whatif_page(whatif: &WhatIf, command: &str) -> String {
    let title = match whatif.logs.as_slice() {
        [log] => format!("What would {} gain?", log.file),
        logs => format!("What would {} applications gain?", logs.len()),
    };
    let header = html! {
        header {
            h1 { (title) }
            @if let Some(method) = whatif.method() { p { (method) } }
            p class="lead" { (whatif.answer) }
        }
    };
    let (log_headings, log_rows) = whatif.log_table();
    let (headings, rows) = whatif.replay_table();
    let main = html! {
        section id="logs" {
            h2 { "Logs" }
            (table("Logs", &log_headings, &log_rows))
            @for log in whatif.logs.iter().filter(|log| !log.reason.is_empty()) {
                p class="note" { (log.judgement()) }
            }
        }
        @if !rows.is_empty() {
            div class="pair" {
                @if !whatif.timeline.is_empty() { (timeline(whatif)) }
                @if !whatif.links.is_empty() { (links(&whatif.links)) }
                (by_link_rate(whatif))
            }
            section id="replays" {
                h2 { "Times of jobs" }
                (table("Times of jobs", &headings, &rows))
                @for note in &whatif.notes { p class="note" { (note) } }
            }
        }
        (repeat(command, None))
    };
    document(&title, header, main)
}

fn table<const N: usize>(name: &str, headings: &[[&str; 2]; N], rows: &[[String; N]]) -> Markup {
    html! {
        div class="scroll" role="region" tabindex="0" aria-label=(name) {
            table {
                thead { tr { @for [first, second] in headings { th scope="col" { (first) br; span { (second) } } } } }
                tbody {
                    @for row in rows {
                        tr {
                            @for (column, cell) in row.iter().enumerate() {
                                @if column == 0 { th scope="row" { (cell) } } @else { td { (cell) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Stages over time: a line for each, thick where it receives bytes from other hosts.
fn timeline(whatif: &WhatIf) -> Markup {
    let drawn = &whatif.timeline[..whatif.timeline.len().min(MAX_STAGES)];
    let stages = LinearAxis::covering([drawn.len().saturating_sub(1) as f64], [TOP, BOTTOM]);
    let last_s = drawn.iter().map(|bar| bar.end_s).fold(0.0, f64::max);
    let time = LinearAxis::covering([last_s], [left(&stages), RIGHT]);
    let inside = html! {
        @for (place, bar) in drawn.iter().enumerate() {
            @let y = rounded(stages.at(place as f64));
            path class={ "curve c" (bar.application % COLOURS.len()) }
                style=(if bar.remote > 0 { "stroke-width:6" } else { "stroke-width:1.5" })
                d={ "M" (rounded(time.at(bar.start_s))) " " (y) "H" (rounded(time.at(bar.end_s))) } {
                title { (bar.name) ": " (bytes(bar.remote as f64)) " from other hosts" }
            }
        }
    };
    let frame = Frame {
        title: "Stages over time, coloured by application",
        name: None,
        x: ("seconds after the first start", &time),
        y: ("stage, in order of submission", &stages),
    };
    html! {
        figure {
            h2 { "Stages over time" }
            (frame.draw(inside))
            figcaption {
                "How to read: each line is a stage, replayed at the first link rate without scheduling; thick ones receive "
                "bytes from other hosts. Each application has a colour."
                @if drawn.len() < whatif.timeline.len() { " The first " (drawn.len()) " stages are drawn." }
            }
        }
    }
}

/// The use of links over time: a line for each host, with what it sends above and what it receives
/// below.
fn links(all: &[LinkUse]) -> Markup {
    let mut order: Vec<usize> = (0..all.len()).collect();
    order.sort_by(|&a, &b| all[b].busy().total_cmp(&all[a].busy()));
    order.truncate(MAX_HOSTS);
    order.sort_unstable();
    let last_s =
        all.iter().map(|link| link.interval_s * link.sent.len() as f64).fold(0.0, f64::max);
    let time = LinearAxis::covering([last_s], [EDGE, RIGHT]);
    let each = LINE + 2.0 * FULL + 6.0;
    let bottom = TOP + each * order.len() as f64;
    html! {
        figure {
            h2 { "Links over time" }
            svg class="plot" viewBox={ "0 0 " (WIDTH) " " (bottom + 70.0) } role="img"
                aria-label="The share of each host's link in use over time" {
                (vertical_grid(&time, TOP, bottom))
                (x_title("seconds after the first start", bottom))
                @for (place, link) in order.iter().map(|&index| &all[index]).enumerate() {
                    @let middle = TOP + each * place as f64 + LINE + FULL;
                    line class="grid major" x1=(EDGE) x2=(RIGHT) y1=(middle) y2=(middle) {}
                    (area(link, &link.sent, &time, middle, -FULL))
                    (area(link, &link.received, &time, middle, FULL))
                    text x=(EDGE) y=(rounded(middle - FULL - 6.0)) {
                        (lines(&link.host, 24)[0]) ": " (fixed(100.0 * link.busy(), 1)) " % in use"
                    }
                }
            }
            figcaption {
                "How to read: in the same replay, the line of each host is thick where its link is in use: above, what it "
                "sends; below, what it receives. The number is the mean of the busier direction."
                @if order.len() < all.len() { " The " (order.len()) " busiest of " (all.len()) " hosts are drawn." }
            }
        }
    }
}

/// One direction of a link: as high as the share that is in use.
fn area(link: &LinkUse, shares: &[f64], time: &LinearAxis, middle: f64, full: f64) -> Markup {
    let mut path = String::new();
    let mut last = 0.0;
    for (interval, &share) in shares.iter().chain([&0.0]).enumerate() {
        let height = rounded(full * share);
        if height != last {
            let x = rounded(time.at(interval as f64 * link.interval_s));
            let start =
                if path.is_empty() { format!("M{x} {}", rounded(middle)) } else { format!("H{x}") };
            path += &format!("{start}V{}", rounded(middle + height));
            last = height;
        }
    }
    let colour = if full < 0.0 { 0 } else { 1 };
    html! { @if !path.is_empty() { path class={ "bar c" (colour) } d={ (path) "Z" } {} } }
}

/// The mean time of a job by policy and link rate: from the least to the most.
fn by_link_rate(whatif: &WhatIf) -> Markup {
    let most = whatif.replays.iter().map(|replay| replay.job_s[1]);
    let time = LinearAxis::covering(most, [230.0, RIGHT]);
    let height = TOP + LINE * whatif.replays.len() as f64;
    let (_, rows) = whatif.replay_table();
    html! {
        figure {
            h2 { "Mean time of a job" }
            svg class="plot" viewBox={ "0 0 " (WIDTH) " " (height + 70.0) } role="img"
                aria-label="The mean time of a job by link rate, codec and policy" {
                (vertical_grid(&time, TOP, height))
                (x_title("seconds, from the least to the most", height))
                @for (place, (replay, row)) in whatif.replays.iter().zip(&rows).enumerate() {
                    @let y = rounded(TOP + LINE * (place as f64 + 0.5));
                    text x="0" y=(y) dy="0.35em" { (row[0]) ", " (row[1]) ", " (row[2]) }
                    path class={ "curve c" (place % COLOURS.len()) } style="stroke-width:8"
                        d={ "M" (rounded(time.at(replay.job_s[0]) - 1.0)) " " (y) "H" (rounded(time.at(replay.job_s[1]) + 1.0)) } {}
                }
            }
            figcaption { "How to read: each bar is one row of the table below." }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::whatif::{Bar, LinkUse, LogSums, Replay};

    #[test]
    fn the_page_has_the_answer_and_each_row() {
        let whatif = WhatIf {
            logs: vec![LogSums {
                file: "<a>".to_owned(),
                reason: "why".to_owned(),
                ..LogSums::default()
            }],
            applications: 1,
            replays: vec![Replay {
                policy: "fair".to_owned(),
                job_s: [1.0, 2.0],
                ..Replay::default()
            }],
            timeline: vec![Bar { end_s: 3.0, remote: 5, ..Bar::default() }],
            links: vec![LinkUse {
                host: "h<1".to_owned(),
                interval_s: 1.0,
                sent: vec![0.0, 1.0, 1.0],
                received: vec![0.0, 0.0, 0.0],
            }],
            answer: "About nothing.".to_owned(),
            ..WhatIf::default()
        };
        let page = whatif_page(&whatif, "covey whatif a");
        for part in [
            "What would &lt;a&gt; gain?",
            "About nothing.",
            "1.00 to 2.00",
            "5 bytes from other hosts",
            "h&lt;1: 66.7 % in use",
        ] {
            assert!(page.contains(part), "{part}: {page}");
        }
    }
}
