//! `covey policies`: the policies and their parameters.

use std::io::{self, Write};

use clap::Args;
use covey_report::write_json;
use covey_sched::{COMPRESS, Info, Param};
use serde::Serialize;

use crate::failure::Failure;
use crate::output;

/// List the policies and their parameters
#[derive(Debug, Args)]
#[command(after_help = "\
What a policy knows: sized ones see the size of every flow, unsized ones only bytes sent.

Examples:
  covey policies
  covey policies philae
  covey policies --json")]
pub struct Policies {
    /// Only this policy [default: all]
    #[arg(value_name = "NAME")]
    policy: Option<String>,
    /// Print a JSON list instead of text; for one policy, a JSON object
    #[arg(long)]
    json: bool,
}

impl Policies {
    /// Runs the command.
    pub fn run(self) -> Result<(), Failure> {
        match self.policy {
            None => self.print_all(),
            Some(ref name) => self.print_one(covey_sched::find(name)?),
        }
    }

    fn print_all(&self) -> Result<(), Failure> {
        let policies = covey_sched::policies();
        output::print(|out| {
            if self.json {
                return write_json(&policies.iter().map(Item::of).collect::<Vec<_>>(), out);
            }
            for info in policies {
                let params: Vec<&Param> = info.params.iter().collect();
                print(info, &params, out)?;
                writeln!(out)?;
            }
            writeln!(out, "Any policy")?;
            print_params(&[&COMPRESS], out)
        })
    }

    fn print_one(&self, info: &Info) -> Result<(), Failure> {
        let params: Vec<&Param> = info.all_params().collect();
        output::print(|out| {
            if self.json { write_json(&Item::of(info), out) } else { print(info, &params, out) }
        })
    }
}

/// A policy in the JSON list.
#[derive(Serialize)]
struct Item {
    name: &'static str,
    knows: &'static str,
    params: Vec<ParamItem>,
    source: &'static str,
    summary: &'static str,
}

/// A parameter of a policy in the JSON list.
#[derive(Serialize)]
struct ParamItem {
    name: &'static str,
    default: &'static str,
    help: &'static str,
}

impl Item {
    fn of(info: &Info) -> Self {
        let param = |&Param { name, default, help }: &Param| ParamItem { name, default, help };
        Self {
            name: info.name,
            knows: info.knows,
            params: info.all_params().map(param).collect(),
            source: info.source,
            summary: info.summary,
        }
    }
}

/// One policy with some of its parameters as text.
fn print(info: &Info, params: &[&Param], out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{} ({}): {}", info.name, info.knows, info.summary)?;
    print_params(params, out)?;
    writeln!(out, "{:INDENT$}from {}", "", info.source)
}

fn print_params(params: &[&Param], out: &mut dyn Write) -> io::Result<()> {
    let setting = |p: &Param| format!("{}={}", p.name, p.default);
    let width = params.iter().map(|p| setting(p).len()).max().unwrap_or(0);
    for param in params {
        let mut margin = setting(param);
        for line in lines(param.help, COLUMNS.saturating_sub(INDENT + width + GAP)) {
            writeln!(out, "{:INDENT$}{margin:width$}{:GAP$}{line}", "", "")?;
            margin.clear();
        }
    }
    Ok(())
}

/// Columns of a terminal.
const COLUMNS: usize = 100;
/// Spaces before a parameter, and between it and its help.
const INDENT: usize = 4;
const GAP: usize = 2;

/// Breaks `text` between words into lines of at most `max` characters.
fn lines(text: &str, max: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) if line.chars().count() + 1 + word.chars().count() <= max => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}
