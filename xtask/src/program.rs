//! The program `covey` and other programs: finds or builds them, runs them, and measures what a run
//! takes.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::{env, fs, mem};

use serde::de::DeserializeOwned;

use crate::Result;

/// The top folder of the checkout.
pub fn top() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask is in the top folder")
}

/// The folder of all builds: this program is in one of its folders.
pub fn target() -> Result<PathBuf> {
    let this = env::current_exe()?;
    Ok(this.ancestors().nth(2).ok_or("this program is in no folder of builds")?.to_owned())
}

/// Says on standard error what is measured now.
pub fn progress(what: &str) {
    eprintln!("{what}");
}

/// The program that is measured.
#[derive(Debug, Clone)]
pub struct Covey {
    /// Where it is.
    pub path: PathBuf,
    /// After so many seconds of CPU a run is stopped.
    limit_s: Option<u64>,
}

impl Covey {
    /// The program that COVEY names, or a release build.
    pub fn find() -> Result<Self> {
        let path = match env::var_os("COVEY") {
            Some(path) => fs::canonicalize(&path)
                .map_err(|error| format!("COVEY={}: {error}", path.display()))?,
            None => build(&["--package", "covey"], "covey")?,
        };
        Ok(Self { path, limit_s: None })
    }

    /// The same, whose runs are stopped after so many seconds of CPU.
    pub fn with_limit(self, limit_s: u64) -> Self {
        Self { limit_s: Some(limit_s), ..self }
    }

    /// A command of the program.
    pub fn command<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Command {
        let mut command = Command::new(&self.path);
        command.args(arguments);
        command
    }

    /// Runs a command to its end, or until it is stopped.
    ///
    /// # Errors
    ///
    /// If it fails: the command, and what it wrote to standard error.
    pub fn run<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Result<Run> {
        let mut command = self.command(arguments);
        let shown = shown(&command);
        if let Some(limit_s) = self.limit_s {
            command = limited(&command, limit_s);
        }
        let (mut output, mut errors) = (tempfile::tempfile()?, tempfile::tempfile()?);
        command.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(errors.try_clone()?);
        let (status, cpu_s, peak_mb) = wait(&command.spawn()?)?;
        let is_stopped = status.signal().is_some()
            && self.limit_s.is_some_and(|limit_s| cpu_s >= 0.9 * limit_s as f64);
        if !status.success() && !is_stopped {
            return Err(format!("{shown}: {status}\n{}", text(&mut errors)?).into());
        }
        Ok(Run { command: shown, output: text(&mut output)?, cpu_s, peak_mb, is_stopped })
    }

    /// Simulates a policy on a trace, with more options. The output is JSON.
    pub fn simulate(&self, trace: &str, policy: &str, more: &[&str]) -> Result<Run> {
        self.run([&["simulate", trace, "--policy", policy, "--json"], more].concat())
    }

    /// Writes what `covey trace` makes of a trace to a file; `command` has its command and options.
    pub fn transform(&self, trace: &str, command: &str, file: &str) -> Result {
        let mut words = command.split(' ');
        let name = words.next().unwrap_or_default();
        let to_file = if name == "replicate" { &[file][..] } else { &["-o", file] };
        let words = ["trace", name, trace].into_iter().chain(words);
        self.run(words.chain(to_file.iter().copied()))?;
        Ok(())
    }

    /// Simulates several times: the run with the least CPU, and with the greatest peak of all; or
    /// the first run that is stopped.
    pub fn repeat(&self, runs: u32, trace: &str, policy: &str, more: &[&str]) -> Result<Run> {
        let mut done = Vec::new();
        for _ in 0..runs {
            let run = self.simulate(trace, policy, more)?;
            if run.is_stopped {
                return Ok(run);
            }
            done.push(run);
        }
        let peak_mb = done.iter().map(|run| run.peak_mb).max();
        let least = done.into_iter().min_by(|a, b| a.cpu_s.total_cmp(&b.cpu_s));
        let (run, peak_mb) = least.zip(peak_mb).ok_or("expected at least one run")?;
        Ok(Run { peak_mb, ..run })
    }
}

/// What a run printed and took.
#[derive(Debug)]
pub struct Run {
    command: String,
    /// What it wrote to standard output.
    pub output: String,
    /// User and system time, in seconds.
    pub cpu_s: f64,
    /// The most memory that it had at a time, in whole MB.
    pub peak_mb: u64,
    /// Whether it had no end within the limit.
    pub is_stopped: bool,
}

impl Run {
    /// Reads the output as JSON.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T> {
        let read = serde_json::from_str(&self.output);
        Ok(read.map_err(|error| format!("the output of {}: {error}", self.command))?)
    }
}

/// Builds an example of a package, for its release; returns where it is.
pub fn example(package: &str, name: &str) -> Result<PathBuf> {
    build(&["--package", package, "--example", name], &format!("examples/{name}"))
}

/// Builds a release of what `arguments` name; returns where `program` of it is.
fn build(arguments: &[&str], program: &str) -> Result<PathBuf> {
    let target = target()?;
    let mut cargo = Command::new("cargo");
    cargo.args(["build", "--locked", "--release", "--quiet"]).args(arguments);
    run(cargo.arg("--target-dir").arg(&target).current_dir(top()))?;
    Ok(target.join("release").join(program))
}

