//! Reads and runs the scenarios; `scenarios/README.md` describes their language.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::path::Path;

use crate::common::{ccts, flow, policy, served};
use covey_core::Fabric;
use covey_sim::{Observer, Round, Simulator};
use covey_trace::results::Outcome;
use covey_trace::{Availability, Change, Coflow, Flow, Restart, Workload};

/// A scenario as written.
#[derive(Default)]
struct Scenario {
    rate: f64,
    pipelined: bool,
    workload: Workload,
    processors: Vec<Change>,
    acts: Vec<Act>,
}

/// One policy, and the claims for it.
struct Act {
    policy: String,
    claims: Vec<(usize, Claim)>,
}

/// The claim of a line.
#[derive(Debug)]
enum Claim {
    /// At a time, some flows of a coflow are served at a rate.
    Served(f64, Target, f64),
    /// At a time, this many flows of a coflow are served.
    Flows(f64, usize, usize),
    /// At a time, a coflow has ended, or not.
    Ended(f64, usize, bool),
    /// The time at which a coflow ends.
    Ends(usize, f64),
    Ccts(Vec<f64>),
    MeanCct(f64),
    MeanFct(f64),
    /// Bytes that compression saves each coflow.
    Saved(Vec<f64>),
}

/// Flows of a coflow: all, or those between some ports.
#[derive(Debug)]
struct Target {
    coflow: usize,
    pairs: Option<Vec<(u32, u32)>>,
}

// Reading.

/// The words of a line that have not been parsed yet.
struct Words<'a>(Vec<&'a str>);

impl<'a> Words<'a> {
    fn of(line: &'a str) -> Words<'a> {
        let text = line.split('#').next().unwrap_or_default();
        // A comma is a word of its own, except inside a policy's parameters.
        let words = text.split_whitespace().flat_map(|word| match word.strip_suffix(',') {
            Some(word) => vec![word, ","],
            None => vec![word],
        });
        let mut words: Vec<&str> = words.collect();
        words.reverse();
        Words(words)
    }

    fn accept(&mut self, word: &str) -> bool {
        let accepted = self.0.last() == Some(&word);
        if accepted {
            self.0.pop();
        }
        accepted
    }

    fn need(&mut self, word: &str) -> Result<(), String> {
        let found = self.0.last().copied();
        if self.accept(word) {
            Ok(())
        } else {
            Err(format!("expected '{word}', found {}", found.unwrap_or("the end of the line")))
        }
    }

    fn word(&mut self) -> Result<&'a str, String> {
        self.0.pop().ok_or_else(|| "the line ends too early".to_owned())
    }

    fn number(&mut self) -> Result<f64, String> {
        let word = self.word()?;
        let (above, below) = word.split_once('/').unwrap_or((word, "1"));
        match (above.parse::<f64>(), below.parse::<f64>()) {
            (Ok(above), Ok(below)) => Ok(above / below),
            _ => Err(format!("expected a number, found '{word}'")),
        }
    }

    /// A port or a range of them.
    fn ports(&mut self, network: u32) -> Result<Vec<u32>, String> {
        let word = self.word()?;
        let (first, last) = word.split_once('-').unwrap_or((word, word));
        match (first.parse(), last.parse()) {
            (Ok(first), Ok(last)) if first <= last && last < network => {
                Ok((first..=last).collect())
            }
            _ => Err(format!("expected ports below {network}, found '{word}'")),
        }
    }

    /// `from 0-3 to 5` or `on 0-3`, if the line goes on with it.
    fn pairs(&mut self, network: u32) -> Result<Option<Vec<(u32, u32)>>, String> {
        if self.accept("on") {
            Ok(Some(self.ports(network)?.into_iter().map(|port| (port, port)).collect()))
        } else if self.accept("from") {
            let sources = self.ports(network)?;
            self.need("to")?;
            let destinations = self.ports(network)?;
            let from = |&src: &u32| destinations.iter().map(move |&dst| (src, dst));
            Ok(Some(sources.iter().flat_map(from).collect()))
        } else {
            Ok(None)
        }
    }

