//! The program `covey` with a policy more.
//!
//! ```sh
//! cargo run --release -- compare builtin:fb-like --policies fair,aalo,least-served:step=4MB
//! ```

mod least_served;

use std::process::ExitCode;

fn main() -> ExitCode {
    if let Err(error) = covey_sched::extend(&[least_served::INFO]) {
        eprintln!("{error}");
        return ExitCode::FAILURE;
    }
    let program = std::env::current_exe().unwrap_or_else(|_| "own-policy".into());
    ExitCode::from(covey::main(std::env::args_os().collect(), program))
}
