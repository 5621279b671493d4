//! What has changed for one entry since its previous decision.

/// How what an entry finds differs from its previous decision, and how what it leaves does.
#[derive(Debug, Default)]
pub struct Changes {
    /// Local links at which another amount is free than at the previous decision.
    pub dirty: Vec<u32>,
    /// Bytes per second that were free at each of these links then.
    pub previous_free: Vec<f64>,
    /// Local links at which the entry leaves another amount than before.
    pub dirty_after: Vec<u32>,
    /// Whether anybody reads `dirty_after`. Nobody does where ports divide their links.
    pub is_followed: bool,
}

impl Changes {
    /// Nothing has changed.
    pub fn clear(&mut self) {
        self.dirty.clear();
        self.previous_free.clear();
        self.dirty_after.clear();
    }

    /// Local links that are dirty, each with what was free there.
    pub fn previous(&self) -> impl Iterator<Item = (usize, f64)> + '_ {
        self.dirty.iter().map(|&l| l as usize).zip(self.previous_free.iter().copied())
    }
}
