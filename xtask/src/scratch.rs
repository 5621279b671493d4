//! Files of a measurement, which are gone after it.

use tempfile::TempDir;

use crate::Result;

/// A folder for such files.
#[derive(Debug)]
pub struct Scratch(TempDir);

impl Scratch {
    /// Makes an empty folder.
    pub fn new() -> Result<Self> {
        Ok(Self(tempfile::tempdir()?))
    }

    /// The path of a file in the folder.
    pub fn path(&self, name: &str) -> Result<String> {
        let path = self.0.path().join(name);
        Ok(path
            .to_str()
            .ok_or("the folder of temporary files has a name that is no text")?
            .to_owned())
    }
}
