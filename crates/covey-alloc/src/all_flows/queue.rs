//! Flows that use the same links, in the order in which they are served.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Members of one queue, the least first. Most queues have one at a time, which takes no memory of
/// its own.
#[derive(Debug)]
pub struct Queue<M> {
    first: Option<M>,
    rest: BinaryHeap<Reverse<M>>,
}

impl<M> Default for Queue<M> {
    fn default() -> Self {
        Queue { first: None, rest: BinaryHeap::new() }
    }
}

impl<M: Ord + Copy> Queue<M> {
    /// The least.
    #[inline]
    pub fn first(&self) -> Option<&M> {
        self.first.as_ref()
    }

    /// The least, to be changed into one that is still the least.
    #[inline]
    pub fn first_mut(&mut self) -> Option<&mut M> {
        self.first.as_mut()
    }

    /// Removes all members.
    pub fn clear(&mut self) {
        self.first = None;
        self.rest.clear();
    }

    /// Adds a member.
    pub fn push(&mut self, member: M) {
        let later = match self.first {
            Some(first) if first <= member => Some(member),
            _ => self.first.replace(member),
        };
        if let Some(later) = later {
            self.rest.push(Reverse(later));
        }
    }

    /// Removes the least.
    pub fn pop(&mut self) {
        self.first = self.rest.pop().map(|Reverse(member)| member);
    }

    /// Removes the member for which `is_it` returns true, of which there is at most one.
    pub fn remove(&mut self, is_it: impl Fn(&M) -> bool) {
        if self.first.as_ref().is_some_and(&is_it) {
            self.pop();
        } else {
            self.rest.retain(|Reverse(member)| !is_it(member));
        }
    }
}
