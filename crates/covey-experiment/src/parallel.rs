//! Runs tasks on several cores.

use std::sync::{Mutex, PoisonError};
use std::thread;

/// A task, which stores its result itself.
pub type Task<'a> = Box<dyn FnOnce() + Send + 'a>;

/// Runs all tasks, at most `jobs` at a time. They start in their order. The caller's thread runs
/// tasks, too, so that one job needs no other thread.
pub fn run(tasks: Vec<Task<'_>>, jobs: usize) {
    let threads = jobs.min(tasks.len());
    let tasks = Mutex::new(tasks.into_iter());
    let next = || tasks.lock().unwrap_or_else(PoisonError::into_inner).next();
    let work = || {
        while let Some(task) = next() {
            task();
        }
    };
    thread::scope(|scope| {
        (1..threads).for_each(|_| drop(scope.spawn(work)));
        work();
    });
}

/// The number of tasks that the machine can run at a time; 1 if it is unknown.
pub fn cores() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}
