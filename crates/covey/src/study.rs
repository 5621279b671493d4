//! `covey study`: a file says what is compared.

use std::path::{Path, PathBuf};

use clap::{Args, FromArgMatches};
use covey_report::Results;

use crate::compare::{self, Compare};
use crate::comparison::print;
use crate::failure::Failure;
use crate::settings::{self, Content, Entry, Given};
use crate::{invocation, output, usage};

/// The name that has the traces.
const TRACES: &str = "traces";

/// Compare policies as a file says, and keep the results
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  covey study experiment.toml
  covey study experiment.toml --json
The file is TOML. It has `traces`, a list, and any options of `covey compare` without their dashes:
  traces = [\"trace.txt\", \"builtin:fb-like\"]
  policies = [\"fair\", \"covey\", \"aalo:queues=strict,delta=0\"]
  port-rate = \"10gbps\"
  report = \"page.html\"
Each trace is compared by itself. Paths are relative to the folder of the file. The results are
kept in experiment.results.json, or where `results` says, and `covey report` shows them again.")]
pub struct Study {
    /// The file
    #[arg(value_name = "FILE.toml")]
    file: PathBuf,
    /// Print one JSON object instead of tables
    #[arg(long)]
    json: bool,
}

impl Study {
    /// Runs the command, which is one of `program`.
    pub fn run(&self, program: &clap::Command) -> Result<(), Failure> {
        let shown = self.file.display();
        let text = settings::read(&self.file)
            .map_err(|problem| Failure::Input(format!("{shown}: {problem}")))?;
        let file = Asked::of(&self.file, &text, program)?;
        let folder = self.file.parent().filter(|folder| !folder.as_os_str().is_empty());
        if let Some(folder) = folder {
            std::env::set_current_dir(folder)
                .map_err(|error| Failure::Input(format!("{}: {error}", folder.display())))?;
        }
        let results = file.run(program, text).map_err(|failure| file.locate(failure))?;
        print(&results, self.json)?;
        compare::verdict(&results)
    }
}

/// What a file asks for.
struct Asked<'a> {
    path: &'a Path,
    traces: Vec<String>,
    options: Vec<Given>,
}

impl<'a> Asked<'a> {
    /// What the text of the file at `path` asks for.
    fn of(path: &'a Path, text: &str, program: &clap::Command) -> Result<Asked<'a>, Failure> {
        let command = program.find_subcommand("compare").expect("a command");
        let mut asked = Asked { path, traces: Vec::new(), options: Vec::new() };
        for entry in settings::entries(path, text)? {
            match entry.name.as_str() {
                TRACES => asked.traces = traces(path, entry)?,
                "json" => {
                    let problem = "'json' can stand on the command line only";
                    return Err(settings::at(path, entry.line, problem));
                }
                _ => {
                    entry.check(path, command, &[TRACES])?;
                    let own = settings::settings(command).find(|it| it.name() == entry.name);
                    asked.options.extend(own.and_then(|setting| entry.given(path, &setting)));
                }
            }
        }
        if asked.traces.is_empty() {
            let expected = "expected traces = [\"trace.txt\"], found no traces";
            return Err(Failure::Input(format!("{}: {expected}", path.display())));
        }
        Ok(asked)
    }

    /// Compares on each trace, and writes all outputs. The file has this text.
    fn run(&self, program: &clap::Command, text: String) -> Result<Results, Failure> {
        let comparisons = self.traces.iter().map(|trace| self.on(trace, program));
        let comparisons = comparisons.collect::<Result<Vec<Compare>, Failure>>()?;
        let study = if comparisons[0].is_anonymous() {
            output::note("the study is not in its results, because it may have names (anonymise)");
            None
        } else {
            Some(text)
        };
        compare::run_all(&comparisons, Results::of(invocation::command(), study))
    }

    /// The comparison on one trace.
    fn on(&self, trace: &str, program: &clap::Command) -> Result<Compare, Failure> {
        let mut arguments = vec!["covey".to_owned(), "compare".to_owned()];
        arguments.extend(self.options.iter().flat_map(Given::arguments));
        if self.options.iter().all(|given| given.name != "results") {
            let stem = self.path.file_stem().unwrap_or_default().to_string_lossy();
            arguments.push(format!("--results={stem}.results.json"));
        }
        arguments.extend(["--".to_owned(), trace.to_owned()]);
        let wrong = |error: clap::Error| {
            Failure::Input(usage::in_one_line(&error, program, &arguments[1..]))
        };
        let said = program.clone().try_get_matches_from(&arguments).map_err(wrong)?;
        let (_, compare) = said.subcommand().expect("compare");
        Compare::from_arg_matches(compare).map_err(wrong)
    }

    /// Has an error say where what it is about stands.
    fn locate(&self, failure: Failure) -> Failure {
        let path = self.path.display().to_string();
        match settings::locate(&self.options, failure) {
            Failure::Input(message) if !message.starts_with(&path) => {
                Failure::Input(format!("{path}: {message}"))
            }
            located => located,
        }
    }
}

/// The traces that an entry names.
fn traces(path: &Path, Entry { line, content, .. }: Entry) -> Result<Vec<String>, Failure> {
    let traces = match content {
        Content::Text(trace) => vec![trace],
        Content::List(traces) if !traces.is_empty() => traces,
        other => {
            let problem =
                format!("expected a list such as [\"trace.txt\"], found {}", other.kind());
            return Err(settings::at(path, line, &format!("{TRACES}: {problem}")));
        }
    };
    let twice = traces.iter().enumerate().find(|(k, trace)| traces[..*k].contains(trace));
    if let Some((_, trace)) = twice {
        let problem = format!("expected each trace once, found '{trace}' twice");
        return Err(settings::at(path, line, &format!("{TRACES}: {problem}")));
    }
    Ok(traces)
}
