//! Names and versions of engines.

use super::*;

#[test]
fn engines_are_named_in_any_case() {
    assert_eq!(Engine::parse(""), Ok(Engine::Docker));
    assert_eq!(Engine::parse("Docker"), Ok(Engine::Docker));
    assert_eq!(Engine::parse("PODMAN"), Ok(Engine::Podman));
    assert_eq!(Engine::parse("nerdctl"), Ok(Engine::Nerdctl));
    let error = Engine::parse("Rkt").unwrap_err();
    assert_eq!(
        error.to_string(),
        r#"unsupported runtime: "Rkt" the runtime must be one of [docker podman nerdctl]"#
    );
}

#[test]
fn docker_must_not_be_too_old() {
    for version in ["20.10.0", "v20.10.0", "20.10.21+dfsg1", "28.1", "100"] {
        assert_eq!(check_docker_version(version), Ok(()), "{version}");
    }
    for version in ["20.9.9", "19.03.15", "20.10.0-rc1"] {
        let error = check_docker_version(version).unwrap_err();
        let expected =
            format!("docker client version must be v20.10.0 or greater: found {version}");
        assert_eq!(error.to_string(), expected);
    }
    assert_eq!(
        check_docker_version("new").unwrap_err().to_string(),
        "docker client version must be v20.10.0 or greater: found invalid version new: \
         invalid semantic version"
    );
}

#[test]
fn what_an_engine_prints_when_it_fails_is_kept() {
    for (stderr, expected) in [
        ("", ""),
        (
            "warning\nCannot connect to the daemon\n\n",
            "Cannot connect to the daemon",
        ),
        ("\u{1b}[31mred\n", "[31mred"),
    ] {
        assert_eq!(last_line(stderr.as_bytes()), expected);
    }
}
