//! The table of decisions.

use kiln_runtime::FunctionPin;

use super::*;

/// A public key whose private key was thrown away.
pub(crate) const KEY: &str = "-----BEGIN PUBLIC KEY-----\n\
MCowBQYDK2VwAyEAvn4CFgM92EP/e9hhLE9w/C5RfXMXT2S3CbxlbZtR4CQ=\n\
-----END PUBLIC KEY-----\n";

const DIGEST: &str = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

fn policy(texts: &[(&str, &str)]) -> Policy {
    let files = texts
        .iter()
        .map(|(path, text)| PolicyFile::parse(path, text.as_bytes()).unwrap());
    Policy {
        files: files.collect(),
    }
}

const RULES: &str = "\
version: 1
default: deny
rules:
- match: ghcr.io/team/
  allow: [native, image]
- match: ghcr.io/team/pinned/
  require: [digest]
- match: ghcr.io/team/evil
  allow: []
- match: quay.io/
  network: deny
  max: {time: 60s, memory: 1Gi}
- match: ghcr.io/catalog/
starlark: deny
";

/// One line for each decision.
fn table(policy: &Policy, functions: &[FunctionSpec], ways: &[RunWay]) -> String {
    let mut table = String::new();
    for function in functions {
        for way in ways {
            let decided = match policy.decide(function, *way, None) {
                Ok(Permission {
                    warning: Some(place),
                    ..
                }) => format!("warning ({place})"),
                Ok(permission) => format!("allowed {:?}", permission.max.time),
                Err(refusal) => format!("{} ({})", refusal.reason, refusal.place),
            };
            table.push_str(&format!("{} {way}: {decided}\n", function.name()));
        }
    }
    table
}

#[test]
fn the_longest_match_decides() {
    let policy = policy(&[("p", RULES)]);
    let image = |name: &str| FunctionSpec::image(name);
    let with_network = FunctionSpec {
        network: Network::Host,
        ..image("quay.io/a:v1")
    };
    let functions = [
        image("ghcr.io/team/a:v1"),
        image("ghcr.io/team/evil:v1"),
        image("ghcr.io/team/evil/child:v1"),
        image("ghcr.io/team/pinned/a:v1"),
        image(&format!("ghcr.io/team/pinned/a:v1@{DIGEST}")),
        image("quay.io/a:v1"),
        with_network,
        image("ghcr.io/catalog/starlark:v0.5"),
        image("ghcr.io/catalog/set-labels:v0.2"),
        image("other.io/a"),
        image("Not An Image"),
        FunctionSpec::exec("./run.sh"),
        FunctionSpec::new(Target::Program("/bin/sh".to_owned())),
    ];
    let expected = "\
ghcr.io/team/a:v1 native: allowed None
ghcr.io/team/a:v1 engine: rule \"ghcr.io/team/\" allows only these ways to run it: native, image (p:4)
ghcr.io/team/evil:v1 native: rule \"ghcr.io/team/evil\" allows no way to run it (p:8)
ghcr.io/team/evil:v1 engine: rule \"ghcr.io/team/evil\" allows no way to run it (p:8)
ghcr.io/team/evil/child:v1 native: allowed None
ghcr.io/team/evil/child:v1 engine: rule \"ghcr.io/team/\" allows only these ways to run it: native, image (p:4)
ghcr.io/team/pinned/a:v1 native: rule \"ghcr.io/team/pinned/\" requires a digest (p:6)
ghcr.io/team/pinned/a:v1 engine: rule \"ghcr.io/team/pinned/\" requires a digest (p:6)
ghcr.io/team/pinned/a:v1@DIGEST native: allowed None
ghcr.io/team/pinned/a:v1@DIGEST engine: allowed None
quay.io/a:v1 native: allowed Some(60s)
quay.io/a:v1 engine: allowed Some(60s)
quay.io/a:v1 native: rule \"quay.io/\" denies the network (p:10)
quay.io/a:v1 engine: rule \"quay.io/\" denies the network (p:10)
ghcr.io/catalog/starlark:v0.5 native: Starlark scripts are denied (p:14)
ghcr.io/catalog/starlark:v0.5 engine: Starlark scripts are denied (p:14)
ghcr.io/catalog/set-labels:v0.2 native: allowed None
ghcr.io/catalog/set-labels:v0.2 engine: allowed None
other.io/a native: no rule matches, and the default is deny (p:2)
other.io/a engine: no rule matches, and the default is deny (p:2)
Not An Image native: REFERENCE (p:1)
Not An Image engine: REFERENCE (p:1)
./run.sh native: no rule matches, and the default is deny (p:2)
./run.sh engine: no rule matches, and the default is deny (p:2)
/bin/sh native: no rule matches, and the default is deny (p:2)
/bin/sh engine: no rule matches, and the default is deny (p:2)
";
    let reference = canonical_image("Not An Image").unwrap_err().to_string();
    let decided = table(&policy, &functions, &[RunWay::Native, RunWay::Engine]);
    let decided = decided
        .replace(DIGEST, "DIGEST")
        .replace(&reference, "REFERENCE");
    assert_eq!(decided, expected);
}

