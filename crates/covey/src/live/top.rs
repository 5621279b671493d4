//! `covey top`: the state of a coordinator, on a terminal, as it changes.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use clap::Args;
use crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

use crate::failure::Failure;
use crate::live::overview::{Amount, Facts, Order, Source, duration, lines};
use crate::live::process::{self, CLIENTS, Shown};
use crate::live::screen::Screen;
use crate::live::settings::ONCE;
use crate::output;
use crate::quantity;

/// Watch the coflows, agents and relays of a coordinator on a terminal
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  covey top
  covey top --coordinator 10.0.0.1:7420 --credentials covey-client --every 5s
  covey top --once --sort rate
Keys: q ends, s sorts by something else. If the coordinator goes away, the page says since when, and goes
on when it is back.")]
pub struct Top {
    /// Address of the coordinator for clients
    #[arg(long, value_name = "ADDRESS", default_value = CLIENTS)]
    coordinator: String,
    #[command(flatten)]
    shown: Shown,
    /// Time between two questions to the coordinator
    #[arg(long, value_name = "TIME", default_value = "1s")]
    every: String,
    /// What coflows are sorted by
    #[arg(long, value_enum, ignore_case = true, default_value_t = Order::Trouble)]
    sort: Order,
    /// Print the page once, and end
    #[arg(long, help_heading = ONCE)]
    once: bool,
}

/// The most coflows and agents that are looked at.
const MAX_ITEMS: usize = 2000;

/// The most agents and relays on a page.
const AGENTS: usize = 10;

/// An answer of the coordinator, or why there is none.
type Answer = Result<Facts, String>;

impl Top {
    /// Runs the command.
    pub fn run(self) -> Result<(), Failure> {
        let every_s = quantity::time_within("--every", &self.every, ["100ms", "60min"])?;
        let source = Source::of(&self.coordinator, self.shown)?;
        let runtime = process::runtime_here()?;
        if self.once {
            let facts = runtime.block_on(source.ask(MAX_ITEMS)).map_err(Failure::Other)?;
            let amount = Amount { coflows: MAX_ITEMS, agents: AGENTS, troubled_agents: true };
            return output::print(|out| {
                lines(&facts, self.sort, amount).iter().try_for_each(|line| writeln!(out, "{line}"))
            });
        }
        if !(std::io::stdin().is_terminal() && std::io::stdout().is_terminal()) {
            let message = "standard input or output is no terminal: expected --once";
            return Err(Failure::Input(message.to_owned()));
        }
        let screen = Screen::enter().map_err(|error| terminal(&error))?;
        runtime.block_on(watch(source, Duration::from_secs_f64(every_s), self.sort, &screen))
    }
}

fn terminal(error: &std::io::Error) -> Failure {
    Failure::Other(format!("terminal: {error}"))
}

/// Shows pages until the user has seen enough.
async fn watch(
    source: Source,
    every: Duration,
    mut order: Order,
    screen: &Screen,
) -> Result<(), Failure> {
    let (to_page, mut answers) = mpsc::channel::<Answer>(1);
    tokio::spawn(async move {
        loop {
            let answer = source.ask(MAX_ITEMS).await;
            if to_page.send(answer).await.is_err() {
                return;
            }
            tokio::time::sleep(every).await;
        }
    });
    let mut events = events();
    let mut page = Page::default();
    // Redrawn each second, for the time since an answer.
    let mut second = tokio::time::interval(Duration::from_secs(1));
    let mut end = std::pin::pin!(process::asked_to_end());
    let mut hangup = signal(SignalKind::hangup()).map_err(|error| terminal(&error))?;
    loop {
        tokio::select! {
            Some(answer) = answers.recv() => page.take(answer),
            event = events.recv() => match event {
                // The terminal has gone.
                None => return Ok(()),
                Some(Event::Key(key)) if is_end(key) => return Ok(()),
                Some(Event::Key(key)) if key.code == KeyCode::Char('s') => order = order.next(),
                Some(_) => {}
            },
            _ = second.tick() => {}
            () = &mut end => return Ok(()),
            _ = hangup.recv() => return Ok(()),
        }
        let (columns, rows) = screen.size();
        let lines = page.lines(order, rows);
        screen.draw(&lines, columns, rows).map_err(|error| terminal(&error))?;
    }
}

/// Whether a key ends the command.
fn is_end(key: KeyEvent) -> bool {
    let interrupts = key.modifiers.contains(KeyModifiers::CONTROL);
    key.kind != KeyEventKind::Release
        && match key.code {
            KeyCode::Char('q') | KeyCode::Esc => true,
            KeyCode::Char('c' | 'd') => interrupts,
            _ => false,
        }
}

/// What the user does at the terminal.
fn events() -> mpsc::Receiver<Event> {
    let (sender, receiver) = mpsc::channel(16);
    // It waits in a read of the terminal, and ends with the process.
    std::thread::spawn(move || {
        while let Ok(event) = crossterm::event::read() {
            if sender.blocking_send(event).is_err() {
                return;
            }
        }
    });
    receiver
}

/// What is known, and how old it is.
#[derive(Default)]
struct Page {
    facts: Option<(Facts, Instant)>,
    /// Why the last question had no answer.
    problem: Option<String>,
}

impl Page {
    fn take(&mut self, answer: Answer) {
        match answer {
            Ok(facts) => *self = Page { facts: Some((facts, Instant::now())), problem: None },
            Err(problem) => self.problem = Some(problem),
        }
    }

    /// The lines for a screen of so many rows.
    fn lines(&self, order: Order, rows: usize) -> Vec<String> {
        let keys =
            format!("q: end   s: sorted by {}, sort by {}", order.name(), order.next().name());
        let mut all = vec![match (&self.problem, &self.facts) {
            (None, None) => "waits for the coordinator".to_owned(),
            (None, Some(_)) => keys,
            (Some(problem), None) => format!("no answer: {problem}"),
            (Some(problem), Some((_, at))) => {
                let age = duration(at.elapsed().as_secs_f64());
                format!("no answer, and this is {age} old: {problem}")
            }
        }];
        if let Some((facts, _)) = &self.facts {
            // Heads, agents and relays need some lines; coflows have the rest.
            let agents = AGENTS.min(rows / 4);
            let shown = |items: usize| agents.min(items);
            let relays = match shown(facts.relays.items.len()) {
                0 => 0,
                // A list of them has a title, a head and an end.
                relays => relays + 3,
            };
            let others = 9 + shown(facts.agents.items.len()) + relays;
            let coflows = rows.saturating_sub(others).max(3);
            let amount = Amount { coflows, agents, troubled_agents: true };
            all.extend(lines(facts, order, amount));
        }
        all
    }
}
