//! Files that are refused, with line and reason, and files that are not.

use super::*;

fn parse(text: &str) -> Result<PolicyFile, String> {
    PolicyFile::parse("p.yaml", text.as_bytes()).map_err(|error| error.to_string())
}

#[track_caller]
fn refused(text: &str, message: &str) {
    let error = parse(text).unwrap_err();
    assert_eq!(error, message);
}

/// A file with one rule.
fn rule(fields: &str) -> String {
    format!("version: 1\ndefault: deny\nrules:\n- match: ghcr.io/x/\n{fields}")
}

#[test]
fn a_whole_policy_is_read() {
    let text = "\
version: 1
default: warn
rules:
- match: ghcr.io/team/
  allow: [native, wasm, image, pod, engine, remote, exec]
  require: [digest]
  network: deny
  max: {time: 60s, memory: 1Gi}
- match: '*'
  allow: []
exec: deny
starlark: allow
";
    let file = parse(text).unwrap();
    let [first, second] = file.rules.as_slice() else {
        panic!("{:?}", file.rules);
    };
    assert_eq!(first.line, 4);
    assert_eq!(first.allow.as_deref(), Some(RunWay::ALL.as_slice()));
    assert!(first.requires_digest);
    assert_eq!(first.network, Switch::Deny);
    assert_eq!(first.max.time, Some(std::time::Duration::from_secs(60)));
    assert_eq!(first.max.memory, Some(1 << 30));
    assert_eq!((second.line, second.allow.as_deref()), (9, Some(&[][..])));
    assert_eq!(file.default.value, PolicyDefault::Warn);
    assert_eq!(
        file.exec.map(|exec| (exec.value, exec.line)),
        Some((Switch::Deny, 11))
    );
    assert_eq!(file.starlark.map(|it| it.value), Some(Switch::Allow));
}

#[test]
fn a_byte_order_mark_is_not_part_of_the_first_key() {
    let plain = "version: 1\ndefault: allow\n";
    assert_eq!(parse(&format!("\u{feff}{plain}")), parse(plain));
    assert!(parse(&format!("\u{feff}\u{feff}{plain}")).is_err());
    let utf16: Vec<u8> = format!("\u{feff}{plain}")
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    let error = PolicyFile::parse("p.yaml", &utf16).unwrap_err();
    assert_eq!(error.to_string(), "p.yaml:1: the policy is not UTF-8");
}

#[test]
fn keys_are_known_and_there_once() {
    refused(
        "version: 1\ndefault: deny\nrule: []\n",
        "p.yaml:3: unknown key \"rule\" in the policy; the keys are version, default, rules, exec, starlark",
    );
    refused(
        "version: 1\ndefault: deny\nexec: deny\ndefault: allow\n",
        "p.yaml:4: \"default\" occurs twice, first in line 2; remove one",
    );
    refused(
        &rule("  allow: []\n  \"allow\": [native]\n"),
        "p.yaml:6: \"allow\" occurs twice, first in line 5; remove one",
    );
    refused(
        &rule("  Allow: []\n"),
        "p.yaml:5: unknown key \"Allow\" in a rule; the keys are match, allow, require, network, max, cache",
    );
    refused(
        &rule("  max: {cpu: 1}\n"),
        "p.yaml:5: unknown key \"cpu\" in max; the keys are time, memory",
    );
    refused(
        "default: deny\n",
        "p.yaml:1: the policy has no `version`; add it",
    );
    refused(
        "version: 1\n",
        "p.yaml:1: the policy has no `default`; add it",
    );
    refused(
        "version: 1\ndefault: deny\nrules:\n- allow: []\n",
        "p.yaml:4: a rule has no `match`; add it",
    );
}

#[test]
fn values_are_of_their_kind() {
    for (text, message) in [
        (
            "version: 2\ndefault: deny\n",
            "p.yaml:1: version \"2\" is not supported; write `version: 1`",
        ),
        (
            "version: 1\ndefault: maybe\n",
            "p.yaml:2: default must be allow, warn or deny",
        ),
        (
            "version: 1\ndefault:\n",
            "p.yaml:2: default must be allow, warn or deny",
        ),
        (
            "version: 1\ndefault: deny\nexec: warn\n",
            "p.yaml:3: exec must be allow or deny",
        ),
        (
            "version: 1\ndefault: deny\nrules: {}\n",
            "p.yaml:3: rules must be a list of rules",
        ),
        ("- version\n", "p.yaml:1: the policy must be a mapping"),
        (
            "",
            "p.yaml:1: the policy is empty; write at least `version: 1` and `default: allow`",
        ),
    ] {
        refused(text, message);
    }
    let ways =
        "p.yaml:5: allow must be a list of native, wasm, exec, remote, image, engine and pod";
    refused(&rule("  allow: native\n"), ways);
    refused(&rule("  allow: [docker]\n"), ways);
    refused(&rule("  allow:\n"), ways);
    refused(
        &rule("  allow: [pod, pod]\n"),
        "p.yaml:5: \"pod\" occurs twice, first in line 5; remove one",
    );
    refused(
        &rule("  network: none\n"),
        "p.yaml:5: network must be allow or deny",
    );
    for time in ["0s", "-1s", "60", "soon", "[]"] {
        let message = "p.yaml:5: max.time must be a duration such as 90s or 5m";
        refused(&rule(&format!("  max: {{time: {time}}}\n")), message);
    }
    for memory in ["0", "-1", "1G", "+1", "Mi", "99999999999Gi", "1 Gi"] {
        let message = "p.yaml:5: max.memory must be a size such as 512Mi or 1Gi";
        refused(&rule(&format!("  max: {{memory: {memory}}}\n")), message);
    }
}