    /// A list with commas between its items.
    fn list<T>(
        &mut self,
        mut item: impl FnMut(&mut Words<'a>) -> Result<T, String>,
    ) -> Result<Vec<T>, String> {
        let mut items = vec![item(self)?];
        while self.accept(",") {
            items.push(item(self)?);
        }
        Ok(items)
    }

    fn end(&self) -> Result<(), String> {
        match self.0.last() {
            Some(word) => Err(format!("does not understand '{word}'")),
            None => Ok(()),
        }
    }
}

impl Scenario {
    fn read(text: &str) -> Result<Scenario, String> {
        let mut scenario = Scenario::default();
        for (number, line) in text.lines().enumerate() {
            let mut words = Words::of(line);
            let done = scenario.line(number + 1, &mut words).and_then(|()| words.end());
            done.map_err(|error| format!("line {}: {error}", number + 1))?;
        }
        let claims = |act: &Act| !act.claims.is_empty();
        if scenario.acts.is_empty() || !scenario.acts.iter().all(claims) {
            return Err("a scenario has policies, and each has something to expect".to_owned());
        }
        Ok(scenario)
    }

    fn line(&mut self, number: usize, words: &mut Words<'_>) -> Result<(), String> {
        if words.0.is_empty() {
            return Ok(());
        }
        if words.accept("ports") {
            self.workload.ports = words.number()? as u32;
            words.need(",")?;
            words.need("rate")?;
            self.rate = words.number()?;
        } else if words.accept("stages") {
            words.need("are")?;
            words.need("pipelined")?;
            self.pipelined = true;
        } else if words.accept("processors") {
            let changes = words.list(|words| {
                let share = words.number()?;
                words.need("from")?;
                Ok(Change { time_s: words.number()?, port: None, share })
            })?;
            self.processors.extend(changes);
        } else if words.accept("policy") {
            let policy = words.word()?.to_owned();
            self.acts.push(Act { policy, claims: Vec::new() });
        } else if words.accept("and") {
            let (flows, restarts) = self.flows(words)?;
            let last = self.workload.coflows.last_mut();
            let last = last.ok_or("there is no coflow to add flows to")?;
            let before = last.flows.len() as u32;
            last.flows.extend(flows);
            last.restarts.extend(restarts.iter().map(|r| Restart { flow: r.flow + before, ..*r }));
        } else if words.accept("at") {
            let time = words.number()?;
            if words.accept("coflow") {
                self.coflow(time, words)?;
            } else {
                self.claims_at(number, time, words)?;
            }
        } else if words.accept("expect") {
            let claims = self.outcome(words)?;
            self.claim(number, claims)?;
        } else {
            words.end()?;
        }
        Ok(())
    }

    fn coflow(&mut self, arrival_s: f64, words: &mut Words<'_>) -> Result<(), String> {
        if !self.acts.is_empty() {
            return Err("coflows come before the first policy".to_owned());
        }
        let name = words.word()?.to_owned();
        let mut parents = Vec::new();
        if words.accept(",") {
            words.need("child")?;
            words.need("of")?;
            parents.push(self.name(words)? as u32);
            while words.accept("and") {
                parents.push(self.name(words)? as u32);
            }
            words.need(",")?;
        }
        words.need("sends")?;
        let (flows, restarts) = self.flows(words)?;
        let deadline_s = words.accept("within").then(|| words.number()).transpose()?;
        let coflow =
            Coflow { parents, restarts, deadline_s, ..Coflow::new(name, arrival_s, flows) };
        self.workload.coflows.push(coflow);
        Ok(())
    }

