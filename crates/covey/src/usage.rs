//! Errors in the arguments, in one line.

use std::error::Error as _;
use std::ffi::OsString;
use std::num::{IntErrorKind, ParseFloatError, ParseIntError};

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command};
use covey_core::suggest::{did_you_mean, nearest};

/// Options of other programs, each with Covey's options that the user may mean. The message
/// suggests the first one that the command has.
const OPTIONS_ELSEWHERE: [(&[&str], &[&str]); 13] = [
    (&["p", "scheduler", "schedulers", "algorithm", "algorithms"], &["policy", "policies", "port"]),
    (&["csv", "table"], &["per-coflow", "per-flow"]),
    (&["html", "page", "plot", "plots", "r"], &["report"]),
    (&["o", "out", "output"], &["output", "report", "per-coflow"]),
    (&["rate", "speed", "bandwidth", "capacity", "b"], &["port-rate", "link", "rate"]),
    (&["j", "threads", "parallel", "workers", "cores"], &["jobs", "threads"]),
    (&["s", "random-seed"], &["seed"]),
    (&["simulator", "emulate"], &["sim"]),
    (&["lower-bound", "optimal"], &["bound"]),
    (&["format", "input-format", "type"], &["from", "json"]),
    (&["n", "hosts", "nodes", "machines"], &["hosts", "ports"]),
    (&["folder", "dir", "directory"], &["data", "credentials", "per-coflow"]),
    (&["v", "verbose", "quiet", "q"], &["log"]),
];

/// Commands of other programs, and Covey's.
const COMMANDS_ELSEWHERE: [(&str, &str); 9] = [
    ("cluster", "identify"),
    ("run", "simulate"),
    ("sim", "simulate"),
    ("plot", "compare"),
    ("experiment", "study"),
    ("list", "policies"),
    ("coordinator", "serve"),
    ("server", "serve"),
    ("emulate", "testbed"),
];

/// The same of a whole command line, which begins with the name of the program.
pub fn of(error: &clap::Error, program: &Command, arguments: &[OsString]) -> String {
    let arguments = arguments.iter().skip(1);
    let arguments: Vec<_> = arguments.map(|it| it.to_string_lossy().into_owned()).collect();
    in_one_line(error, program, &arguments)
}

/// Describes the error in `arguments` of `program`, in one line.
pub fn in_one_line(error: &clap::Error, program: &Command, arguments: &[String]) -> String {
    let command = command(program, arguments);
    let message = match error.kind() {
        ErrorKind::UnknownArgument => unknown_argument(error, command, arguments),
        ErrorKind::InvalidSubcommand => unknown_command(error, command),
        ErrorKind::InvalidValue => wrong_choice(error),
        ErrorKind::ValueValidation => wrong_value(error),
        _ => None,
    };
    message.unwrap_or_else(|| plain(error))
}

/// The command that the arguments name, or the last one on the way to it that exists.
fn command<'a>(program: &'a Command, arguments: &[String]) -> &'a Command {
    let known = |at: &'a Command, word: &String| at.find_subcommand(word).unwrap_or(at);
    arguments.iter().fold(program, known)
}

/// A text in the context of the error.
fn text(error: &clap::Error, kind: ContextKind) -> Option<&str> {
    match error.get(kind)? {
        ContextValue::String(text) => Some(text),
        _ => None,
    }
}

fn unknown_argument(
    error: &clap::Error,
    command: &Command,
    arguments: &[String],
) -> Option<String> {
    let found = text(error, ContextKind::InvalidArg)?;
    if found.starts_with("-") && found[1..].starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return Some(negative_value(found, arguments));
    }
    if let Some(positional) = positional(found, command) {
        let meant = format!("did you mean {positional} without '{found}'?");
        return Some(format!("unexpected argument '{found}'; {meant}"));
    }
    let meant = meant_option(found, command, text(error, ContextKind::SuggestedArg));
    Some(format!("unexpected argument '{found}'{}", did_you_mean_or_help(meant.as_deref())))
}

/// The end of a message: a suggestion, or else a pointer to the help.
fn did_you_mean_or_help(meant: Option<&str>) -> String {
    if meant.is_some() { did_you_mean(meant) } else { "; try '--help'".to_owned() }
}

/// The error for a value that looks like an option, such as a negative number. No value of Covey's
/// may be negative.
fn negative_value(found: &str, arguments: &[String]) -> String {
    let value = arguments.iter().position(|it| it.starts_with(found));
    let before = value.and_then(|index| arguments.get(index.checked_sub(1)?));
    let option = before.filter(|it| it.starts_with('-'));
    let found = value.map_or(found, |index| &arguments[index]);
    let option = option.map_or_else(String::new, |option| format!("{option}: "));
    format!("{option}expected a value that is not negative, found '{found}'")
}

