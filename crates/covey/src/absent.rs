//! What a build without the feature `live` says of what it does not have.

/// The commands of the feature `live`, in the order of the help.
pub const COMMANDS: [&str; 13] = [
    "serve", "agent", "attach", "detach", "relay", "status", "top", "drain", "config", "certs",
    "token", "journal", "testbed",
];

/// The error for a part of the whole program.
pub fn refusal(what: &str) -> String {
    format!(
        "{what}: this build only simulates; the whole program is built by \
         cargo build --release --package covey"
    )
}

#[cfg(not(feature = "live"))]
impl crate::reproduce::Reproduce {
    /// Refuses to measure: there is no live system.
    pub fn measure(&self) -> Result<covey_reproduce::report::Report, crate::failure::Failure> {
        let option = if self.live { "--live" } else { "--testbed" };
        Err(crate::failure::Failure::Input(refusal(option)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_names_what_is_absent_and_what_builds_it() {
        let line = refusal("serve");
        assert!(line.starts_with("serve: "), "{line}");
        assert!(line.ends_with(" cargo build --release --package covey"), "{line}");
        assert!(!line.contains('\n'), "{line}");
    }
}
