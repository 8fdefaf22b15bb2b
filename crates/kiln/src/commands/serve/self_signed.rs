//! `kiln serve --tls-self-signed`: certificates for a try-out.
//!
//! A new CA signs a certificate for this machine at every start. Only the key of the certificate is written; that of the CA is
//! forgotten, so that nothing else can be signed with it.

use std::fs;
use std::io::Write;
use std::net::IpAddr;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use function_runner::TlsFiles;
use jiff::{Timestamp, ToSpan, tz::TimeZone};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyPair, KeyUsagePurpose, date_time_ymd,
};

use crate::environment::own_cache_directory;

/// How many days the certificates are valid.
const VALID_DAYS: i64 = 30;

/// The files of the server, and the CA certificate for its clients.
pub(super) struct SelfSigned {
    pub(super) files: TlsFiles,
    pub(super) ca: PathBuf,
}

/// Creates a CA and a certificate for `localhost`, the loopback addresses and `address`.
pub(super) fn create(address: Option<IpAddr>) -> Result<SelfSigned> {
    let directory = own_cache_directory()?.join("kiln/serve-tls");
    let mut names = vec![
        "localhost".to_owned(),
        "127.0.0.1".to_owned(),
        "::1".to_owned(),
    ];
    names.extend(address.map(|address| address.to_string()));
    names.dedup();
    let written = issue(&names).and_then(|issued| write(&directory, &issued));
    written.context("cannot create certificates for --tls-self-signed")
}

/// PEM texts.
struct Issued {
    ca: String,
    certificate: String,
    key: String,
}

fn issue(names: &[String]) -> Result<Issued> {
    let mut ca = params(Vec::new(), "kiln serve, CA for a try-out")?;
    ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    ca.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    let ca = CertifiedIssuer::self_signed(ca, KeyPair::generate()?)?;
    let mut server = params(names.to_vec(), "kiln serve")?;
    server.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    server.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    let key = KeyPair::generate()?;
    let certificate = server.signed_by(&key, &ca)?;
    Ok(Issued {
        ca: ca.pem(),
        certificate: certificate.pem(),
        key: key.serialize_pem(),
    })
}

fn params(names: Vec<String>, common_name: &str) -> Result<CertificateParams> {
    let mut params = CertificateParams::new(names)?;
    params
        .distinguished_name
        .push(DnType::CommonName, common_name);
    let today = Timestamp::now().to_zoned(TimeZone::UTC);
    let day = |days: i64| -> Result<_> {
        let date = today.checked_add(days.days())?.date();
        let (month, day) = (date.month().unsigned_abs(), date.day().unsigned_abs());
        Ok(date_time_ymd(date.year().into(), month, day))
    };
    // Clocks differ.
    params.not_before = day(-1)?;
    params.not_after = day(VALID_DAYS)?;
    Ok(params)
}

fn write(directory: &Path, issued: &Issued) -> Result<SelfSigned> {
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(directory)?;
    let file = |name: &str, text: &str| -> Result<PathBuf> {
        let path = directory.join(name);
        let temporary = directory.join(format!("{name}.{}", std::process::id()));
        let mut options = fs::OpenOptions::new();
        let options = options.write(true).create(true).truncate(true).mode(0o600);
        options.open(&temporary)?.write_all(text.as_bytes())?;
        fs::rename(&temporary, &path)?;
        Ok(path)
    };
    Ok(SelfSigned {
        ca: file("ca.pem", &issued.ca)?,
        files: TlsFiles {
            certificate: file("cert.pem", &issued.certificate)?,
            key: file("key.pem", &issued.key)?,
            client_ca: None,
        },
    })
}
