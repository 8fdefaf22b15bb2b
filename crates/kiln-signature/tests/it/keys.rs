//! Key files.

use kiln_signature::{KeyType, PublicKey, PublicKeyError};

use super::{file, key};

#[test]
fn the_type_of_a_key_is_known() {
    let types = [
        ("p256", KeyType::EcdsaP256, "ECDSA P-256"),
        ("p384", KeyType::EcdsaP384, "ECDSA P-384"),
        ("ed25519", KeyType::Ed25519, "Ed25519"),
        ("rsa", KeyType::Rsa, "RSA"),
        ("rsa3072", KeyType::Rsa, "RSA"),
    ];
    for (name, key_type, text) in types {
        assert_eq!(key(name).key_type(), key_type);
        assert_eq!(key_type.to_string(), text);
        assert!(format!("{:?}", key(name)).contains(name));
    }
    let marked = ["\u{feff}".as_bytes(), &file("p256.pub")].concat();
    assert_eq!(PublicKey::from_pem("p256", &marked), Ok(key("p256")));
}

#[test]
fn other_files_are_explained() {
    let check = |pem: &[u8], error: PublicKeyError| {
        assert_eq!(PublicKey::from_pem("key", pem), Err(error));
    };
    let section = |label: &str| format!("-----BEGIN {label}-----\nAAAA\n-----END {label}-----\n");
    for label in [
        "PRIVATE KEY",
        "EC PRIVATE KEY",
        "RSA PRIVATE KEY",
        "ENCRYPTED PRIVATE KEY",
        "ENCRYPTED SIGSTORE PRIVATE KEY",
        "ENCRYPTED COSIGN PRIVATE KEY",
        "OPENSSH PRIVATE KEY",
    ] {
        check(section(label).as_bytes(), PublicKeyError::PrivateKey);
    }
    let curve = section("EC PARAMETERS") + &section("EC PRIVATE KEY");
    check(curve.as_bytes(), PublicKeyError::PrivateKey);
    check(&file("certificate.pem"), PublicKeyError::Certificate);
    let chain = [file("certificate.pem"), file("certificate.pem")].concat();
    check(&chain, PublicKeyError::Certificate);
    check(
        section("TRUSTED CERTIFICATE").as_bytes(),
        PublicKeyError::Certificate,
    );
    check(&file("rsa-pkcs1.pub"), PublicKeyError::Pkcs1);
    let pgp = section("PGP PUBLIC KEY BLOCK");
    let label = "PGP PUBLIC KEY BLOCK".to_owned();
    check(pgp.as_bytes(), PublicKeyError::Label(label));
    let two = [file("p256.pub"), file("other.pub")].concat();
    check(&two, PublicKeyError::Sections(2));
    check(b"", PublicKeyError::NotPem);
    check(b"ssh-ed25519 AAAA", PublicKeyError::NotPem);
    check(&[0xff, 0x30, 0], PublicKeyError::NotPem);
}

#[test]
fn unsupported_and_weak_keys_are_refused() {
    for name in ["secp256k1", "p521", "ed448"] {
        let read = PublicKey::from_pem(name, &file(&format!("{name}.pub")));
        assert_eq!(read, Err(PublicKeyError::Unsupported), "{name}");
    }
    let compressed = "\
-----BEGIN PUBLIC KEY-----
MDkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDIgADpnqDPXDl11TRi2s530B2Ob7YzsOw
h+GKNy+J67XMa7w=
-----END PUBLIC KEY-----
";
    let compressed = PublicKey::from_pem("key", compressed.as_bytes());
    assert_eq!(compressed, Err(PublicKeyError::Compressed));
    let small = PublicKey::from_pem("key", &file("rsa1024.pub"));
    assert_eq!(small, Err(PublicKeyError::RsaSize(1024)));
}

#[test]
fn malformed_keys_are_refused() {
    let good = String::from_utf8(file("p256.pub")).unwrap();
    let lines: Vec<&str> = good.lines().collect();
    let without_end = lines[..lines.len() - 1].join("\n");
    let without_line = [&lines[..1], &lines[2..]].concat().join("\n");
    let not_base64 = good.replacen("MFkw", "MF*w", 1);
    let other_tag = good.replacen("MFkw", "MVkw", 1);
    for text in [without_end, without_line, not_base64, other_tag] {
        let read = PublicKey::from_pem("key", text.as_bytes());
        assert_eq!(read, Err(PublicKeyError::Malformed), "{text}");
    }
    let empty = "-----BEGIN PUBLIC KEY-----\n-----END PUBLIC KEY-----\n";
    let read = PublicKey::from_pem("key", empty.as_bytes());
    assert_eq!(read, Err(PublicKeyError::Malformed));
    // Text around the section is allowed, and line ends of Windows.
    let text = format!("The key of a test:\r\n{}", good.replace('\n', "\r\n"));
    assert!(PublicKey::from_pem("key", text.as_bytes()).is_ok());
}