#[test]
fn a_lock_file_satisfies_a_rule_for_digests() {
    let policy = policy(&[(
        "p",
        "version: 1\ndefault: deny\nrules:\n- match: ghcr.io/\n  require: [digest]\n",
    )]);
    let allowed = |digest: Option<&str>, native: Option<&str>| {
        let function = FunctionSpec {
            pin: Some(FunctionPin {
                digest: digest.map(str::to_owned),
                native: native.map(str::to_owned),
            }),
            ..FunctionSpec::image("ghcr.io/catalog/set-labels:v0.2")
        };
        policy.explain(&function).ways
    };
    assert_eq!(allowed(None, None), []);
    let native = Some("set-labels@v0.2.5#1");
    assert_eq!(allowed(None, native), [RunWay::Native]);
    let images = [
        RunWay::Wasm,
        RunWay::Remote,
        RunWay::Image,
        RunWay::Engine,
        RunWay::Pod,
    ];
    assert_eq!(allowed(Some(DIGEST), None), images);
    assert_eq!(
        allowed(Some(DIGEST), native),
        [&[RunWay::Native][..], &images].concat()
    );
}

#[test]
fn one_file_that_denies_the_cache_suffices() {
    let decided = |texts: &[&str]| {
        let rule =
            |text: &&str| format!("version: 1\ndefault: deny\nrules:\n- match: ghcr.io/\n{text}\n");
        let texts: Vec<String> = texts.iter().map(rule).collect();
        let files: Vec<(&str, &str)> = texts.iter().map(|text| ("p", text.as_str())).collect();
        let function = FunctionSpec::image("ghcr.io/a:v1");
        let permission = policy(&files).decide(&function, RunWay::Image, None);
        permission.unwrap().answers
    };
    let (allow, deny) = ("  cache: allow", "  cache: deny");
    assert_eq!(decided(&[""]), KeepAnswers::AsConfigured);
    assert_eq!(decided(&["", allow]), KeepAnswers::Assumed);
    assert_eq!(decided(&[allow, ""]), KeepAnswers::Assumed);
    assert_eq!(decided(&[deny, allow]), KeepAnswers::Never);
    assert_eq!(decided(&[allow, deny]), KeepAnswers::Never);
}

#[test]
fn no_spelling_avoids_a_rule() {
    let policy = policy(&[(
        "p",
        "version: 1\ndefault: allow\nrules:\n- match: docker.io/library/evil\n  allow: []\n- match: ghcr.io/evil/\n  allow: []\n",
    )]);
    for image in [
        "evil",
        "evil:v2",
        "library/evil",
        "docker.io/evil",
        "Docker.IO/evil",
        "index.docker.io:443/evil",
        "registry-1.docker.io/library/evil",
        "ghcr.io/evil/a",
        "GHCR.io/evil/a:v1",
        "ghcr.io:443/evil/a",
        "ghcr.io:80/evil/a/b",
        "ghcr.io/evil/A",
        "ghcr.io./evil/a",
    ] {
        let image = FunctionSpec::image(image);
        assert!(
            policy.decide(&image, RunWay::Engine, None).is_err(),
            "{}",
            image.name()
        );
    }
}

#[test]
fn no_file_loosens_another() {
    let strict = "version: 1\ndefault: deny\nrules:\n- match: ghcr.io/a/\n  allow: [native, wasm]\n  max: {time: 10s}\n- match: ghcr.io/b\n  network: deny\nexec: deny\nstarlark: deny\n";
    let loose = "version: 1\ndefault: allow\nrules:\n- match: '*'\n  network: allow\n  max: {time: 1h, memory: 1Gi}\n- match: ghcr.io/a/fn\n  allow: [wasm, engine]\nexec: allow\nstarlark: allow\n";
    for order in [[("s", strict), ("l", loose)], [("l", loose), ("s", strict)]] {
        let policy = policy(&order);
        let decide = |function: &FunctionSpec, way| policy.decide(function, way, None);
        let image = FunctionSpec::image("ghcr.io/a/fn:v1");
        let permission = decide(&image, RunWay::Wasm).unwrap();
        assert_eq!(permission.max.time, Some(Duration::from_secs(10)));
        assert_eq!(permission.max.memory, None);
        for way in [RunWay::Native, RunWay::Engine, RunWay::Pod, RunWay::Exec] {
            assert!(decide(&image, way).is_err(), "{way}");
        }
        let other = FunctionSpec::image("ghcr.io/a/other");
        let max = decide(&other, RunWay::Native).unwrap().max;
        assert_eq!(
            (max.time, max.memory),
            (Some(Duration::from_secs(10)), Some(1 << 30))
        );
        let b = FunctionSpec {
            network: Network::Host,
            ..FunctionSpec::image("ghcr.io/b")
        };
        assert!(decide(&b, RunWay::Image).is_err());
        assert!(decide(&FunctionSpec::image("quay.io/x"), RunWay::Native).is_err());
        assert!(decide(&FunctionSpec::exec("cat"), RunWay::Exec).is_err());
        assert!(decide(&FunctionSpec::image("ghcr.io/a/starlark"), RunWay::Wasm).is_err());
        assert!(policy.decide_script("a.star").is_err());
    }
}