#[test]
fn rules_are_valid_and_different() {
    refused(
        "version: 1\ndefault: deny\nrules:\n- match: set-labels\n",
        "p.yaml:4: match \"set-labels\": begin it with a registry, such as docker.io/library/NAME or ghcr.io/TEAM/",
    );
    refused(
        &rule("- match: GHCR.IO:443/x/\n"),
        "p.yaml:5: the rule for \"ghcr.io/x/\" occurs twice, first in line 4; merge them",
    );
    assert!(parse(&rule("- match: ghcr.io/x\n")).is_ok());
}

#[test]
fn required_signatures_have_a_key_that_can_be_read() {
    let directory = tempfile::tempdir().unwrap();
    let key = directory.path().join("team.pub");
    std::fs::write(&key, crate::policy::tests::KEY).unwrap();
    let key = key.display();
    let require = |value: &str| rule(&format!("  require:\n  - {value}\n"));
    assert!(parse(&require(&format!("signature: {{key: {key}}}"))).is_ok());
    for value in [
        format!("signature: {{key: {key}, anyRepository: true}}"),
        format!("signature: {{anyRepository: false, key: {key}}}"),
        format!("signature: {{key: [{key}]}}"),
        format!("signature: {{key: [{key}, {key}], anyRepository: true}}"),
    ] {
        assert!(parse(&require(&value)).is_ok(), "{value}");
    }
    for (value, message) in [
        (
            format!("signature: {{key: {key}, anyRepository: yes}}"),
            "p.yaml:6: anyRepository must be true or false",
        ),
        (
            "signature: {key: []}".to_owned(),
            "p.yaml:6: key must be the absolute path of a key file, or a list of them",
        ),
        (
            format!("signature: {{key: [{key}, team.pub]}}"),
            "p.yaml:6: key must be the absolute path of a key file",
        ),
        (
            "signature: {anyRepository: true}".to_owned(),
            "p.yaml:6: signature has no `key`; add it",
        ),
    ] {
        refused(&require(&value), message);
    }
    let keyless = "p.yaml:6: `identity` is not supported: keyless signatures cannot be verified, and nothing may run \
        unverified; write `signature: {key: FILE}`, or use `digest`";
    for value in [
        "signature: {identity: {issuer: a, subject: b}, roots: /r}".to_owned(),
        format!("signature: {{key: {key}, identity: {{issuer: a, subject: b}}}}"),
        format!("signature: {{key: {key}, roots: /r}}"),
    ] {
        refused(&require(&value), keyless);
    }
    for (value, message) in [
        ("signature: {}", "p.yaml:6: signature has no `key`; add it"),
        ("{}", "p.yaml:6: require has no `signature`; add it"),
        (
            "signature: team.pub",
            "p.yaml:6: signature must be a mapping",
        ),
        (
            "signature: {key: team.pub}",
            "p.yaml:6: key must be the absolute path of a key file",
        ),
        (
            "signature: {keys: []}",
            "p.yaml:6: unknown key \"keys\" in signature; the keys are key, anyRepository, identity, roots",
        ),
        (
            "attestation: {}",
            "p.yaml:6: unknown key \"attestation\" in require; the keys are signature",
        ),
    ] {
        refused(&require(value), message);
    }
    let missing = parse(&require("signature: {key: /missing/team.pub}")).unwrap_err();
    let wanted = "p.yaml:6: cannot read the key file /missing/team.pub: ";
    assert!(missing.starts_with(wanted), "{missing}");
    std::fs::write(directory.path().join("other"), "no key").unwrap();
    let other = directory.path().join("other");
    let other = require(&format!("signature: {{key: {}}}", other.display()));
    let other = parse(&other).unwrap_err();
    assert!(other.contains("it is not a PEM file"), "{other}");
    refused(
        &rule("  require: [sbom]\n"),
        "p.yaml:5: require must be a list of `digest` and `signature: {key: FILE}`",
    );
}

#[test]
fn yaml_that_hides_values_is_refused() {
    let aliases = "p.yaml:5: aliases are not supported; write the value itself";
    refused(
        "version: 1\ndefault: &a deny\nrules:\n- match: ghcr.io/x/\n  network: *a\n",
        aliases,
    );
    refused(
        "version: 1\ndefault: deny\n---\ndefault: allow\n",
        &parse("version: 1\ndefault: deny\n---\ndefault: allow\n").unwrap_err(),
    );
    refused(
        "version: 1\ndefault: deny\n<<: {exec: allow}\n",
        "p.yaml:3: unknown key \"<<\" in the policy; the keys are version, default, rules, exec, starlark",
    );
    assert!(parse("version: [").unwrap_err().starts_with("p.yaml:"));
}
