//! Makes certificates: that of the CA, and those that it signs.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use covey_api::CredentialError;
use rcgen::{
    BasicConstraints, CertificateParams, CertificateRevocationListParams, DnType, IsCa, Issuer,
    KeyIdMethod, KeyPair, KeyUsagePurpose, RevokedCertParams, SerialNumber,
};

use super::certificate::Revoked;
use super::owner::Kept;

/// For how long certificates are valid, unless another time is chosen.
pub const VALIDITY: Duration = Duration::from_secs(5 * 365 * DAY);

/// For how long the certificate of the CA is valid.
const CA_VALIDITY: Duration = Duration::from_secs(10 * 365 * DAY);

/// For how long a certificate is valid before it is made, for clocks that are behind.
const BEHIND: Duration = Duration::from_secs(DAY);

/// Seconds of a day.
pub(super) const DAY: u64 = 86_400;

/// The parameters of the CA's certificate.
pub(super) fn authority(valid: Option<Duration>) -> Result<CertificateParams, CredentialError> {
    let mut ca = params("Covey private CA", &[], valid.unwrap_or(CA_VALIDITY))?;
    ca.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    ca.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    Ok(ca)
}

/// The certificate `kept` for these names, of this key, in PEM.
pub(super) fn signed(
    issuer: &Issuer<'_, KeyPair>,
    kept: &Kept,
    names: &[String],
    key: &KeyPair,
    valid: Duration,
) -> Result<String, CredentialError> {
    let mut params = params(kept.subject, names, valid)?;
    // Explicitly, so that the certificate has an identifier of its key: strict verification needs
    // that of both sides.
    params.is_ca = IsCa::ExplicitNoCa;
    params.use_authority_key_identifier_extension = true;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![kept.usage.clone()];
    Ok(params.signed_by(key, issuer).map_err(make)?.pem())
}

/// A list of revoked certificates, in PEM.
pub(super) fn revocation_list(
    issuer: &Issuer<'_, KeyPair>,
    revoked: &Revoked,
) -> Result<String, CredentialError> {
    let time = |seconds: i64| {
        rcgen::date_time_ymd(1970, 1, 1) + Duration::from_secs(seconds.try_into().unwrap_or(0))
    };
    let now = now_s();
    let certificates = revoked.serials.iter().map(|(serial, since)| RevokedCertParams {
        serial_number: SerialNumber::from_slice(&serial.0),
        revocation_time: time(*since),
        reason_code: None,
        invalidity_date: None,
    });
    let list = CertificateRevocationListParams {
        this_update: time(now),
        // A list counts until there is a new one.
        next_update: time(now + CA_VALIDITY.as_secs() as i64),
        crl_number: SerialNumber::from(revoked.number),
        issuing_distribution_point: None,
        revoked_certs: certificates.collect(),
        key_identifier_method: KeyIdMethod::Sha256,
    };
    list.signed_by(issuer).map_err(make)?.pem().map_err(make)
}

/// Seconds since 1970.
pub(super) fn now_s() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    since.as_secs().try_into().unwrap_or(i64::MAX)
}

fn params(
    name: &str,
    names: &[String],
    valid: Duration,
) -> Result<CertificateParams, CredentialError> {
    let mut params = CertificateParams::new(names).map_err(make)?;
    params.distinguished_name.push(DnType::CommonName, name);
    let now = rcgen::date_time_ymd(1970, 1, 1) + Duration::from_secs(now_s().max(0) as u64);
    // Not the one that follows from the key, which a renewed certificate may share.
    let mut serial = [0; 16];
    getrandom::fill(&mut serial).map_err(|error| CredentialError::Make(error.to_string()))?;
    // A positive number, with the same length each time.
    serial[0] = serial[0] & 0x3f | 0x40;
    params.serial_number = Some(SerialNumber::from_slice(&serial));
    params.not_before = now - BEHIND;
    params.not_after = now + valid;
    Ok(params)
}

#[expect(clippy::needless_pass_by_value, reason = "it maps an error")]
pub(super) fn make(error: rcgen::Error) -> CredentialError {
    CredentialError::Make(error.to_string())
}