    fn flows(&self, words: &mut Words<'_>) -> Result<(Vec<Flow>, Vec<Restart>), String> {
        let lists = words.list(|words| {
            let mut bytes = words.number()?;
            let mut times = 1.0;
            if words.accept("times") {
                (times, bytes) = (bytes, words.number()?);
            }
            let pairs = words.pairs(self.workload.ports)?.ok_or("expected 'on' or 'from'")?;
            let start_s = if words.accept("after") { words.number()? } else { 0.0 };
            let restart = if words.accept("again") {
                words.need("after")?;
                Some(words.number()?)
            } else {
                None
            };
            let flows = pairs.into_iter().flat_map(|(src, dst)| {
                std::iter::repeat_n(Flow { start_s, ..flow(src, dst, bytes) }, times as usize)
            });
            Ok(flows.map(|flow| (flow, restart)).collect::<Vec<_>>())
        })?;
        let (flows, restarts): (Vec<_>, Vec<_>) = lists.concat().into_iter().unzip();
        let restarts = (0..).zip(restarts);
        let restarts = restarts.filter_map(|(flow, at_s)| Some(Restart { flow, at_s: at_s? }));
        Ok((flows, restarts.collect()))
    }

    /// The index of the coflow that the next word names.
    fn name(&self, words: &mut Words<'_>) -> Result<usize, String> {
        let name = words.word()?;
        let index = self.workload.coflows.iter().position(|coflow| coflow.id == name);
        index.ok_or_else(|| format!("there is no coflow '{name}'"))
    }

    fn claim(&mut self, line: usize, claims: Vec<Claim>) -> Result<(), String> {
        let act = self.acts.last_mut().ok_or("what to expect comes after a policy")?;
        act.claims.extend(claims.into_iter().map(|claim| (line, claim)));
        Ok(())
    }

    fn claims_at(&mut self, line: usize, time: f64, words: &mut Words<'_>) -> Result<(), String> {
        let count = words.0.last().and_then(|word| word.parse().ok());
        let claims = if let Some(count) = count {
            words.word()?;
            words.need(if count == 1 { "flow" } else { "flows" })?;
            words.need("of")?;
            let coflow = self.name(words)?;
            words.need(if count == 1 { "is" } else { "are" })?;
            words.need("served")?;
            vec![Claim::Flows(time, coflow, count)]
        } else if words.0.contains(&"has") {
            let coflow = self.name(words)?;
            words.need("has")?;
            let ended = !words.accept("not");
            words.need("ended")?;
            vec![Claim::Ended(time, coflow, ended)]
        } else {
            let mut first = true;
            words.list(|words| {
                let coflow = self.name(words)?;
                let target = Target { coflow, pairs: words.pairs(self.workload.ports)? };
                if std::mem::take(&mut first) {
                    words.need("is")?;
                    words.need("served")?;
                }
                words.need("at")?;
                Ok(Claim::Served(time, target, words.number()?))
            })?
        };
        self.claim(line, claims)
    }

    fn outcome(&self, words: &mut Words<'_>) -> Result<Vec<Claim>, String> {
        if words.accept("CCTs") {
            let ccts = words.list(Words::number)?;
            if ccts.len() != self.workload.coflows.len() {
                return Err(format!("there are {} coflows", self.workload.coflows.len()));
            }
            return Ok(vec![Claim::Ccts(ccts)]);
        }
        if words.accept("saved") {
            let saved = words.list(Words::number)?;
            if saved.len() != self.workload.coflows.len() {
                return Err(format!("there are {} coflows", self.workload.coflows.len()));
            }
            return Ok(vec![Claim::Saved(saved)]);
        }
        if words.accept("mean") {
            return match words.word()? {
                "CCT" => Ok(vec![Claim::MeanCct(words.number()?)]),
                "FCT" => Ok(vec![Claim::MeanFct(words.number()?)]),
                other => Err(format!("expected CCT or FCT, found '{other}'")),
            };
        }
        let mut first = true;
        words.list(|words| {
            let coflow = self.name(words)?;
            if std::mem::take(&mut first) {
                words.need("ends")?;
            }
            words.need("at")?;
            Ok(Claim::Ends(coflow, words.number()?))
        })
    }
}

// Running.

/// Rates by index of the coflow in the trace and number of the flow.
type Rates = BTreeMap<(usize, usize), f64>;

/// The rates of every round, and its time.
#[derive(Default)]
struct Record(Vec<(f64, Rates)>);

impl Observer for Record {
    fn round(&mut self, round: &Round<'_>) -> ControlFlow<()> {
        let by_flow = served(round)
            .into_iter()
            .map(|flow| ((flow.trace_index, flow.index), flow.rate))
            .collect();
        self.0.push((round.now.as_secs(), by_flow));
        ControlFlow::Continue(())
    }
}

impl Record {
    /// Rates of a coflow's flows just after a time.
    fn rates(&self, time: f64, coflow: usize) -> impl Iterator<Item = (usize, f64)> + '_ {
        let last = self.0.iter().rev().find(|(moment, _)| *moment <= time + 1e-9);
        let of_coflow = last.map(|(_, rates)| rates.range((coflow, 0)..(coflow + 1, 0)));
        of_coflow.into_iter().flatten().map(|(&(_, flow), &rate)| (flow, rate))
    }
}

