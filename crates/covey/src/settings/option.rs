//! Options that are settings.

use clap::{Arg, ArgAction, Command};

/// The heading in the help of options that only a command line can have.
pub const ONCE: &str = "Options that a file or the environment cannot set";

/// An option that a file or the environment can set.
#[derive(Clone, Copy)]
pub struct Setting<'a> {
    argument: &'a Arg,
    name: &'a str,
}

/// How many values an option has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// None: it is there or not.
    Flag,
    /// One.
    Value,
    /// Any number.
    List,
}

/// The options of a command that are settings, in the order of its help.
pub fn settings(command: &Command) -> impl Iterator<Item = Setting<'_>> {
    let is_setting = |argument: &&Arg| argument.get_help_heading() != Some(ONCE);
    command.get_arguments().filter(is_setting).filter_map(|argument| {
        let name = argument.get_long().filter(|name| !["help", "version"].contains(name))?;
        Some(Setting { argument, name })
    })
}

impl<'a> Setting<'a> {
    /// Its name, without dashes.
    pub fn name(&self) -> &'a str {
        self.name
    }

    /// What the parser calls it.
    pub fn id(&self) -> &'a str {
        self.argument.get_id().as_str()
    }

    /// How many values it has.
    pub fn kind(&self) -> Kind {
        match self.argument.get_action() {
            ArgAction::SetTrue => Kind::Flag,
            ArgAction::Append => Kind::List,
            _ => Kind::Value,
        }
    }

    /// The value that holds if nothing is said.
    pub fn default(&self) -> Option<String> {
        let default = self.argument.get_default_values().first()?;
        (self.kind() == Kind::Value).then(|| default.to_string_lossy().into_owned())
    }

    /// What its value is called in the help.
    pub fn value_name(&self) -> &'a str {
        let names = self.argument.get_value_names().unwrap_or_default();
        names.first().map_or("", |name| name.as_str())
    }

    /// Whether its value is a list of names with values, which a file may give as a table.
    pub fn takes_pairs(&self) -> bool {
        self.value_name().starts_with("NAME=")
    }

    /// Whether its value is a list with commas, which a file may give as a list.
    pub fn takes_items(&self) -> bool {
        self.kind() == Kind::Value && self.value_name() == "LIST"
    }

    /// Whether its value is true or false.
    pub fn takes_bool(&self) -> bool {
        self.kind() == Kind::Value && self.value_name() == "BOOL"
    }

    /// Its help, in one line.
    pub fn help(&self) -> String {
        self.argument.get_help().map(ToString::to_string).unwrap_or_default()
    }

    /// The values it can have, if these are few.
    pub fn choices(&self) -> Vec<String> {
        match self.kind() {
            Kind::Value => self.argument.get_possible_values(),
            Kind::Flag | Kind::List => Vec::new(),
        }
        .iter()
        .map(|value| value.get_name().to_owned())
        .collect()
    }
}
