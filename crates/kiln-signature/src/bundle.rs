//! Sigstore bundles, version 0.3: a DSSE envelope with an in-toto statement.

use crate::public_key::PublicKey;
use crate::rejection::{Rejection, quoted};
use crate::strict_json::StrictJson;
use crate::{SignedImage, decode_base64, find_key};

/// The media types of version 0.3: of today, and the older spelling.
pub(crate) const MEDIA_TYPES: [&str; 2] = [
    "application/vnd.dev.sigstore.bundle.v0.3+json",
    "application/vnd.dev.sigstore.bundle+json;version=0.3",
];
const PAYLOAD_TYPE: &str = "application/vnd.in-toto+json";
const STATEMENT_TYPES: [&str; 2] = [
    "https://in-toto.io/Statement/v1",
    "https://in-toto.io/Statement/v0.1",
];
const PREDICATE_TYPE: &str = "https://sigstore.dev/cosign/sign/v1";
/// How many digests of subjects a message lists.
const MAX_LISTED: usize = 3;

/// The key that made a bundle of the image.
pub(crate) fn verify<'k>(
    bytes: &[u8],
    image: &SignedImage<'_>,
    keys: &'k [PublicKey],
) -> Result<&'k PublicKey, Rejection> {
    let bundle = StrictJson::parse("bundle", bytes)?;
    expect("mediaType", bundle.text(&["mediaType"]), &MEDIA_TYPES)?;
    if bundle.get(&["messageSignature"]).is_some() {
        return Err(Rejection::MessageSignature);
    }
    let envelope = bundle.get(&["dsseEnvelope"]);
    let envelope = envelope.ok_or(Rejection::Field("dsseEnvelope"))?;
    let payload_type = envelope.text(&["payloadType"]);
    let payload_type = expect("payloadType", payload_type, &[PAYLOAD_TYPE])?;
    let payload = envelope.text(&["payload"]);
    let payload = payload.ok_or(Rejection::Field("dsseEnvelope.payload"))?;
    let payload = decode_base64("payload", payload)?;
    let signatures = envelope.list(&["signatures"]);
    let signature = match signatures.ok_or(Rejection::Field("dsseEnvelope.signatures"))? {
        [signature] => signature.text(&["sig"]),
        signatures => return Err(Rejection::EnvelopeSignatures(signatures.len())),
    };
    let signature = signature.ok_or(Rejection::Field("dsseEnvelope.signatures[0].sig"))?;
    let signature = decode_base64("signature", signature)?;
    let message = pre_authentication_encoding(payload_type, &payload);
    let key = find_key(keys, &message, &signature, has_certificate(&bundle))?;
    check_statement(&payload, image)?;
    Ok(key)
}

/// The bytes that are signed. The lengths make type and payload unambiguous.
fn pre_authentication_encoding(payload_type: &str, payload: &[u8]) -> Vec<u8> {
    let head = format!(
        "DSSEv1 {} {payload_type} {} ",
        payload_type.len(),
        payload.len()
    );
    [head.as_bytes(), payload].concat()
}

fn has_certificate(bundle: &StrictJson) -> bool {
    ["certificate", "x509CertificateChain"]
        .iter()
        .any(|form| bundle.get(&["verificationMaterial", form]).is_some())
}

/// Checks what was signed.
fn check_statement(payload: &[u8], image: &SignedImage<'_>) -> Result<(), Rejection> {
    let statement = StrictJson::parse("statement", payload)?;
    expect("_type", statement.text(&["_type"]), &STATEMENT_TYPES)?;
    let predicate_type = statement.text(&["predicateType"]);
    expect("predicateType", predicate_type, &[PREDICATE_TYPE])?;
    let subjects = statement.list(&["subject"]);
    let subjects = subjects.ok_or(Rejection::Field("subject"))?;
    let (algorithm, hex) = image.digest.split_once(':').unwrap_or_default();
    let digests: Vec<&str> = subjects
        .iter()
        .filter_map(|subject| subject.text(&["digest", algorithm]))
        .collect();
    match digests.contains(&hex) {
        true => Ok(()),
        false => {
            let digests = digests.into_iter().take(MAX_LISTED);
            let found = digests.map(|hex| format!("{algorithm}:{}", quoted(hex)));
            Err(Rejection::OtherDigest(found.collect()))
        }
    }
}

/// A text field with one of the expected values.
fn expect<'a>(
    field: &'static str,
    found: Option<&'a str>,
    expected: &[&'static str],
) -> Result<&'a str, Rejection> {
    let found = found.ok_or(Rejection::Field(field))?;
    match expected {
        _ if expected.contains(&found) => Ok(found),
        [] => Ok(found),
        [first, ..] => Err(Rejection::Value {
            field,
            found: quoted(found),
            expected: first,
        }),
    }
}