fn same(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-6 * a.abs().max(b.abs()).max(1.0)
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

impl Claim {
    /// The expected and the actual result, if they differ.
    fn check(&self, workload: &Workload, record: &Record, outcome: &Outcome) -> Option<String> {
        let name = |coflow: usize| &workload.coflows[coflow].id;
        let end = |coflow: usize| outcome.coflows[coflow].completion_s;
        let differ = |what: String, expected: f64, found: f64| {
            let differ = !same(expected, found);
            differ.then(|| format!("{what}: expected {expected}, found {found}"))
        };
        match self {
            Claim::Served(time, target, expected) => {
                let flows = &workload.coflows[target.coflow].flows;
                let is_meant = |index: usize| {
                    let pair = (flows[index].src, flows[index].dst);
                    target.pairs.as_ref().is_none_or(|pairs| pairs.contains(&pair))
                };
                let rates = record.rates(*time, target.coflow).filter(|(flow, _)| is_meant(*flow));
                let what = format!("rate of {} at {time} s", name(target.coflow));
                differ(what, *expected, rates.map(|(_, rate)| rate).sum())
            }
            Claim::Flows(time, coflow, expected) => {
                let served = record.rates(*time, *coflow).filter(|(_, rate)| *rate > 0.0).count();
                let what = format!("flows of {} served at {time} s", name(*coflow));
                differ(what, *expected as f64, served as f64)
            }
            Claim::Ended(time, coflow, expected) => {
                let ended = end(*coflow) <= time + 1e-9;
                let word = if *expected { "an end" } else { "no end" };
                (ended != *expected).then(|| {
                    format!(
                        "{} by {time} s: expected {word}, found an end at {} s",
                        name(*coflow),
                        end(*coflow)
                    )
                })
            }
            Claim::Ends(coflow, expected) => {
                differ(format!("end of {}", name(*coflow)), *expected, end(*coflow))
            }
            Claim::Ccts(expected) => {
                let found = ccts(outcome);
                let all = expected.iter().zip(&found).all(|(a, b)| same(*a, *b));
                (!all).then(|| format!("CCTs: expected {expected:?}, found {found:?}"))
            }
            Claim::Saved(expected) => {
                let all = &outcome.compression;
                let found: Vec<f64> = all.iter().map(|coflow| coflow.saved_bytes).collect();
                let all = expected.len() == found.len()
                    && expected.iter().zip(&found).all(|(a, b)| same(*a, *b));
                (!all).then(|| format!("saved: expected {expected:?}, found {found:?}"))
            }
            Claim::MeanCct(expected) => {
                differ("mean CCT".to_owned(), *expected, mean(&ccts(outcome)))
            }
            Claim::MeanFct(expected) => {
                let flows = outcome.flow_completion_s.iter().zip(&outcome.flow_start_s);
                let fcts: Vec<f64> = flows.map(|(end, start)| end - start).collect();
                differ("mean FCT".to_owned(), *expected, mean(&fcts))
            }
        }
    }
}

/// All failures of a scenario, one line each.
fn failures(file: &str, text: &str) -> String {
    let scenario = match Scenario::read(text) {
        Ok(scenario) => scenario,
        Err(error) => return format!("{file}: {error}\n"),
    };
    let fabric = Fabric::big_switch(scenario.workload.ports, scenario.rate).unwrap();
    let mut failures = String::new();
    for act in &scenario.acts {
        let mut record = Record::default();
        let mut policy = policy(&act.policy);
        let processors = Availability::new(scenario.processors.clone());
        let mut simulator =
            Simulator::new(fabric.clone()).barrier(!scenario.pipelined).with_processors(processors);
        match simulator.run(&scenario.workload, &act.policy, &mut policy, &mut record) {
            Ok(outcome) => {
                for (line, claim) in &act.claims {
                    if let Some(failure) = claim.check(&scenario.workload, &record, &outcome) {
                        let _ = writeln!(failures, "{file}:{line}: {}: {failure}", act.policy);
                    }
                }
            }
            Err(error) => {
                let _ = writeln!(failures, "{file}: {error}");
            }
        }
    }
    failures
}

#[test]
fn every_scenario_holds() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scenarios");
    let mut files: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "txt"));
    files.sort();
    assert!(!files.is_empty());
    let all: String = files
        .iter()
        .map(|path| {
            let name = path.file_name().unwrap().to_string_lossy();
            failures(&name, &std::fs::read_to_string(path).unwrap())
        })
        .collect();
    assert!(all.is_empty(), "\n{all}");
}

