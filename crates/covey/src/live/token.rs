//! `covey token`: the tokens of a coordinator.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use clap::{Args, Subcommand};
use covey_api::Limits;
use covey_credentials::{NewToken, TokenFile, is_tenant_name, is_token_name};

use crate::failure::Failure;
use crate::output;
use crate::quantity;

/// Make, list and revoke the tokens that clients show
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  covey token new dashboard --rights read
  covey token new spark --rights read,register --expires 30d --output spark/token
  covey token new nightly --rights read,register --tenant analytics --limit coflows=50 --limit ports=0-9,12
  covey token set nightly --limit coflows=100 --limit requests=20
  covey token list
  covey token revoke spark
Rights: read (ask for coflows, schedules, agents, events, metrics), register (register coflows, and change,
keep and remove those of this token), operate (the same with the coflows of all; change settings and drain
hosts; join as an agent or a relay, where there are no certificates).
Limits: coflows and flows (present at a time), gone (coflows remembered after they have gone), keys (idempotency keys
remembered), requests (a second), ports (that flows may have as their ends); none takes one away.
A coflow belongs to the token that registered it, and to its tenant: the token's own name without --tenant.
The file tokens of the folder has hashes alone. A coordinator that runs reads it again within seconds, and at
once on SIGHUP. The file token of the folder, if there is one, has a token with all rights.")]
pub struct Token {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Make a token and print its secret, which is kept nowhere
    New {
        /// The name in metrics and logs
        name: String,
        /// What its holder may do: read, register, operate
        #[arg(long, value_name = "RIGHTS", default_value = "read")]
        rights: String,
        /// The tenant whose coflows it registers [default: one of the token's own name]
        #[arg(long, value_name = "TENANT")]
        tenant: Option<String>,
        /// What it may have at most, like coflows=50; as often as wanted [default: nothing is
        /// limited]
        #[arg(long, value_name = "LIMIT")]
        limit: Vec<String>,
        /// Time after which it counts no more [default: it does not expire]
        #[arg(long, value_name = "TIME")]
        expires: Option<String>,
        /// Write the secret to a new file, mode 0600, instead of printing it
        #[arg(long, value_name = "FILE")]
        output: Option<PathBuf>,
        /// Folder of the coordinator
        #[arg(long, value_name = "FOLDER", default_value = "covey-data")]
        data: PathBuf,
    },
    /// Change the tenant and the limits of a token
    Set {
        /// Its name
        name: String,
        /// The tenant whose coflows it registers from now on
        #[arg(long, value_name = "TENANT")]
        tenant: Option<String>,
        /// What it may have at most, like coflows=50 or coflows=none; as often as wanted
        #[arg(long, value_name = "LIMIT")]
        limit: Vec<String>,
        /// Folder of the coordinator
        #[arg(long, value_name = "FOLDER", default_value = "covey-data")]
        data: PathBuf,
    },
    /// List the tokens, with their rights, limits and the days until they expire
    List {
        /// Folder of the coordinator
        #[arg(long, value_name = "FOLDER", default_value = "covey-data")]
        data: PathBuf,
    },
    /// Remove a token
    Revoke {
        /// Its name
        name: String,
        /// Folder of the coordinator
        #[arg(long, value_name = "FOLDER", default_value = "covey-data")]
        data: PathBuf,
    },
}

/// For how long a token may count: up to a hundred years.
const EXPIRES: [&str; 2] = ["1s", "52560000min"];

fn expiry(text: &str) -> Result<Duration, Failure> {
    quantity::time_within("--expires", text, EXPIRES).map(Duration::from_secs_f64)
}

