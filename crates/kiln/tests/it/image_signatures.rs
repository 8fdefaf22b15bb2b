//! `kiln image verify IMAGE --key FILE`: signed images, images without signatures, and key files.

use crate::package_images::registry::TestRegistry;
use crate::test_environment::{Outcome, TestEnvironment};

#[path = "../../../kiln-store/tests/it/sign.rs"]
pub(crate) mod sign;

use sign::{RegistryFile, Signer, bundle_files, classic_files};

const REPOSITORY: &str = "team/function";

struct SignatureTest {
    env: TestEnvironment,
    registry: TestRegistry,
    signer: Signer,
    image: String,
    digest: String,
}

impl SignatureTest {
    /// An image, the key `team.pub` that signs it, and the key `other.pub`.
    fn new() -> SignatureTest {
        let registry = TestRegistry::scripted();
        let mut layer = tar::Builder::new(Vec::new());
        layer.finish().expect("an archive");
        let layers = vec![layer.into_inner().expect("an archive")];
        let digest = registry.push(REPOSITORY, "v1", layers);
        let env = TestEnvironment::new();
        let signer = Signer::new();
        env.write("team.pub", &signer.public_key());
        env.write("other.pub", &Signer::new().public_key());
        SignatureTest {
            image: format!("{}/{REPOSITORY}:v1", registry.host),
            env,
            registry,
            signer,
            digest,
        }
    }

    /// The repository with its registry.
    fn name(&self) -> String {
        format!("{}/{REPOSITORY}", self.registry.host)
    }

    fn put(&self, files: Vec<RegistryFile>) {
        for (path, media_type, body) in files {
            self.registry.say(&path, media_type, &body);
        }
    }

    fn add_classic(&self, name: &str) {
        let signature = self.signer.classic(name, &self.digest);
        self.put(classic_files(REPOSITORY, &self.digest, &[signature]));
    }

    fn verify(&self, args: &[&str]) -> Outcome {
        let mut all = vec!["image", "verify", &self.image];
        all.extend(args);
        self.env.kiln(&all, "")
    }

    #[track_caller]
    fn check(&self, args: &[&str], expected: &str) {
        let outcome = self.verify(args);
        assert_eq!(outcome.code, Some(0), "{outcome:?}");
        let expected = format!("{}@{}: {expected}\n", self.name(), self.digest);
        assert_eq!(outcome.stdout, expected);
        assert_eq!(outcome.stderr, "");
    }

    #[track_caller]
    fn check_error(&self, args: &[&str], parts: &[&str]) {
        let outcome = self.verify(args);
        assert_eq!(outcome.code, Some(1), "{outcome:?}");
        assert_eq!(outcome.stdout, "");
        for part in parts {
            let error = &outcome.stderr;
            assert!(error.contains(part), "{part:?} is not in:\n{error}");
        }
    }
}

#[test]
fn a_signed_image_is_verified_by_one_of_the_keys() {
    let test = SignatureTest::new();
    test.add_classic(&test.name());
    let verified = "classic signature from the registry by team.pub (ECDSA P-256)";
    test.check(&["--key=team.pub"], verified);
    test.check(&["--key=other.pub", "--key=team.pub"], verified);
    test.check_error(
        &["--key=other.pub"],
        &[
            "no signature of ",
            &format!("classic signature of {}: it was not made with", test.digest),
        ],
    );
    let test = SignatureTest::new();
    let bundle = test.signer.bundle(&test.digest);
    test.put(bundle_files(REPOSITORY, &test.digest, bundle, true));
    let verified = "bundle signature from the registry by team.pub (ECDSA P-256)";
    test.check(&["--key=team.pub"], verified);
}

#[test]
fn signatures_are_pulled_with_the_image() {
    let test = SignatureTest::new();
    test.add_classic(&test.name());
    let pulled = test.env.kiln(&["image", "pull", &test.image], "");
    assert_eq!((pulled.code, pulled.stderr.as_str()), (Some(0), ""));
    let verified = "classic signature from the store by team.pub (ECDSA P-256)";
    test.check(&["--key=team.pub", "--image-pull-policy=Never"], verified);
    let verified = "classic signature from the registry by team.pub (ECDSA P-256)";
    test.check(&["--key=team.pub", "--image-pull-policy=Always"], verified);
    // Without an image the files of the store are verified.
    let outcome = test.env.kiln(&["image", "verify"], "");
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    assert!(outcome.stdout.starts_with("1 image(s), "), "{outcome:?}");
}

#[test]
fn unreadable_signatures_do_not_fail_a_pull() {
    let test = SignatureTest::new();
    let tag = test.digest.replace(':', "-");
    let path = format!("/v2/{REPOSITORY}/manifests/{tag}.sig");
    test.registry.say(&path, "text/plain", "no manifest");
    let pulled = test.env.kiln(&["image", "pull", &test.image], "");
    assert_eq!(pulled.code, Some(0), "{pulled:?}");
    let warning = format!("cannot keep the signatures of {}: ", test.image);
    assert!(pulled.stderr.contains(&warning), "{pulled:?}");
    test.check_error(&["--key=team.pub"], &["cannot read the manifest of "]);
}

#[test]
fn errors_of_signatures_have_hints() {
    let test = SignatureTest::new();
    let tag = test.digest.replace(':', "-");
    test.check_error(
        &["--key=team.pub"],
        &[
            "has no signatures; looked for ",
            &format!("{}:{tag}.sig, {}:{tag}\n", test.name(), test.name()),
            "\nhint: sign it with `cosign sign --key KEY ",
        ],
    );
    test.add_classic("example.com/team/function");
    test.check_error(
        &["--key=team.pub"],
        &[
            "it is for another repository: \"example.com/team/function\"",
            "\nhint: if the image was copied from that repository, add --any-repository",
        ],
    );
    let verified = "classic signature from the registry by team.pub (ECDSA P-256)";
    test.check(&["--key=team.pub", "--any-repository"], verified);
    let (mut layer, payload) = Signer::new().classic(&test.name(), &test.digest);
    layer["annotations"]["dev.sigstore.cosign/certificate"] = "certificate".into();
    test.put(classic_files(REPOSITORY, &test.digest, &[(layer, payload)]));
    test.check_error(
        &["--key=team.pub"],
        &[
            "it has a certificate (keyless), which is not supported",
            "\nhint: kiln verifies signatures with keys only",
        ],
    );
}

#[test]
fn other_key_files_are_explained() {
    let test = SignatureTest::new();
    test.env.write("team.key", "-----BEGIN PRIVATE KEY-----\n");
    test.env.write("team.crt", "-----BEGIN CERTIFICATE-----\n");
    test.check_error(
        &["--key=team.key"],
        &[
            "cannot use the key file team.key: it is a private key, expected a public key",
            "`openssl pkey -in team.key -pubout`",
        ],
    );
    test.check_error(
        &["--key=team.crt"],
        &[
            "it is a certificate, expected a public key",
            "\nhint: write the public key with `openssl x509 -in team.crt -noout -pubkey`",
        ],
    );
    test.check_error(&["--key=no.pub"], &["cannot read the key file no.pub"]);
    let usage = |args: &[&str]| {
        let outcome = test.env.kiln(args, "");
        assert_eq!(outcome.code, Some(2), "{outcome:?}");
    };
    usage(&["image", "verify", &test.image]);
    usage(&["image", "verify", "--key=team.pub"]);
    usage(&["image", "verify", "--platform=linux/amd64"]);
    usage(&["image", "verify", &test.image, "--key=team.pub", "--remove"]);
}