#[test]
fn unknown_words_are_errors() {
    let start = "ports 2, rate 1\nat 0 coflow A sends 1 on 0\npolicy fifo\n";
    let error = |line: &str| failures("x.txt", &format!("{start}{line}\n"));
    assert_eq!(error("expect A ends at 1"), "");
    assert_eq!(error("hope A ends at 1"), "x.txt: line 4: does not understand 'hope'\n");
    assert_eq!(error("expect B ends at 1"), "x.txt: line 4: there is no coflow 'B'\n");
    assert_eq!(error("expect A ends at one"), "x.txt: line 4: expected a number, found 'one'\n");
    assert_eq!(error("expect A ends at 1 s"), "x.txt: line 4: does not understand 's'\n");
    assert_eq!(
        error("at 0 A from 0 to 2 is served at 1"),
        "x.txt: line 4: expected ports below 2, found '2'\n"
    );
    assert_eq!(
        error("# nothing"),
        "x.txt: a scenario has policies, and each has something to expect\n"
    );
}

#[test]
fn failures_name_their_lines() {
    let start = "ports 2, rate 1\nat 0 coflow A sends 1 on 0\npolicy fifo\n";
    let failure = |line: &str| failures("x.txt", &format!("{start}{line}\n"));
    let expected = |text: &str| format!("x.txt:4: fifo: {text}\n");
    assert_eq!(failure("expect A ends at 2"), expected("end of A: expected 2, found 1"));
    assert_eq!(
        failure("at 0 A is served at 1/2"),
        expected("rate of A at 0 s: expected 0.5, found 1")
    );
    assert_eq!(
        failure("at 0 2 flows of A are served"),
        expected("flows of A served at 0 s: expected 2, found 1")
    );
    assert_eq!(
        failure("at 0.5 A has ended"),
        expected("A by 0.5 s: expected an end, found an end at 1 s")
    );
    assert_eq!(
        failure("at 1 A has not ended"),
        expected("A by 1 s: expected no end, found an end at 1 s")
    );
    assert_eq!(failure("expect CCTs 2"), expected("CCTs: expected [2.0], found [1.0]"));
    assert_eq!(failure("expect mean CCT 2"), expected("mean CCT: expected 2, found 1"));
    assert_eq!(failure("expect mean FCT 2"), expected("mean FCT: expected 2, found 1"));
}
