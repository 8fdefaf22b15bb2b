//! Sigstore bundles.

use kiln_signature::{Rejection, SignatureFormat, SignedImage};

use super::{DIGEST, IMAGE, KEYS, Vector};

#[test]
fn each_type_of_key_verifies_its_bundles() {
    for (signed, name) in KEYS {
        let vector = Vector::bundle("good", signed);
        let names = ["other", "p256", "p384", "ed25519", "rsa", "rsa3072"];
        assert_eq!(vector.check_for(&IMAGE, &names).unwrap(), name);
        for other in names.iter().filter(|other| **other != name) {
            let result = vector.check_for(&IMAGE, &[other]);
            assert_eq!(result, Err(Rejection::OtherKey), "{signed} {other}");
        }
    }
}

#[test]
fn the_older_spelling_of_the_media_type_is_read() {
    let good = Vector::bundle("good", "p256");
    let old = good.replace(".v0.3+json", "+json;version=0.3");
    assert_eq!(old.check().unwrap(), "p256");
    for (text, format) in [
        (
            "application/vnd.dev.sigstore.bundle.v0.3+json",
            Some(SignatureFormat::Bundle),
        ),
        (
            "application/vnd.dev.sigstore.bundle+json;version=0.3",
            Some(SignatureFormat::Bundle),
        ),
        (
            "application/vnd.dev.cosign.simplesigning.v1+json",
            Some(SignatureFormat::Classic),
        ),
        ("application/vnd.dev.sigstore.bundle.v0.4+json", None),
        ("application/json", None),
    ] {
        assert_eq!(SignatureFormat::of_media_type(text), format, "{text}");
    }
    let new = good.replace("v0.3", "v0.9").check();
    assert!(matches!(
        new,
        Err(Rejection::Value {
            field: "mediaType",
            ..
        })
    ));
}

#[test]
fn the_signed_bytes_are_the_encoding_of_type_and_payload() {
    for name in [
        "no-encoding",
        "signed-other-type",
        "wrong-length",
        "type-with-payload",
        "classic-signature",
    ] {
        let result = Vector::bundle(name, "p256").check();
        assert_eq!(result, Err(Rejection::OtherKey), "{name}");
    }
    let other_type = Vector::bundle("other-type", "p256").check();
    let field = "payloadType";
    assert!(matches!(other_type, Err(Rejection::Value { field: found, .. }) if found == field));
    // Type and payload cannot exchange bytes.
    let good = Vector::bundle("good", "p256");
    let moved = good
        .replace("vnd.in-toto+json", "vnd.in-toto+json 4 ")
        .check();
    assert!(matches!(moved, Err(Rejection::Value { .. })));
}

#[test]
fn what_is_signed_has_to_be_a_signature_of_the_image() {
    let check = |name| Vector::bundle(name, "p256").check();
    let is_value = |name, expected| {
        let result = check(name);
        let found = matches!(&result, Err(Rejection::Value { field, .. }) if *field == expected);
        assert!(found, "{name} {result:?}");
    };
    is_value("attestation", "predicateType");
    is_value("other-statement", "_type");
    assert!(
        matches!(check("other-digest"), Err(Rejection::OtherDigest(found)) if found.len() == 1)
    );
    assert_eq!(check("no-subject"), Err(Rejection::OtherDigest(Vec::new())));
    assert_eq!(check("classic-payload"), Err(Rejection::Field("_type")));
    assert_eq!(check("message"), Err(Rejection::MessageSignature));
    let duplicate = check("duplicate-subject");
    assert!(matches!(
        duplicate,
        Err(Rejection::Json {
            part: "statement",
            ..
        })
    ));
    for digest in [
        "",
        ":",
        "sha256:",
        &DIGEST[..70],
        "sha512:6105",
        "digest:sha256",
    ] {
        let image = SignedImage { digest, ..IMAGE };
        let result = Vector::bundle("good", "p256").check_for(&image, &["p256"]);
        assert!(matches!(result, Err(Rejection::OtherDigest(_))), "{digest}");
    }
}

#[test]
fn altered_bundles_are_refused() {
    let good = Vector::bundle("good", "p256");
    let signature = |to| good.replace("\"signatures\":[{", to).check();
    assert_eq!(
        signature("\"signatures\":[{\"sig\":\"AAAA\"},{"),
        Err(Rejection::EnvelopeSignatures(2))
    );
    let repeated = signature("\"signatures\":[{\"sig\":\"AAAA\",");
    assert!(matches!(
        repeated,
        Err(Rejection::Json { part: "bundle", .. })
    ));
    let repeated = good
        .replace("\"payload\":", "\"payload\":\"AAAA\",\"payload\":")
        .check();
    assert!(matches!(
        repeated,
        Err(Rejection::Json { part: "bundle", .. })
    ));
    let space = good.replace("\"payload\":\"", "\"payload\":\" ").check();
    assert_eq!(space, Err(Rejection::Base64("payload")));
    let line = good.replace("\"sig\":\"", "\"sig\":\"\\n").check();
    assert_eq!(line, Err(Rejection::Base64("signature")));
    let other = good.replace("\"sig\":\"M", "\"sig\":\"N").check();
    assert_eq!(other, Err(Rejection::OtherKey));
    let missing = good.replace("dsseEnvelope", "envelope").check();
    assert_eq!(missing, Err(Rejection::Field("dsseEnvelope")));
    let missing = good.replace("\"sig\"", "\"signature\"").check();
    assert_eq!(
        missing,
        Err(Rejection::Field("dsseEnvelope.signatures[0].sig"))
    );
    let both = good.replace(
        "\"dsseEnvelope\"",
        "\"messageSignature\":{},\"dsseEnvelope\"",
    );
    assert_eq!(both.check(), Err(Rejection::MessageSignature));
}

#[test]
fn every_shortened_bundle_is_refused() {
    let good = Vector::bundle("good", "p256");
    for length in 0..good.bytes.len() {
        let mut short = good.clone();
        short.bytes.truncate(length);
        assert!(short.check().is_err(), "{length}");
    }
}

#[test]
fn a_certificate_is_explained() {
    let vector = Vector::bundle("certificate", "other");
    assert_eq!(vector.check(), Err(Rejection::Keyless));
    let message = Rejection::Keyless.to_string();
    assert_eq!(
        message,
        "it has a certificate (keyless), which is not supported"
    );
}
