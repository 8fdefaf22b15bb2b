//! PEM bytes of every kind.

use rustls::RootCertStore;

use crate::{ClientIdentity, ClientTlsError, certificates, client_config, roots_from_pem};

fn generated() -> (String, String) {
    let generated = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    (generated.cert.pem(), generated.signing_key.serialize_pem())
}

#[test]
fn a_bundle_holds_all_its_certificates() {
    let bundle = format!("# two\n{}{}", generated().0, generated().0);
    assert_eq!(certificates(bundle.as_bytes()).unwrap().len(), 2);
    assert_eq!(roots_from_pem(bundle.as_bytes()).unwrap().len(), 2);
}

#[test]
fn a_file_without_certificates_is_an_error() {
    for empty in ["", "nothing", &generated().1] {
        let error = roots_from_pem(empty.as_bytes()).unwrap_err();
        assert!(matches!(error, ClientTlsError::NoCertificate), "{error}");
        assert_eq!(error.to_string(), "contains no certificate");
    }
    let broken = "-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n";
    let error = roots_from_pem(broken.as_bytes()).unwrap_err();
    assert!(matches!(error, ClientTlsError::Pem(_)), "{error}");
}

#[test]
fn a_client_certificate_needs_its_own_key() {
    let (certificate, key) = generated();
    let chain = || certificates(certificate.as_bytes()).unwrap();
    let identity = ClientIdentity::new(chain(), key.as_bytes()).unwrap();
    let config = client_config(RootCertStore::empty(), Some(identity)).unwrap();
    assert!(config.client_auth_cert_resolver.has_certs());
    let other = ClientIdentity::new(chain(), generated().1.as_bytes()).unwrap();
    let error = client_config(RootCertStore::empty(), Some(other)).unwrap_err();
    assert!(matches!(error, ClientTlsError::Unsupported(_)), "{error}");
    let error = ClientIdentity::new(chain(), certificate.as_bytes()).unwrap_err();
    assert!(matches!(error, ClientTlsError::Pem(_)), "{error}");
}