impl Token {
    /// Runs the command.
    pub fn run(self) -> Result<(), Failure> {
        match self.action {
            Action::New { name, rights, tenant, limit, expires, output, data } => {
                let mut file = TokenFile::read(&data)?;
                if !is_token_name(&name) || file.entries().contains_key(&name) {
                    let expected = "a new name of letters, digits and -_. only";
                    return Err(Failure::argument("NAME", expected, format!("'{name}'")));
                }
                check_tenant(tenant.as_deref())?;
                let limits = limits(Limits::default(), &limit)?;
                let rights =
                    rights.parse().map_err(|error| Failure::Input(format!("--rights: {error}")))?;
                let valid = expires.map(|text| expiry(&text)).transpose()?;
                // Before the token is made: a secret that cannot be written would be lost.
                let written = output.map(|path| new_file(&path)).transpose()?;
                let secret = file.add(&name, NewToken { rights, valid, tenant, limits })?;
                match written {
                    None => output::print(|out| writeln!(out, "{secret}")),
                    Some(mut out) => writeln!(out, "{secret}")
                        .map_err(|error| Failure::Other(format!("--output: {error}"))),
                }
            }
            Action::Set { name, tenant, limit, data } => {
                let mut file = TokenFile::read(&data)?;
                check_tenant(tenant.as_deref())?;
                let Some(entry) = file.entries().get(&name).cloned() else {
                    return Err(unknown(&file, &name));
                };
                let limits = limits(entry.limits, &limit)?;
                file.change(&name, tenant.or(entry.tenant), limits)?;
                output::print(|out| writeln!(out, "changed {name}"))
            }
            Action::List { data } => list(&TokenFile::read(&data)?, data.join("token").exists()),
            Action::Revoke { name, data } => {
                let mut file = TokenFile::read(&data)?;
                if file.remove(&name)? {
                    return output::print(|out| writeln!(out, "revoked {name}"));
                }
                Err(unknown(&file, &name))
            }
        }
    }
}

/// The file has no token of this name.
fn unknown(file: &TokenFile, name: &str) -> Failure {
    let known: Vec<&str> = file.entries().keys().map(String::as_str).collect();
    let expected = match known[..] {
        [] => "the name of a token, of which there is none".to_owned(),
        _ => format!("one of {}", known.join(", ")),
    };
    Failure::argument("NAME", expected, format!("'{name}'"))
}

fn check_tenant(tenant: Option<&str>) -> Result<(), Failure> {
    match tenant.filter(|tenant| !is_tenant_name(tenant)) {
        None => Ok(()),
        Some(found) => {
            let expected = "a tenant of letters, digits and -_. only";
            Err(Failure::argument("--tenant", expected, format!("'{found}'")))
        }
    }
}

/// Changes limits as arguments say.
fn limits(mut limits: Limits, changes: &[String]) -> Result<Limits, Failure> {
    for change in changes {
        limits.set(change).map_err(|error| Failure::Input(format!("--limit: {error}")))?;
    }
    Ok(limits)
}

/// Makes a file that only its owner may read.
fn new_file(path: &Path) -> Result<File, Failure> {
    let mut options = OpenOptions::new();
    let made = options.write(true).create_new(true).mode(0o600).open(path);
    made.map_err(|error| Failure::Input(format!("--output: {}: {error}", path.display())))
}

fn list(file: &TokenFile, has_single: bool) -> Result<(), Failure> {
    let now = SystemTime::now();
    output::print(|out| {
        writeln!(out, "{:<24} {:<24} {:<24} {:<16} limits", "name", "rights", "tenant", "expires")?;
        if has_single {
            writeln!(
                out,
                "{:<24} {:<24} {:<24} never (the file token)",
                "token", "read,register,operate", "token"
            )?;
        }
        for (name, entry) in file.entries() {
            let expires = match entry.expires.map(|expires| expires.duration_since(now)) {
                None => "never".to_owned(),
                Some(Ok(left)) => format!("in {:.1} days", left.as_secs_f64() / 86_400.0),
                Some(Err(_)) => "expired".to_owned(),
            };
            let (rights, tenant) =
                (entry.rights.to_string(), entry.tenant.as_ref().unwrap_or(name));
            let line =
                format!("{name:<24} {rights:<24} {tenant:<24} {expires:<16} {}", entry.limits);
            writeln!(out, "{}", line.trim_end())?;
        }
        Ok(())
    })
}
