//! Arguments that measurements share.

use std::ffi::OsStr;
use std::path::Path;

use clap::Args;

/// The trace that is measured.
#[derive(Args)]
pub struct Trace {
    /// A file, usually the Facebook trace, or a generated trace
    #[arg(value_name = "TRACE", env = "TRACE", default_value = "builtin:fb-like")]
    pub path: String,
}

impl Trace {
    /// Whether the trace is generated.
    pub fn is_generated(&self) -> bool {
        self.path.starts_with("builtin:")
    }

    /// The name for a table: without the folders of a file.
    pub fn name(&self) -> &str {
        let name = Path::new(&self.path).file_name().and_then(OsStr::to_str);
        if self.is_generated() { &self.path } else { name.unwrap_or(&self.path) }
    }
}

/// The specs of a list, which are separated by commas or spaces. A part such as `delta=0` is a
/// parameter of the spec before it.
pub fn specs(list: &str) -> Vec<String> {
    let mut specs: Vec<String> = Vec::new();
    for part in list.split([',', ' ']).filter(|part| !part.is_empty()) {
        let is_parameter = part.split_once('=').is_some_and(|(key, _)| !key.contains(':'));
        match specs.last_mut() {
            Some(spec) if is_parameter => *spec = format!("{spec},{part}"),
            _ => specs.push(part.to_owned()),
        }
    }
    specs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_has_commas_or_spaces() {
        let both = ["fair", "aalo:queues=strict,delta=0", "sebf:share=matching"];
        assert_eq!(specs("fair,aalo:queues=strict,delta=0,sebf:share=matching"), both);
        assert_eq!(specs("fair aalo:queues=strict,delta=0  sebf:share=matching"), both);
    }

    #[test]
    fn the_name_of_a_file_has_no_folder() {
        let name = |path: &str| Trace { path: path.to_owned() }.name().to_owned();
        assert_eq!(name("../data/FB2010.txt"), "FB2010.txt");
        assert_eq!(name("builtin:fb-like:coflows=30"), "builtin:fb-like:coflows=30");
    }
}
