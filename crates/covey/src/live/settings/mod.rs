//! Options of the live system's commands from the environment and from a file.
//!
//! What a command line does not say comes from an environment variable, and otherwise from the
//! section of the file that has the command's name. It becomes an argument as if the user had
//! written it, so that every check of arguments holds for it, too. Nothing here names an option:
//! all are found by walking the arguments that the parser knows.

mod environment;
mod file;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command};

use crate::failure::Failure;
use crate::{invocation, usage};
pub use file::COMMANDS;
use file::File;

pub use crate::settings::{Given, Kind, ONCE, Setting, locate, settings};

/// The variable that names the file where no argument does.
const FILE: &str = "COVEY_CONFIG";

/// The option that names the file.
const CONFIG: &str = "config";

/// The option `--config`, which each of these commands has.
fn config_option() -> Arg {
    Arg::new(CONFIG)
        .long(CONFIG)
        .value_name("FILE")
        .value_parser(clap::value_parser!(PathBuf))
        .help("File with settings [default: none]; covey config --help says more")
        .help_heading(ONCE)
}

/// Runs a command line with what it does not say itself from the environment and from a file. An
/// error about a setting says where that stands.
pub fn with_settings(
    program: Command,
    arguments: Vec<OsString>,
    run: impl FnOnce(&Command, &[OsString]) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let add = |program: Command, name: &&str| {
        program.mut_subcommand(*name, |command| command.arg(config_option()))
    };
    let program = COMMANDS.iter().fold(program, add);
    let (arguments, given) = complete(&program, arguments)?;
    run(&program, &arguments).map_err(|failure| locate(&given, failure))
}

/// What the command line of this process says of its command, with the settings that the
/// environment and the file have now. `run` gets that; an error about a setting says where that
/// stands.
pub fn read_again<T>(
    program: &Command,
    run: impl FnOnce(&ArgMatches) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let (arguments, given) = complete(program, invocation::arguments())?;
    let wrong = |error| Failure::Input(usage::of(&error, program, &arguments));
    let said = program.clone().try_get_matches_from(&arguments).map_err(wrong);
    let read = said.and_then(|said| {
        // A process that runs has a subcommand.
        let command = said.subcommand().map_or(&said, |(_, command)| command);
        run(command)
    });
    read.map_err(|failure| locate(&given, failure))
}

/// The file that an argument names, or else the environment.
pub fn named_file(argument: Option<&Path>) -> Result<Option<PathBuf>, Failure> {
    let named = argument.map(Path::to_owned);
    Ok(named.or(environment::value(FILE)?.map(PathBuf::from)))
}

/// Reads a file, and checks all its sections.
pub fn read(program: &Command, path: &Path) -> Result<File, Failure> {
    let file = File::read(path)?;
    file.check(program)?;
    Ok(file)
}

/// The settings of a command from the environment and from a file, in the order of the options.
pub fn given(command: &Command, file: Option<&File>) -> Result<Vec<Given>, Failure> {
    let section = command.get_name();
    environment::check(section, command)?;
    let mut all = Vec::new();
    for setting in settings(command) {
        match environment::given(section, &setting)? {
            Some(given) => all.push(given),
            None => all.extend(file.and_then(|file| file.given(section, &setting))),
        }
    }
    Ok(all)
}

/// Adds to a command line what it does not have itself, and tells what was added.
fn complete(
    program: &Command,
    arguments: Vec<OsString>,
) -> Result<(Vec<OsString>, Vec<Given>), Failure> {
    let named = arguments.get(1).and_then(|name| name.to_str());
    let command = named.filter(|name| COMMANDS.contains(name));
    let command = command.and_then(|name| program.find_subcommand(name));
    let said = said(program, &arguments);
    let (Some(command), Some(said)) = (command, said) else {
        return Ok((arguments, Vec::new()));
    };
    let path = named_file(said.get_one::<PathBuf>(CONFIG).map(PathBuf::as_path))?;
    let file = path.map(|path| read(program, &path)).transpose()?;
    let mut given = given(command, file.as_ref())?;
    given.retain(|it| {
        let option = settings(command).find(|setting| setting.name() == it.name);
        option.is_some_and(|it| said.value_source(it.id()) != Some(ValueSource::CommandLine))
    });
    let (first, rest) = arguments.split_at(2);
    let added = given.iter().flat_map(Given::arguments).map(OsString::from);
    let arguments = first.iter().cloned().chain(added).chain(rest.iter().cloned()).collect();
    Ok((arguments, given))
}

/// What a command line says of its command, whatever is missing or wrong. `None` if it asks for
/// help.
fn said(program: &Command, arguments: &[OsString]) -> Option<ArgMatches> {
    let lenient = program.clone().ignore_errors(true);
    let (_, said) = lenient.try_get_matches_from(arguments).ok()?.remove_subcommand()?;
    Some(said)
}
