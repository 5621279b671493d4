//! `covey config`: the settings of the live system's commands, and where each comes from.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::PossibleValuesParser;
use clap::error::ErrorKind;

use crate::failure::Failure;
use crate::live::settings::{self, COMMANDS, Given, Kind, Setting};
use crate::output;
use crate::usage;

/// Show the settings of serve, agent, relay, status and top, and where each comes from
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  covey config --example > covey.toml
  covey config --config covey.toml
  COVEY_SERVE_HEARTBEAT=2s covey config serve
An option of these commands holds as the command line says it, or else an environment variable, or else
the file, or else its default. The variable of covey serve --lost-after is COVEY_SERVE_LOST_AFTER; an
empty one counts for nothing. A file has a section for each command, such as [serve], with the options'
names. The option --config of a command, or the variable COVEY_CONFIG, names the file. Lists are arrays
in the file, and have commas in a variable. Paths are relative to the folder in which the command runs.")]
pub struct Config {
    /// Only the settings of this command
    #[arg(value_name = "COMMAND", value_parser = PossibleValuesParser::new(COMMANDS))]
    command: Option<String>,
    /// Print a file with all settings and their defaults, as comments
    #[arg(long, conflicts_with = "config")]
    example: bool,
    /// The file [default: what COVEY_CONFIG says]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

impl Config {
    /// Runs the command for a program that has these commands.
    pub fn run(self, program: &clap::Command) -> Result<(), Failure> {
        let commands = COMMANDS
            .iter()
            .filter(|name| self.command.as_ref().is_none_or(|command| command == *name))
            .filter_map(|name| program.find_subcommand(name));
        let commands: Vec<&clap::Command> = commands.collect();
        if self.example {
            return output::print(|out| {
                write!(out, "{HEAD}")?;
                commands.iter().try_for_each(|command| example(command, out))
            });
        }
        let path = settings::named_file(self.config.as_deref())?;
        let file = path.as_deref().map(|path| settings::read(program, path)).transpose()?;
        let mut sections = Vec::new();
        for command in commands {
            let given = settings::given(command, file.as_ref())?;
            check(program, command.get_name(), &given)?;
            sections.push((command, given));
        }
        output::print(|out| {
            let none = "no file".to_owned();
            let shown = path.as_deref().map_or(none, |path: &Path| path.display().to_string());
            writeln!(out, "# {shown}")?;
            sections.iter().try_for_each(|(command, given)| section(command, given, out))
        })
    }
}

/// Has the parser check values. Something may be missing, which a command line may add.
fn check(program: &clap::Command, command: &str, given: &[Given]) -> Result<(), Failure> {
    let added = given.iter().flat_map(Given::arguments);
    let arguments: Vec<String> =
        ["covey", command].into_iter().map(str::to_owned).chain(added).collect();
    match program.clone().try_get_matches_from(&arguments) {
        Err(error) if error.kind() != ErrorKind::MissingRequiredArgument => {
            let message = usage::in_one_line(&error, program, &arguments[1..]);
            Err(settings::locate(given, Failure::Input(message)))
        }
        _ => Ok(()),
    }
}

/// The settings of a command that hold.
fn section(command: &clap::Command, given: &[Given], out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "\n[{}]", command.get_name())?;
    for setting in settings::settings(command) {
        let name = setting.name();
        match given.iter().find(|given| given.name == name) {
            Some(given) => {
                writeln!(out, "{name} = {}  # {}", written(&setting, &given.values), given.origin)?;
            }
            None => match setting.default() {
                Some(value) => writeln!(out, "{name} = {}  # default", literal(&value))?,
                None if setting.kind() == Kind::Flag => writeln!(out, "{name} = false  # default")?,
                None => writeln!(out, "# {name}: not set")?,
            },
        }
    }
    Ok(())
}

/// The first lines of an example.
const HEAD: &str = "\
# Settings of Covey's live system. Every line that is a setting is a comment, and shows the default.
# The command line and environment variables, such as COVEY_SERVE_HEARTBEAT, come before this file.
";

/// The most columns of a line of comment.
const COLUMNS: usize = 98;

/// A section with all settings of a command, as comments.
fn example(command: &clap::Command, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "\n[{}]", command.get_name())?;
    for setting in settings::settings(command) {
        writeln!(out)?;
        let mut text = setting.help();
        let choices = setting.choices();
        if !choices.is_empty() {
            text += &format!(": {}", choices.join(", "));
        }
        comment(&text, out)?;
        let name = setting.name();
        match (setting.kind(), setting.default()) {
            (Kind::Flag, _) => writeln!(out, "#{name} = false")?,
            (_, Some(value)) => writeln!(out, "#{name} = {}", literal(&value))?,
            (Kind::List, None) => writeln!(out, "#{name} = []")?,
            (Kind::Value, None) => {
                writeln!(out, "#{name} = \"{}\"  # not set by default", setting.value_name())?;
            }
        }
    }
    Ok(())
}

/// Writes lines of comment.
fn comment(text: &str, out: &mut dyn Write) -> io::Result<()> {
    let mut line = String::from("#");
    for word in text.split_whitespace() {
        if line.chars().count() + 1 + word.chars().count() > COLUMNS {
            writeln!(out, "{line}")?;
            line.truncate(1);
        }
        line.push(' ');
        line += word;
    }
    writeln!(out, "{line}")
}

/// The values of a setting as a file has them.
fn written(setting: &Setting<'_>, values: &[String]) -> String {
    let all: Vec<String> = values.iter().map(|value| literal(value)).collect();
    match setting.kind() {
        Kind::Flag => "true".to_owned(),
        Kind::Value => all.concat(),
        Kind::List => format!("[{}]", all.join(", ")),
    }
}

/// A number as it is, and a text in quotes.
fn literal(value: &str) -> String {
    match value.parse::<i64>() {
        Ok(number) if number.to_string() == value => value.to_owned(),
        // What JSON escapes, TOML does in the same way.
        _ => serde_json::Value::from(value).to_string(),
    }
}