/// Runs a command whose output everybody sees.
///
/// # Errors
///
/// If it fails.
pub fn run(command: &mut Command) -> Result {
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{}: {status}", shown(command)).into()),
        Err(error) => Err(format!("{}: {error}", shown(command)).into()),
    }
}

/// Runs a command, and returns what it writes to standard output.
///
/// # Errors
///
/// If it fails.
pub fn output(command: &mut Command) -> Result<String> {
    let output = command.stderr(Stdio::inherit()).output();
    let output = output.map_err(|error| format!("{}: {error}", shown(command)))?;
    if !output.status.success() {
        return Err(format!("{}: {}", shown(command), output.status).into());
    }
    Ok(String::from_utf8(output.stdout)?)
}

/// A process that is asked to end when this is dropped.
#[derive(Debug)]
pub struct Background(pub Child);

impl Drop for Background {
    fn drop(&mut self) {
        let id = rustix::process::Pid::from_child(&self.0);
        // It may have ended, and nobody else waits for it.
        let _ = rustix::process::kill_process(id, rustix::process::Signal::TERM);
        let _ = self.0.wait();
    }
}

/// Raises the number of files that this process and its children may have open as far as it goes.
pub fn open_many_files() -> Result {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let maximum = getrlimit(Resource::Nofile).maximum;
    Ok(setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum })?)
}

/// The command as one types it.
fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words = words.map(|word| word.to_string_lossy());
    let quoted = |word: &str| word.is_empty() || word.contains([' ', '$', '\'']);
    let words = words.map(|w| if quoted(&w) { format!("{w:?}") } else { w.into_owned() });
    words.collect::<Vec<_>>().join(" ")
}

/// The command, which the system stops after so many seconds of CPU.
fn limited(command: &Command, limit_s: u64) -> Command {
    let mut shell = Command::new("sh");
    shell.args(["-c", r#"ulimit -t "$0"; exec "$@""#, &limit_s.to_string()]);
    shell.arg(command.get_program()).args(command.get_args());
    shell
}

/// Waits for a child: its status, its user and system time in seconds, and its peak memory in MB.
#[allow(unsafe_code, reason = "no dependency has a safe wrapper of wait4")]
fn wait(child: &Child) -> io::Result<(ExitStatus, f64, u64)> {
    let mut status = 0;
    // SAFETY: zeros are a valid `rusage`, which has numbers alone.
    let mut usage: libc::rusage = unsafe { mem::zeroed() };
    // SAFETY: both pointers are to variables that live until the call returns. Nobody else waits
    // for the child: `Child` does not when it is dropped.
    let waited =
        unsafe { libc::wait4(child.id().cast_signed(), &raw mut status, 0, &raw mut usage) };
    if waited < 0 {
        return Err(io::Error::last_os_error());
    }
    let seconds = |time: libc::timeval| time.tv_sec as f64 + 1e-6 * time.tv_usec as f64;
    let peak_mb = (usage.ru_maxrss as u64 * 1024).div_ceil(1_000_000);
    let cpu_s = seconds(usage.ru_utime) + seconds(usage.ru_stime);
    Ok((ExitStatus::from_raw(status), cpu_s, peak_mb))
}

/// Lets Ctrl-C end the program that is measured, not this one: it then ends with an error, and
/// removes what it has made.
#[allow(unsafe_code, reason = "no dependency has a safe wrapper")]
pub fn outlive_interrupts() {
    extern "C" fn nothing(_: libc::c_int) {}
    // SAFETY: a handler that does nothing may run at any time. Children do not inherit it.
    unsafe { libc::signal(libc::SIGINT, nothing as *const () as libc::sighandler_t) };
}

/// All that a file has.
fn text(file: &mut File) -> io::Result<String> {
    let mut text = String::new();
    file.rewind()?;
    file.read_to_string(&mut text)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A shell in place of covey, whose arguments are a script.
    fn shell(limit_s: Option<u64>) -> Covey {
        Covey { path: "/bin/sh".into(), limit_s }
    }

    #[test]
    fn a_run_is_measured() -> Result {
        let ran = shell(Some(60)).run(["-c", "echo '[1]'; for k in 1 2 3; do sleep 0.01; done"])?;
        assert_eq!(ran.json::<Vec<u32>>()?, [1]);
        assert!(ran.cpu_s < 5.0 && ran.peak_mb >= 1 && !ran.is_stopped, "{ran:?}");
        Ok(())
    }

    #[test]
    fn a_run_is_stopped_at_the_limit() -> Result {
        let ran = shell(Some(1)).run(["-c", "while :; do :; done"])?;
        assert!(ran.is_stopped && ran.cpu_s >= 0.9, "{ran:?}");
        Ok(())
    }

    #[test]
    fn a_failure_shows_the_command_and_its_errors() {
        let error = shell(None).run(["-c", "echo wrong >&2; exit 2"]).expect_err("status 2");
        let error = error.to_string();
        assert_eq!(error, "/bin/sh -c \"echo wrong >&2; exit 2\": exit status: 2\nwrong\n");
    }

    #[test]
    fn output_that_is_no_json_is_shown_with_its_command() -> Result {
        let ran = shell(None).run(["-c", "echo no"])?;
        let error = ran.json::<u32>().expect_err("no JSON").to_string();
        assert!(error.starts_with("the output of /bin/sh -c \"echo no\": expected"), "{error}");
        Ok(())
    }
}
