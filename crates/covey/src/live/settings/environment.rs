//! Settings in environment variables.

use clap::Command;
use covey_core::suggest::{did_you_mean, nearest};

use crate::failure::Failure;
use crate::settings::{Given, Kind, Origin, Setting, settings};

/// The value of a variable. An empty one is none.
pub fn value(name: &str) -> Result<Option<String>, Failure> {
    match std::env::var(name) {
        Ok(value) if value.is_empty() => Ok(None),
        Ok(value) => Ok(Some(value)),
        Err(std::env::VarError::NotPresent) => Ok(None),
        Err(std::env::VarError::NotUnicode(_)) => {
            Err(Failure::Input(format!("{name}: expected text in UTF-8")))
        }
    }
}

/// The start of the names of a command's variables.
fn prefix(command: &str) -> String {
    format!("COVEY_{}_", command.to_uppercase())
}

/// The variable of an option.
pub fn variable(command: &str, option: &str) -> String {
    prefix(command) + &option.to_uppercase().replace('-', "_")
}

/// Refuses variables that begin as those of a command do, and are none: the user has mistyped them.
pub fn check(section: &str, command: &Command) -> Result<(), Failure> {
    let prefix = prefix(section);
    let known: Vec<&str> = settings(command).map(|setting| setting.name()).collect();
    let is_known = |name: &str| known.iter().any(|option| variable(section, option) == name);
    let names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    let unknown = names.filter(|name| name.starts_with(&prefix) && !is_known(name));
    // The first by name: the system may give them in any order.
    let Some(name) = unknown.min() else { return Ok(()) };
    let option = name[prefix.len()..].to_lowercase().replace('_', "-");
    let is_option = command.get_arguments().any(|it| it.get_long() == Some(&option));
    if is_option {
        return Err(Failure::Input(format!(
            "{name}: --{option} can stand on the command line only"
        )));
    }
    let meant = nearest(&option, known).map(|option| variable(section, option));
    let meant = did_you_mean(meant.as_deref());
    Err(Failure::Input(format!("{name}: no variable of covey {section} has this name{meant}")))
}

/// What a variable says of an option.
pub fn given(command: &str, setting: &Setting<'_>) -> Result<Option<Given>, Failure> {
    let variable = variable(command, setting.name());
    let Some(value) = value(&variable)? else { return Ok(None) };
    let values = match setting.kind() {
        Kind::Value => vec![value],
        Kind::List => value.split(',').map(|item| item.trim().to_owned()).collect(),
        Kind::Flag => match value.as_str() {
            "true" => vec![],
            "false" => return Ok(None),
            found => {
                let expected = "true or false";
                return Err(Failure::argument(&variable, expected, format!("'{found}'")));
            }
        },
    };
    Ok(Some(Given { name: setting.name().to_owned(), values, origin: Origin::Variable(variable) }))
}
