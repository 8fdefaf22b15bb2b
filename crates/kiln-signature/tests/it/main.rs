//! Signatures made with openssl (`tests/vectors/make`), altered ones, and those of cosign (`tests/cosign/make`).

mod bundles;
mod classic;
mod cosign;
mod keys;
mod limits;

use std::collections::BTreeMap;

use kiln_signature::{
    InvalidSignatures, PublicKey, Rejection, Signature, SignatureFormat, SignedImage, verify,
};

/// The digest that the vectors sign: of the text "image".
const DIGEST: &str = "sha256:6105d6cc76af400325e94d588ce511be5bfdbb73b437dc51eca43917d7a43e3d";
const REPOSITORY: &str = "registry.example.com/team/function";
const SIGNATURE: &str = "dev.cosignproject.cosign/signature";
const IMAGE: SignedImage<'_> = SignedImage {
    digest: DIGEST,
    repository: Some(REPOSITORY),
};
/// The keys of good signatures, with the name of the public key.
const KEYS: [(&str, &str); 6] = [
    ("p256", "p256"),
    ("p384", "p384"),
    ("p384-sha256", "p384"),
    ("ed25519", "ed25519"),
    ("rsa", "rsa"),
    ("rsa3072", "rsa3072"),
];

/// A signature of a test.
#[derive(Clone, Debug)]
struct Vector {
    format: SignatureFormat,
    bytes: Vec<u8>,
    annotations: BTreeMap<String, String>,
}

impl Vector {
    fn classic(name: &str, key: &str) -> Vector {
        let signature = String::from_utf8(file(&format!("{name}.{key}.sig"))).unwrap();
        Vector {
            format: SignatureFormat::Classic,
            bytes: file(&format!("{name}.payload")),
            annotations: BTreeMap::from([(SIGNATURE.to_owned(), signature)]),
        }
    }

    fn bundle(name: &str, key: &str) -> Vector {
        Vector {
            format: SignatureFormat::Bundle,
            bytes: file(&format!("{name}.{key}.bundle.json")),
            annotations: BTreeMap::new(),
        }
    }

    /// The bundle with a text replaced, which has to occur.
    fn replace(&self, from: &str, to: &str) -> Vector {
        let text = std::str::from_utf8(&self.bytes).unwrap();
        assert!(text.contains(from), "{from:?} is not in {text}");
        Vector {
            bytes: text.replacen(from, to, 1).into_bytes(),
            ..self.clone()
        }
    }

    fn signature(&self) -> Signature<'_> {
        Signature {
            format: self.format,
            bytes: &self.bytes,
            annotations: &self.annotations,
        }
    }

    /// The name of the key that verifies it.
    fn check_for(&self, image: &SignedImage<'_>, keys: &[&str]) -> Result<String, Rejection> {
        let keys: Vec<PublicKey> = keys.iter().map(|name| key(name)).collect();
        match verify(&[self.signature()], image, &keys) {
            Ok(valid) => {
                assert_eq!(valid.format, self.format);
                Ok(valid.key.name().to_owned())
            }
            Err(InvalidSignatures::Rejected(mut rejections)) => {
                assert_eq!(rejections.len(), 1);
                Err(rejections.remove(0))
            }
            Err(error) => panic!("{error}"),
        }
    }

    /// The result with the key p256.
    fn check(&self) -> Result<String, Rejection> {
        self.check_for(&IMAGE, &["p256"])
    }
}

fn file(name: &str) -> Vec<u8> {
    file_in("vectors", name)
}

fn file_in(directory: &str, name: &str) -> Vec<u8> {
    let path = format!("{}/tests/{directory}/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn key(name: &str) -> PublicKey {
    PublicKey::from_pem(name, &file(&format!("{name}.pub"))).unwrap()
}
