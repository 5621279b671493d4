//! Files with certificates, keys and lists of revoked certificates.

use std::fmt::Display;
use std::fs;
use std::io;
use std::path::Path;

use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{
    CertificateDer, CertificateRevocationListDer, PrivateKeyDer,
};

use crate::credential_error::CredentialError;
use crate::secret_file::check_mode;

/// The certificates in a file.
///
/// # Errors
/// When it cannot be read, or has none.
pub fn read_certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, CredentialError> {
    let pem = fs::read(path).map_err(|source| unreadable(path, source))?;
    parts(path, &pem, "a certificate")
}

/// The lists of revoked certificates in a file; none if there is no such file. A file without a
/// list is an error: it was cut off, and who was revoked is not known.
///
/// # Errors
/// When it cannot be read, or has no list.
pub fn read_revocation_lists(
    path: &Path,
) -> Result<Vec<CertificateRevocationListDer<'static>>, CredentialError> {
    match fs::read(path) {
        // For service managers that hand over a file in any case.
        Ok(text) if text.trim_ascii() == b"none" => Ok(Vec::new()),
        Ok(pem) => parts(path, &pem, "a list of revoked certificates"),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(source) => Err(unreadable(path, source)),
    }
}

/// The key in a file, which only its owner may read.
///
/// # Errors
/// When it cannot be read, or others may read it.
pub fn read_key(path: &Path) -> Result<PrivateKeyDer<'static>, CredentialError> {
    check_mode(path)?;
    PrivateKeyDer::from_pem_file(path).map_err(|error| content(path, &error))
}

/// All parts of one kind.
fn parts<T: PemObject>(path: &Path, pem: &[u8], what: &str) -> Result<Vec<T>, CredentialError> {
    let found: Vec<T> =
        T::pem_slice_iter(pem).collect::<Result<_, _>>().map_err(|error| content(path, &error))?;
    if found.is_empty() {
        return Err(content(path, &format_args!("expected {what}, found none")));
    }
    Ok(found)
}

fn unreadable(path: &Path, source: io::Error) -> CredentialError {
    CredentialError::Io { path: path.to_owned(), source }
}

fn content(path: &Path, what: &dyn Display) -> CredentialError {
    CredentialError::Content { path: path.to_owned(), what: what.to_string() }
}
