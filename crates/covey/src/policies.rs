//! `covey policies`: what there is to choose from.

use std::io::{self, Write};

use clap::Args;
use covey_report::write_json;
use covey_sched::{Info, Param};
use serde::Serialize;

use crate::failure::Failure;
use crate::output;

/// List the policies and their parameters
#[derive(Debug, Args)]
#[command(after_help = "\
What a policy knows: sized ones see the size of every flow, unsized ones only what has been sent.

Examples:
  covey policies
  covey policies --json")]
pub struct Policies {
    /// Print a JSON list instead of text
    #[arg(long)]
    json: bool,
}

impl Policies {
    /// Does it.
    pub fn run(self) -> Result<(), Failure> {
        let policies = covey_sched::policies();
        output::print(|out| {
            if self.json {
                write_json(&policies.iter().map(Item::of).collect::<Vec<_>>(), out)
            } else {
                policies.iter().enumerate().try_for_each(|(i, info)| print(i, info, out))
            }
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
            params: info.params.iter().map(param).collect(),
            source: info.source,
            summary: info.summary,
        }
    }
}

/// One policy as text.
fn print(i: usize, info: &Info, out: &mut dyn Write) -> io::Result<()> {
    if i > 0 {
        writeln!(out)?;
    }
    writeln!(out, "{} ({}): {}", info.name, info.knows, info.summary)?;
    let settings: Vec<String> =
        info.params.iter().map(|p| format!("{}={}", p.name, p.default)).collect();
    let width = settings.iter().map(String::len).max().unwrap_or(0);
    for (setting, param) in settings.iter().zip(info.params) {
        writeln!(out, "    {setting:width$}  {}", param.help)?;
    }
    writeln!(out, "    from {}", info.source)
}
