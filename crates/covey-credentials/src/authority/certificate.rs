//! What a certificate and a list of revoked certificates say.

use std::collections::BTreeMap;
use std::fmt::{self, Display};
use std::net::{Ipv4Addr, Ipv6Addr};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use covey_api::{CredentialError, Credentials};
use tokio_rustls::rustls::pki_types::CertificateDer;
use x509_parser::prelude::{FromDer, GeneralName, X509Certificate};
use x509_parser::revocation_list::CertificateRevocationList;

/// The serial number of a certificate, without zeros in front.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Serial(pub(crate) Vec<u8>);

impl Serial {
    pub(super) fn new(bytes: &[u8]) -> Serial {
        let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
        Serial(bytes[zeros..].to_vec())
    }

    /// The serial number of a certificate, if it is one.
    pub fn of(certificate: &CertificateDer<'_>) -> Option<Serial> {
        let (_, parsed) = X509Certificate::from_der(certificate).ok()?;
        Some(Serial::new(parsed.raw_serial()))
    }
}

impl Display for Serial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// What a certificate says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Certificate {
    /// Its serial number.
    pub serial: Serial,
    /// The names and addresses that it is for.
    pub names: Vec<String>,
    /// When it expires.
    pub expires: SystemTime,
}

impl Certificate {
    /// Reads a certificate.
    pub(super) fn read(der: &[u8]) -> Result<Certificate, CredentialError> {
        let bad = |error: &dyn Display| CredentialError::Use(error.to_string());
        let (_, parsed) = X509Certificate::from_der(der).map_err(|error| bad(&error))?;
        let names = parsed.subject_alternative_name().map_err(|error| bad(&error))?;
        let names = names.map(|names| names.value.general_names.iter().filter_map(name).collect());
        let expires = parsed.validity().not_after.timestamp();
        Ok(Certificate {
            serial: Serial::new(parsed.raw_serial()),
            names: names.unwrap_or_default(),
            expires: UNIX_EPOCH + Duration::from_secs(expires.try_into().unwrap_or(0)),
        })
    }

    /// Seconds until it expires; below zero if it has.
    pub fn expires_in_s(&self, now: SystemTime) -> f64 {
        match self.expires.duration_since(now) {
            Ok(left) => left.as_secs_f64(),
            Err(since) => -since.duration().as_secs_f64(),
        }
    }
}

/// What the certificates in the files of these names say, each with its file's name.
pub(super) fn read_all(
    credentials: &Credentials,
    stems: &[&'static str],
) -> Result<Vec<(&'static str, Certificate)>, CredentialError> {
    let mut found = Vec::new();
    for stem in stems {
        for der in credentials.certificates(stem)? {
            found.push((*stem, Certificate::read(&der)?));
        }
    }
    Ok(found)
}

fn name(name: &GeneralName<'_>) -> Option<String> {
    match name {
        GeneralName::DNSName(name) => Some((*name).to_owned()),
        GeneralName::IPAddress(bytes) => match bytes.len() {
            4 => <[u8; 4]>::try_from(*bytes).ok().map(|it| Ipv4Addr::from(it).to_string()),
            _ => <[u8; 16]>::try_from(*bytes).ok().map(|it| Ipv6Addr::from(it).to_string()),
        },
        _ => None,
    }
}

/// What a list of revoked certificates says.
#[derive(Debug, Clone, Default)]
pub(super) struct Revoked {
    /// The number of the list, which grows with each new one.
    pub number: u64,
    /// When each certificate was revoked, in seconds since 1970.
    pub serials: BTreeMap<Serial, i64>,
}

impl Revoked {
    /// Reads a list.
    pub fn read(der: &[u8]) -> Result<Revoked, CredentialError> {
        let bad = |error: &dyn Display| CredentialError::Use(format!("crl.pem: {error}"));
        let (_, list) = CertificateRevocationList::from_der(der).map_err(|error| bad(&error))?;
        let number = list.crl_number().and_then(|number| number.try_into().ok()).unwrap_or(0);
        let revoked = list.iter_revoked_certificates();
        let serials =
            revoked.map(|it| (Serial::new(it.raw_serial()), it.revocation_date.timestamp()));
        Ok(Revoked { number, serials: serials.collect() })
    }
}
