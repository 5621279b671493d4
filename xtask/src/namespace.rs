//! Network namespaces, which stand for hosts. They need root, iproute2
//! and util-linux.

use std::ffi::OsStr;
use std::process::Command;

use crate::Result;
use crate::program::run;

/// A network namespace, which is gone when this is dropped.
#[derive(Debug)]
pub struct Namespace {
    /// Its name.
    pub name: String,
}

impl Namespace {
    /// Makes a namespace whose loopback device is up. Its name has `word`.
    ///
    /// # Errors
    ///
    /// Without root, or iproute2.
    pub fn new(word: &str) -> Result<Self> {
        let name = format!("covey-{word}-{}", std::process::id());
        run(Command::new("ip").args(["netns", "add", &name]))?;
        let made = Self { name };
        made.ip("link set lo up")?;
        Ok(made)
    }

    /// Runs `ip` for what is in the namespace.
    pub fn ip(&self, words: &str) -> Result {
        run(Command::new("ip").args(["-n", &self.name]).args(words.split(' ')))
    }

    /// A command that runs in the namespace, and within the control groups of the machine.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new("nsenter");
        command.arg(format!("--net=/run/netns/{}", self.name)).arg(program);
        command
    }

    /// Writes a setting below /proc/sys/net/ipv4.
    ///
    /// # Errors
    ///
    /// If the setting is not there, or does not accept the value.
    pub fn set(&self, setting: &str, value: &str) -> Result {
        let script = r#"echo "$1" >"/proc/sys/net/ipv4/$0" 2>/dev/null"#;
        run(self.command("sh").args(["-c", script, setting, value]))
    }

    /// Lets new rates take effect sooner, where the system has that setting.
    pub fn hurry(&self) {
        let _ = self.set("tcp_tso_rtt_log", "0");
    }
}

/// Runs `tc` for what is in a namespace.
pub fn tc(namespace: &Namespace, words: &str) -> Result {
    run(Command::new("tc").args(["-n", &namespace.name]).args(words.split(' ')))
}

impl Drop for Namespace {
    fn drop(&mut self) {
        let deleted = run(Command::new("ip").args(["netns", "del", &self.name]));
        if let Err(error) = deleted {
            eprintln!("{error}");
        }
    }
}
