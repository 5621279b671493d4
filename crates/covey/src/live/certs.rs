//! `covey certs`: the certificates of a coordinator's private CA.

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use clap::{Args, Subcommand};
use covey_credentials::{Authority, Issued, Owner, VALIDITY, is_name};

use crate::failure::Failure;
use crate::output;

/// List, renew, extend and revoke the certificates that covey serve --init has made
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  covey certs list --data covey-data
  covey certs renew --data covey-data
  covey certs renew --data covey-data agents/3 --new-key --days 90
  covey certs add-name --data covey-data coordinator.example 10.0.0.9
  covey certs revoke --data covey-data agents/3
OWNER is coordinator, agent (the certificate for any port), agents/PORT or relays/NAME.
A coordinator or relay that runs reads changed files again within seconds, and at once on SIGHUP.
The files of agents and relays are to be copied to their hosts, as after covey serve --init.")]
pub struct Certs {
    #[command(subcommand)]
    action: Action,
}

/// Where the authority is.
#[derive(Debug, Args)]
pub struct Ca {
    /// Folder with the certificates
    #[arg(long, value_name = "FOLDER", default_value = "covey-data")]
    data: PathBuf,
    /// File with the key of the CA [default: ca.key in the folder]
    #[arg(long, value_name = "FILE")]
    ca_key: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List all certificates, with their owners, serial numbers, names, and times of expiry
    List {
        #[command(flatten)]
        ca: Ca,
    },
    /// Make certificates again, with the same CA, names and keys
    Renew {
        #[command(flatten)]
        ca: Ca,
        /// Whose certificates [default: all that the folder has]
        #[arg(value_name = "OWNER")]
        owners: Vec<String>,
        /// Make new keys, too
        #[arg(long)]
        new_key: bool,
        /// The certificate of the CA, too; its key stays, and so does what it has signed
        #[arg(long = "ca")]
        with_ca: bool,
        /// Days for which the certificates are valid, at most until the CA expires
        #[arg(long, value_name = "N", default_value_t = DAYS)]
        days: u32,
    },
    /// Make the coordinator's certificate again with more names or addresses
    AddName {
        #[command(flatten)]
        ca: Ca,
        /// Names or addresses
        #[arg(value_name = "NAME", required = true)]
        names: Vec<String>,
        /// Whose certificate: coordinator or relays/NAME
        #[arg(long, value_name = "OWNER", default_value = "coordinator")]
        of: String,
        /// Days for which the certificate is valid, at most until the CA expires
        #[arg(long, value_name = "N", default_value_t = DAYS)]
        days: u32,
    },
    /// Revoke certificates: the coordinator refuses them, and ends the sessions of their agents
    Revoke {
        #[command(flatten)]
        ca: Ca,
        /// Owners, all of whose certificates are revoked, or serial numbers
        #[arg(value_name = "OWNER|SERIAL", required = true)]
        what: Vec<String>,
    },
}

/// Days for which certificates are valid.
pub const DAYS: u32 = (VALIDITY.as_secs() / DAY) as u32;
const DAY: u64 = 86_400;

/// The time of an option `--days`.
pub fn validity(days: u32) -> Result<Duration, Failure> {
    match days {
        1..=36_500 => Ok(Duration::from_secs(u64::from(days) * DAY)),
        _ => Err(Failure::argument("--days", "from 1 to 36500", days)),
    }
}

/// Checks that texts can be names or addresses in a certificate.
pub fn names(argument: &str, texts: &[String]) -> Result<(), Failure> {
    match texts.iter().find(|text| !is_name(text)) {
        None => Ok(()),
        Some(text) => {
            let expected = "a name or an address, without a port";
            Err(Failure::argument(argument, expected, format!("'{text}'")))
        }
    }
}

impl Ca {
    /// The authority, which must have been made.
    fn authority(self) -> Result<Authority, Failure> {
        let authority = authority(self.data, self.ca_key);
        if !authority.credentials().has_certificates() {
            let folder = authority.credentials().folder().display();
            let expected = "expected a folder with certificates (covey serve --init makes them)";
            return Err(Failure::Input(format!("--data: {expected}, found none in {folder}")));
        }
        Ok(authority)
    }
}

