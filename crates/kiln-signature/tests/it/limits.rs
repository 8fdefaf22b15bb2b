//! Number and size of signatures.

use kiln_signature::{
    InvalidSignatures, MAX_SIGNATURE_BYTES, MAX_SIGNATURES, Rejection, Signature, verify,
};

use super::{IMAGE, SIGNATURE, Vector, key};

#[test]
fn thirty_two_signatures_are_read_and_one_more_is_an_error() {
    let keys = [key("p256")];
    let other = Vector::bundle("good", "p384");
    let good = Vector::classic("good", "p256");
    let mut signatures: Vec<Signature<'_>> = vec![other.signature(); MAX_SIGNATURES - 1];
    signatures.push(good.signature());
    assert_eq!(signatures.len(), 32);
    assert!(verify(&signatures, &IMAGE, &keys).is_ok());
    // Also if the first one is valid.
    signatures.insert(0, good.signature());
    let error = verify(&signatures, &IMAGE, &keys).unwrap_err();
    assert_eq!(error, InvalidSignatures::TooMany(33));
    assert_eq!(
        error.to_string(),
        "there are 33 signatures, more than the limit of 32"
    );
}

#[test]
fn each_rejected_signature_has_its_reason() {
    let keys = [key("p256")];
    let vectors = [
        Vector::bundle("good", "p384"),
        Vector::classic("other-digest", "p256"),
        Vector::bundle("certificate", "other"),
    ];
    let signatures: Vec<Signature<'_>> = vectors.iter().map(Vector::signature).collect();
    let Err(InvalidSignatures::Rejected(rejections)) = verify(&signatures, &IMAGE, &keys) else {
        panic!("no signature is valid");
    };
    assert!(matches!(
        rejections.as_slice(),
        [
            Rejection::OtherKey,
            Rejection::OtherDigest(_),
            Rejection::Keyless
        ]
    ));
    let none = verify(&[], &IMAGE, &keys).unwrap_err();
    assert_eq!(none, InvalidSignatures::Rejected(Vec::new()));
}

#[test]
fn large_signatures_are_not_read() {
    for mut vector in [
        Vector::classic("good", "p256"),
        Vector::bundle("good", "p256"),
    ] {
        vector.bytes.resize(MAX_SIGNATURE_BYTES, b' ');
        assert_ne!(vector.check(), Err(Rejection::TooLarge));
        vector.bytes.push(b' ');
        assert_eq!(vector.check(), Err(Rejection::TooLarge));
    }
    let mut vector = Vector::classic("good", "p256");
    let large = "A".repeat(MAX_SIGNATURE_BYTES + 1);
    vector.annotations.insert(SIGNATURE.to_owned(), large);
    assert_eq!(vector.check(), Err(Rejection::TooLarge));
}
