//! How flow records are read.

use super::columns::Columns;
use super::format::Format;
use super::stitch::Stitch;

/// How flow records are read.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The format; without it, the content decides.
    pub format: Option<&'static Format>,
    /// The columns of a table that has none of the formats.
    pub columns: Option<Columns>,
    /// Which records are put together as one flow.
    pub stitch: Stitch,
    /// Broken lines are passed over and counted.
    pub skip_bad: bool,
    /// Records of no use are errors, as are impossible bytes.
    pub strict: bool,
}
