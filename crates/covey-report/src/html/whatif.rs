//! The page of a what-if: the answer, the logs, stages over time, and times of jobs by link rate.

use maud::{Markup, html};

use super::axis::{Axis, LinearAxis};
use super::document::{document, repeat};
use super::frame::{BOTTOM, Frame, LINE, RIGHT, TOP, WIDTH, left, rounded};
use crate::palette::COLOURS;
use crate::units::bytes;
use crate::whatif::WhatIf;

/// Stages that are drawn at most.
const MAX_STAGES: usize = 400;

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
                (by_link_rate(whatif))
            }
            section id="replays" {
                h2 { "Times of jobs" }
                (table("Times of jobs", &headings, &rows))
                @for note in &whatif.notes { p class="note" { (note) } }
            }
        }
        (repeat(command))
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
                (super::frame::vertical_grid(&time, TOP, height))
                (super::frame::x_title("seconds, from the least to the most", height))
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
    use crate::whatif::{Bar, LogSums, Replay};

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
            answer: "About nothing.".to_owned(),
            ..WhatIf::default()
        };
        let page = whatif_page(&whatif, "covey whatif a");
        for part in [
            "What would &lt;a&gt; gain?",
            "About nothing.",
            "1.00 to 2.00",
            "5 bytes from other hosts",
        ] {
            assert!(page.contains(part), "{part}: {page}");
        }
    }
}
