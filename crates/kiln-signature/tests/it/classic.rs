//! Classic signatures.

use kiln_signature::{Rejection, SignedImage};

use super::{DIGEST, IMAGE, KEYS, SIGNATURE, Vector};

#[test]
fn each_type_of_key_verifies_its_signatures() {
    for (signed, name) in KEYS {
        let vector = Vector::classic("good", signed);
        let names = ["other", "p256", "p384", "ed25519", "rsa", "rsa3072"];
        assert_eq!(vector.check_for(&IMAGE, &names).unwrap(), name);
        // Keys of other types, and another one of the same type.
        for other in names.iter().filter(|other| **other != name) {
            let result = vector.check_for(&IMAGE, &[other]);
            assert_eq!(result, Err(Rejection::OtherKey), "{signed} {other}");
        }
    }
}

#[test]
fn no_key_verifies_nothing() {
    let result = Vector::classic("good", "p256").check_for(&IMAGE, &[]);
    assert_eq!(result, Err(Rejection::OtherKey));
}

#[test]
fn each_altered_byte_is_noticed() {
    for (signed, name) in KEYS {
        let vector = Vector::classic("good", signed);
        for at in (0..vector.bytes.len()).step_by(7) {
            let mut altered = vector.clone();
            altered.bytes[at] ^= 1;
            let result = altered.check_for(&IMAGE, &[name]);
            assert_eq!(result, Err(Rejection::OtherKey), "{signed} {at}");
        }
        let mut longer = vector.clone();
        longer.bytes.push(b'\n');
        assert_eq!(longer.check_for(&IMAGE, &[name]), Err(Rejection::OtherKey));
    }
}

#[test]
fn the_signature_of_another_payload_is_refused() {
    let mut mixed = Vector::classic("good", "p256");
    mixed.annotations = Vector::classic("other-digest", "p256").annotations;
    assert_eq!(mixed.check(), Err(Rejection::OtherKey));
}

#[test]
fn base64_is_strict() {
    let good = Vector::classic("good", "p256");
    let text = &good.annotations[SIGNATURE];
    let url_safe = text.replace('+', "-").replace('/', "_");
    let cases = [
        text[..text.len() - 1].to_owned(),
        text[..text.len() - 5].to_owned(),
        text.trim_end_matches('=').to_owned() + "=====",
        format!("{text}\n"),
        format!(" {text}"),
        format!("{}\n{}", &text[..40], &text[40..]),
        format!("{text}{text}="),
        "!".to_owned(),
    ];
    for case in cases {
        let mut altered = good.clone();
        altered
            .annotations
            .insert(SIGNATURE.to_owned(), case.clone());
        let result = altered.check();
        assert_eq!(result, Err(Rejection::Base64("signature")), "{case:?}");
    }
    let mut altered = good.clone();
    altered.annotations.insert(SIGNATURE.to_owned(), url_safe);
    assert_eq!(altered.check().is_ok(), !text.contains(['+', '/']));
    altered
        .annotations
        .insert(SIGNATURE.to_owned(), String::new());
    assert_eq!(altered.check(), Err(Rejection::OtherKey));
    altered.annotations.clear();
    assert_eq!(altered.check(), Err(Rejection::Field(SIGNATURE)));
}

#[test]
fn the_digest_has_to_be_the_signed_one() {
    let result = Vector::classic("other-digest", "p256").check();
    assert!(
        matches!(result, Err(Rejection::OtherDigest(_))),
        "{result:?}"
    );
    let hex = DIGEST.trim_start_matches("sha256:");
    for digest in ["", hex, &DIGEST[..70], &DIGEST.to_uppercase(), "sha512:00"] {
        let image = SignedImage { digest, ..IMAGE };
        let result = Vector::classic("good", "p256").check_for(&image, &["p256"]);
        assert!(matches!(result, Err(Rejection::OtherDigest(_))), "{digest}");
    }
}

#[test]
fn the_repository_has_to_be_the_signed_one() {
    for name in ["good", "tagged", "digested"] {
        assert_eq!(Vector::classic(name, "p256").check().unwrap(), "p256");
    }
    for name in ["other-repository", "longer-repository", "hub"] {
        let vector = Vector::classic(name, "p256");
        let result = vector.check();
        let is_repository = matches!(result, Err(Rejection::OtherRepository { .. }));
        assert!(is_repository, "{name} {result:?}");
        let any = SignedImage {
            repository: None,
            ..IMAGE
        };
        assert_eq!(vector.check_for(&any, &["p256"]).unwrap(), "p256");
    }
    let repositories = [
        ("docker.io/library/function", true),
        ("index.docker.io/library/function", true),
        ("docker.io/library/function2", false),
        ("example.com/library/function", false),
        ("library/function", false),
    ];
    for (repository, is_same) in repositories {
        let image = SignedImage {
            repository: Some(repository),
            ..IMAGE
        };
        let result = Vector::classic("hub", "p256").check_for(&image, &["p256"]);
        assert_eq!(result.is_ok(), is_same, "{repository}");
    }
    let no_identity = Vector::classic("no-identity", "p256").check();
    let field = "critical.identity.docker-reference";
    assert_eq!(no_identity, Err(Rejection::Field(field)));
}

#[test]
fn ambiguous_and_invalid_payloads_are_refused() {
    let names = [
        "duplicate-critical",
        "escaped-duplicate",
        "duplicate-digest",
        "duplicate-optional",
        "trailing",
        "byte-order-mark",
        "not-json",
        "deep",
    ];
    for name in names {
        let result = Vector::classic(name, "p256").check();
        let is_json = matches!(
            result,
            Err(Rejection::Json {
                part: "payload",
                ..
            })
        );
        assert!(is_json, "{name} {result:?}");
        let is_repeated = format!("{result:?}").contains("is repeated");
        assert_eq!(is_repeated, name.contains("duplicate"), "{name} {result:?}");
    }
    let list = Vector::classic("list", "p256").check();
    assert_eq!(list, Err(Rejection::Field("critical.type")));
    let other_type = Vector::classic("other-type", "p256").check();
    assert!(matches!(other_type, Err(Rejection::Value { .. })));
}

#[test]
fn a_certificate_is_explained_unless_a_key_verifies() {
    let mut vector = Vector::classic("good", "p256");
    let certificate = String::from_utf8(super::file("certificate.pem")).unwrap();
    vector
        .annotations
        .insert("dev.sigstore.cosign/certificate".to_owned(), certificate);
    assert_eq!(vector.check().unwrap(), "p256");
    let result = vector.check_for(&IMAGE, &["other"]);
    assert_eq!(result, Err(Rejection::Keyless));
}
