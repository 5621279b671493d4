//! Tasks on several cores.

use std::sync::{Mutex, PoisonError};
use std::thread;

/// A piece of work that stores its result itself.
pub type Task<'a> = Box<dyn FnOnce() + Send + 'a>;

/// Runs all tasks, at most `jobs` at a time, started in their order.
pub fn run(tasks: Vec<Task<'_>>, jobs: usize) {
    let threads = jobs.min(tasks.len());
    let tasks = Mutex::new(tasks.into_iter());
    let next = || tasks.lock().unwrap_or_else(PoisonError::into_inner).next();
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(task) = next() {
                    task();
                }
            });
        }
    });
}

/// The number of tasks that the machine can run at a time.
pub fn cores() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}