#[test]
fn programs_and_scripts_follow_their_settings() {
    let decide = |text: &str, function: &FunctionSpec, way| {
        policy(&[("p", text)]).decide(function, way, None).is_ok()
    };
    let program = FunctionSpec::exec("cat");
    assert!(decide(
        "version: 1\ndefault: deny\nexec: allow\n",
        &program,
        RunWay::Exec
    ));
    assert!(!decide(
        "version: 1\ndefault: allow\nexec: deny\n",
        &program,
        RunWay::Exec
    ));
    // A module that a package names is a program too.
    assert!(!decide(
        "version: 1\ndefault: allow\nexec: deny\n",
        &program,
        RunWay::Wasm
    ));
    // An image that a table maps to a program.
    let image = FunctionSpec::image("ghcr.io/x");
    assert!(!decide(
        "version: 1\ndefault: allow\nexec: deny\n",
        &image,
        RunWay::Exec
    ));
    assert!(decide(
        "version: 1\ndefault: allow\nexec: deny\n",
        &image,
        RunWay::Native
    ));
    let denies_scripts = policy(&[("p", "version: 1\ndefault: allow\nstarlark: deny\n")]);
    let mapped = denies_scripts.decide(&image, RunWay::Native, Some("starlark:v0.5.0"));
    assert_eq!(mapped.unwrap_err().reason, RefusalReason::Starlark);
    assert!(denies_scripts.decide_script("a.star").is_err());
}

#[test]
fn the_default_may_warn() {
    let policy = policy(&[("p", "version: 1\ndefault: warn\n")]);
    let permission = policy.decide(&FunctionSpec::image("a"), RunWay::Native, None);
    assert_eq!(permission.unwrap().warning.unwrap().to_string(), "p:2");
}

#[test]
fn an_explanation_has_all_files_and_ways() {
    let user = "version: 1\ndefault: allow\n";
    let policy = policy(&[("system", RULES), ("user", user)]);
    let explanation = policy.explain(&FunctionSpec::image("ghcr.io/team/a:v1"));
    let deciders = explanation.deciders.iter();
    let deciders: Vec<String> = deciders
        .map(|(what, place)| format!("{what} {place}"))
        .collect();
    assert_eq!(
        deciders,
        ["rule \"ghcr.io/team/\" system:4", "default: allow user:2"]
    );
    assert_eq!(explanation.ways, [RunWay::Native, RunWay::Image]);
    assert_eq!(explanation.refusal, None);
    let refused = policy.explain(&FunctionSpec::image("ghcr.io/team/evil"));
    assert!(refused.ways.is_empty() && refused.refusal.is_some());
    let program = policy.explain(&FunctionSpec::exec("cat"));
    assert_eq!(program.deciders[0].0, "default: deny");
}

#[test]
fn signatures_are_required_of_images_only() {
    let directory = tempfile::tempdir().unwrap();
    let key = directory.path().join("team.pub");
    std::fs::write(&key, KEY).unwrap();
    let rules = format!(
        "version: 1\ndefault: allow\nrules:\n- match: ghcr.io/team/\n  require:\n  - signature: {{key: {}}}\n",
        key.display()
    );
    let policy = policy(&[("p", &rules), ("q", &rules)]);
    let image = FunctionSpec::image("ghcr.io/team/a:v1");
    for way in RunWay::ALL {
        let decided = policy.decide(&image, way, None);
        match way {
            RunWay::Native => assert_eq!(decided.unwrap().signatures, []),
            RunWay::Exec => {
                let refusal = decided.unwrap_err();
                assert_eq!(
                    refusal.to_string(),
                    "the policy refuses function \"ghcr.io/team/a:v1\": rule \"ghcr.io/team/\" requires a signature, \
                     and a program in place of the image has none (p:6)"
                );
            }
            RunWay::Wasm | RunWay::Remote | RunWay::Image | RunWay::Engine | RunWay::Pod => {
                // Both files require one.
                let required = decided.unwrap().signatures;
                let places: Vec<String> = required.iter().map(|it| it.place.to_string()).collect();
                assert_eq!(places, ["p:6", "q:6"], "{way}");
                assert!(required[0].key_names().ends_with("team.pub"));
            }
        }
    }
    let other = policy.decide(&FunctionSpec::image("ghcr.io/other:v1"), RunWay::Pod, None);
    assert_eq!(other.unwrap().signatures, []);
}