/// The error for a positional argument that was given by name.
fn positional(found: &str, command: &Command) -> Option<String> {
    let name = found.strip_prefix("--")?;
    let found = command.get_positionals().any(|it| it.get_id().as_str() == name);
    found.then(|| name.to_uppercase())
}

/// The option that the user may mean by one that the command does not have.
fn meant_option(found: &str, command: &Command, similar: Option<&str>) -> Option<String> {
    let name = found.trim_start_matches('-');
    let has = |option: &&&str| command.get_arguments().any(|it| it.get_long() == Some(**option));
    let elsewhere = OPTIONS_ELSEWHERE.iter().find(|(others, _)| others.contains(&name));
    let ours = elsewhere.and_then(|(_, ours)| ours.iter().find(has));
    let ours = ours.map(|option| format!("--{option}"));
    let options = || command.get_arguments().filter_map(Arg::get_long);
    ours.or_else(|| similar.map(str::to_owned)).or_else(|| {
        let long = found.strip_prefix("--")?;
        Some(format!("--{}", nearest(long, options())?))
    })
}

fn unknown_command(error: &clap::Error, command: &Command) -> Option<String> {
    let found = text(error, ContextKind::InvalidSubcommand)?;
    #[cfg(not(feature = "live"))]
    if crate::absent::COMMANDS.contains(&found) {
        return Some(crate::absent::refusal(found));
    }
    let shown = || command.get_subcommands().filter(|it| !it.is_hide_set());
    let within = shown().find(|it| it.find_subcommand(found).is_some());
    let within = within.map(|it| format!("{} {found}", it.get_name()));
    let has = |name: &str| command.find_subcommand(name).is_some();
    let elsewhere = COMMANDS_ELSEWHERE.iter().find(|(other, ours)| *other == found && has(ours));
    let similar = || nearest(found, shown().map(Command::get_name));
    let meant = elsewhere.map(|(_, ours)| *ours).or_else(similar);
    let meant = within.as_deref().or(meant);
    Some(format!("unknown command '{found}'{}", did_you_mean_or_help(meant)))
}

/// The error for a value that is none of the choices.
fn wrong_choice(error: &clap::Error) -> Option<String> {
    let found = text(error, ContextKind::InvalidValue).filter(|found| !found.is_empty())?;
    let ContextValue::Strings(known) = error.get(ContextKind::ValidValue)? else { return None };
    let meant = did_you_mean(nearest(found, known.iter().map(String::as_str)));
    let expected = format!("one of {}", known.join(", "));
    Some(format!("{}: expected {expected}, found '{found}'{meant}", option(error)?))
}

/// The error for a value that does not parse.
fn wrong_value(error: &clap::Error) -> Option<String> {
    let found = text(error, ContextKind::InvalidValue)?;
    let source = error.source()?;
    let expected = if let Some(error) = source.downcast_ref::<ParseIntError>() {
        match error.kind() {
            IntErrorKind::Zero => "a whole number above 0",
            IntErrorKind::PosOverflow => "a smaller whole number",
            _ => "a whole number",
        }
    } else if source.is::<ParseFloatError>() {
        "a number"
    } else {
        let text = source.to_string();
        let range = text.split_once(" is not in ").and_then(|(_, range)| range.split_once("..="));
        let Some((min, max)) = range else { return Some(format!("{}: {text}", option(error)?)) };
        let option = option(error)?;
        return Some(format!("{option}: expected from {min} to {max}, found '{found}'"));
    };
    Some(format!("{}: expected {expected}, found '{found}'", option(error)?))
}

/// The option that the error is about, without the name of its value.
fn option(error: &clap::Error) -> Option<&str> {
    let shown = text(error, ContextKind::InvalidArg)?;
    let option = shown.split(' ').next()?;
    Some(option.trim_matches(['<', '>', '[', ']']))
}

/// Clap's message in one line, without the usage.
fn plain(error: &clap::Error) -> String {
    let text = error.render().to_string();
    let text = text.strip_prefix("error: ").unwrap_or(&text);
    let lines = text.lines().map(str::trim);
    let message = lines.filter(|line| !line.is_empty() && !line.starts_with("Usage:"));
    let message = message.collect::<Vec<_>>().join(" ");
    let message = message.replace(" tip: ", "; ").replace(" For more information, try ", "; try ");
    message.trim_end_matches('.').to_owned()
}
