//! Who sends a flow on its connection.

/// Which side of a connection sends the flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Direction {
    /// The side that opened the connection.
    Pushed,
    /// The other; it answers with a header of its own.
    Pulled,
}

impl Direction {
    pub(crate) fn byte(self) -> u8 {
        match self {
            Direction::Pushed => 1,
            Direction::Pulled => 2,
        }
    }

    pub(crate) fn of_byte(byte: u8) -> Option<Direction> {
        match byte {
            1 => Some(Direction::Pushed),
            2 => Some(Direction::Pulled),
            _ => None,
        }
    }
}