/// The authority of a folder.
pub fn authority(data: PathBuf, ca_key: Option<PathBuf>) -> Authority {
    let authority = Authority::of(&data);
    match ca_key {
        Some(path) => authority.with_ca_key(path),
        None => authority,
    }
}

fn owner(text: &str) -> Result<Owner, Failure> {
    text.parse().map_err(|error| Failure::Input(format!("OWNER: {error}, found '{text}'")))
}

impl Certs {
    /// Runs the command.
    pub fn run(self) -> Result<(), Failure> {
        match self.action {
            Action::List { ca } => list(&ca.authority()?),
            Action::Renew { ca, owners, new_key, with_ca, days } => {
                let authority = ca.authority()?.valid_for(validity(days)?);
                renew(&authority, &owners, new_key, with_ca)
            }
            Action::AddName { ca, names: more, of, days } => {
                names("NAME", &more)?;
                let (authority, of) = (ca.authority()?.valid_for(validity(days)?), owner(&of)?);
                if !matches!(of, Owner::Coordinator | Owner::Relay(_)) {
                    let expected = "coordinator or relays/NAME";
                    return Err(Failure::argument("--of", expected, format!("'{of}'")));
                }
                known(&authority, &of)?;
                authority.renew(&of, &more, false)?;
                output::print(|out| writeln!(out, "{of} has the names {} now", more.join(", ")))
            }
            Action::Revoke { ca, what } => revoke(&ca.authority()?, &what),
        }
    }
}

/// Checks that an owner has certificates.
fn known(authority: &Authority, owner: &Owner) -> Result<(), Failure> {
    let owners = authority.owners()?;
    if owners.contains(owner) {
        return Ok(());
    }
    let known = owners.iter().map(Owner::to_string).collect::<Vec<_>>().join(", ");
    Err(Failure::Input(format!("OWNER: expected one of {known}, found '{owner}'")))
}

fn list(authority: &Authority) -> Result<(), Failure> {
    let (issued, now) = (authority.issued()?, SystemTime::now());
    output::print(|out| {
        writeln!(out, "{:<20} {:<40} {:>8}  names", "owner", "serial", "days")?;
        for Issued { owner, certificate, is_current, is_revoked } in &issued {
            let days = certificate.expires_in_s(now) / DAY as f64;
            let state = match (is_revoked, days > 0.0, is_current) {
                (true, ..) => " (revoked)",
                (_, false, _) => " (expired)",
                (.., false) => " (replaced)",
                _ => "",
            };
            let (owner, names) = (owner.to_string(), certificate.names.join(" "));
            let serial = certificate.serial.to_string();
            writeln!(out, "{owner:<20} {serial:<40} {:>8.0}  {names}{state}", days.floor())?;
        }
        Ok(())
    })
}

fn renew(
    authority: &Authority,
    texts: &[String],
    new_key: bool,
    with_ca: bool,
) -> Result<(), Failure> {
    let owners = match texts {
        [] => authority.owners()?,
        texts => texts.iter().map(|text| owner(text)).collect::<Result<Vec<_>, _>>()?,
    };
    owners.iter().try_for_each(|owner| known(authority, owner))?;
    if with_ca {
        authority.renew_ca()?;
        output::print(|out| writeln!(out, "renewed ca"))?;
    }
    for owner in owners {
        authority.renew(&owner, &[], new_key)?;
        output::print(|out| writeln!(out, "renewed {owner}"))?;
    }
    Ok(())
}

fn revoke(authority: &Authority, texts: &[String]) -> Result<(), Failure> {
    let issued = authority.issued()?;
    let mut serials = Vec::new();
    for text in texts {
        let owner: Option<Owner> = text.parse().ok();
        let found = issued.iter().filter(|it| match &owner {
            Some(owner) => it.owner == *owner,
            None => it.certificate.serial.to_string() == text.to_lowercase(),
        });
        let before = serials.len();
        serials.extend(found.map(|it| it.certificate.serial.clone()));
        if serials.len() == before {
            let expected = "an owner or a serial number that covey certs list shows";
            return Err(Failure::argument("OWNER|SERIAL", expected, format!("'{text}'")));
        }
    }
    authority.revoke(serials.iter().cloned())?;
    output::print(|out| serials.iter().try_for_each(|serial| writeln!(out, "revoked {serial}")))
}
