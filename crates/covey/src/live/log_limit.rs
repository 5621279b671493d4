//! A log that outside input cannot flood: of each kind of line one in a minute, then how many more
//! there were.
//!
//! Lines are of one kind if they come from one place of the program and say the same of the same
//! port, for the same reason. Coflows, sessions and addresses, of which outside input can name ever
//! new ones, make no kind. Lines below the level `info` are not limited: who asks for them wants
//! them all. Refusals have limits of their own.

use std::collections::HashMap;
use std::fmt::{Debug, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tracing::callsite::Identifier;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;

/// The time in which there is one line of a kind.
const EACH: Duration = Duration::from_secs(60);

/// The time between two looks whether lines that were left out are to be counted.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Kinds that are told apart by their texts. Of more, all lines of one place are of one kind.
const MAX_KINDS: usize = 100;

/// The fields that make a kind, beside the text.
const FIELDS: [&str; 4] = ["port", "error", "refusal", "why"];

/// What writes a line that is no kind of its own: the counts.
const COUNTS: &str = "covey::log_limit";

/// What has a limit of its own.
const REFUSALS: &str = "covey_door";

/// A kind of lines of which one has been written.
#[derive(Debug)]
struct Kind {
    level: Level,
    /// When it was written.
    at: Instant,
    /// Lines that were not.
    left_out: u64,
}

/// The kinds of lines of the last minute, by place and text.
#[derive(Debug, Default)]
struct Kinds(HashMap<(Identifier, String), Kind>);

impl Kinds {
    /// Whether a line is written.
    fn take(&mut self, place: Identifier, text: String, level: Level, now: Instant) -> bool {
        let text = if self.0.len() < MAX_KINDS { text } else { String::new() };
        if let Some(kind) = self.0.get_mut(&(place.clone(), text.clone())) {
            kind.left_out += 1;
            return false;
        }
        self.0.insert((place, text), Kind { level, at: now, left_out: 0 });
        true
    }

    /// Kinds whose minute is over. Returns their texts and how many lines were left out, by text.
    fn sweep(&mut self, now: Instant) -> Vec<(String, Level, u64)> {
        let mut over = Vec::new();
        self.0.retain(|(_, text), kind| {
            let is_over = now.duration_since(kind.at) >= EACH;
            if is_over && kind.left_out > 0 {
                over.push((text.clone(), kind.level, kind.left_out));
            }
            !is_over
        });
        over.sort_unstable();
        over
    }
}

/// Leaves lines out of a log.
#[derive(Debug, Clone, Default)]
pub struct LogLimit(Arc<Mutex<Kinds>>);

impl LogLimit {
    /// Says now and then what was left out, for as long as the process runs.
    pub fn count(&self) {
        let kinds = self.0.clone();
        // Without the thread lines are left out all the same.
        let _ = std::thread::Builder::new().name("log".to_owned()).spawn(move || {
            loop {
                std::thread::sleep(LOOK_EVERY);
                let over =
                    kinds.lock().unwrap_or_else(PoisonError::into_inner).sweep(Instant::now());
                for (like, level, count) in over {
                    let text = format_args!("{count} more of this kind in the last minute");
                    match level {
                        Level::ERROR => tracing::error!(target: COUNTS, like, "{text}"),
                        Level::WARN => tracing::warn!(target: COUNTS, like, "{text}"),
                        _ => tracing::info!(target: COUNTS, like, "{text}"),
                    }
                }
            }
        });
    }
}

/// What makes a line's kind: its text and some of its fields.
#[derive(Default)]
struct Text(String);

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        // Writing to a string cannot fail.
        let _ = match field.name() {
            "message" => write!(self.0, "{value:?}"),
            name if FIELDS.contains(&name) => write!(self.0, " {name}={value:?}"),
            _ => Ok(()),
        };
    }
}

impl<S: Subscriber> Layer<S> for LogLimit {
    fn event_enabled(&self, event: &Event<'_>, _: Context<'_, S>) -> bool {
        let about = event.metadata();
        let is_free = [COUNTS, REFUSALS].iter().any(|target| about.target().starts_with(target));
        if is_free || *about.level() > Level::INFO {
            return true;
        }
        let mut text = Text::default();
        event.record(&mut text);
        let mut kinds = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kinds.take(about.callsite(), text.0, *about.level(), Instant::now())
    }
}

#[cfg(test)]
mod tests {
    use tracing_subscriber::layer::SubscriberExt;

    use super::*;

    /// Counts lines.
    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<String>>>);

    impl<S: Subscriber> Layer<S> for Lines {
        fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
            let mut text = Text::default();
            event.record(&mut text);
            self.0.lock().expect("lines").push(text.0);
        }
    }

    #[test]
    fn a_flood_is_one_line_of_each_kind_and_a_count() {
        let (limit, lines) = (LogLimit::default(), Lines::default());
        let subscriber = tracing_subscriber::registry().with(lines.clone()).with(limit.clone());
        tracing::subscriber::with_default(subscriber, || {
            for coflow in 0..60_012 {
                tracing::warn!(port = 1, session = coflow, "agent lost");
                tracing::info!(coflow, "goes on");
                tracing::debug!(coflow, "joined");
            }
            tracing::warn!(port = 2, "agent lost");
            for file in ["tokens", "certificates"] {
                tracing::info!("read again: {file}");
            }
        });
        let lines = lines.0.lock().expect("lines");
        let count = |text: &str| lines.iter().filter(|line| *line == text).count();
        let counts = ["agent lost port=1", "agent lost port=2", "goes on", "joined"].map(count);
        assert_eq!(counts, [1, 1, 1, 60_012]);
        assert_eq!((count("read again: tokens"), count("read again: certificates")), (1, 1));
        let mut kinds = limit.0.lock().expect("kinds");
        let now = Instant::now();
        assert!(kinds.sweep(now).is_empty());
        let over = kinds.sweep(now + EACH);
        let counts = |it: &(String, Level, u64)| (it.0.clone(), it.2);
        let expected = [("agent lost port=1".to_owned(), 60_011), ("goes on".to_owned(), 60_011)];
        assert_eq!(over.iter().map(counts).collect::<Vec<_>>(), expected);
        assert!(kinds.0.is_empty(), "another one is written in the next minute");
    }

    #[test]
    fn texts_that_are_all_different_take_bounded_memory() {
        let limit = LogLimit::default();
        let subscriber = tracing_subscriber::registry().with(limit.clone());
        tracing::subscriber::with_default(subscriber, || {
            (0..100_000).for_each(|k| tracing::info!("number {k}"));
        });
        let kinds = limit.0.lock().expect("kinds");
        assert_eq!(kinds.0.len(), MAX_KINDS + 1);
        assert_eq!(
            kinds.0.values().map(|kind| kind.left_out).sum::<u64>(),
            100_000 - (MAX_KINDS as u64 + 1)
        );
    }
}
