//! Ids of sub-coflows (Stream, Algorithm 1).
//!
//! The id of a sub-coflow is one more than the number of other sub-coflows that are known when it
//! begins: a sub-coflow with id 4 belongs to a coflow of at least four. Each parent proposes an id
//! to the sub-coflows that it invokes. Algorithm 1's parent is released first, so it is one of
//! Covey's `parents`.

/// What a parent proposes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Proposal {
    /// Its own id + 1, so that parents have lower ids than their children, as the paper says.
    Next,
    /// Its own id: the other reading, in which ids grow only where several parents agree.
    Own,
}

impl Proposal {
    /// The id that a parent with id `id` proposes.
    pub fn of(self, id: u32) -> u32 {
        match self {
            Proposal::Next => id.saturating_add(1),
            Proposal::Own => id,
        }
    }
}

/// The id of a sub-coflow whose parents propose these ids (Algorithm 1). The first sub-coflows of a
/// coflow have no parents; a master gives them the id 1.
pub fn sub_coflow_id(mut proposals: impl Iterator<Item = u32>) -> u32 {
    let Some(first) = proposals.next() else { return 1 };
    let (mut all_equal, mut greatest, mut parents) = (true, first, 1);
    for proposal in proposals {
        all_equal &= proposal == first;
        greatest = greatest.max(proposal);
        parents += 1;
    }
    if all_equal { first.saturating_add(parents - 1) } else { greatest }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(proposals: &[u32]) -> u32 {
        sub_coflow_id(proposals.iter().copied())
    }

    #[test]
    fn ids_are_those_of_algorithm_1() {
        // KA10.
        assert_eq!([id(&[2, 2]), id(&[2, 3]), id(&[4])], [3, 3, 4]);
        assert_eq!([id(&[]), id(&[5, 5, 5])], [1, 7]);
    }

    #[test]
    fn a_child_has_a_higher_id_than_its_parents_unless_they_propose_their_own() {
        let chain = |proposal: Proposal| id(&[proposal.of(id(&[proposal.of(id(&[]))]))]);
        assert_eq!((chain(Proposal::Next), chain(Proposal::Own)), (3, 1));
        let join = |proposal: Proposal| id(&[proposal.of(1), proposal.of(1)]);
        assert_eq!((join(Proposal::Next), join(Proposal::Own)), (3, 2));
    }
}
