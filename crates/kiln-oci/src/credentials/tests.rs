//! The credentials of a registry.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use super::helper::run_program;
use super::{Credentials, DockerConfig, DockerConfigError, HelperError, Keychain};

fn basic(username: &str, password: &str) -> Credentials {
    Credentials::Basic {
        username: username.to_owned(),
        password: password.to_owned(),
    }
}

fn keychain(text: &str) -> Keychain {
    Keychain::fixed(DockerConfig::parse(text.as_bytes()).unwrap())
}

/// The username that is found in a configuration where each entry has its key as username.
async fn found(keys: &[&str], registry: &str, repository: &str) -> Option<String> {
    let entry = |key: &&str| format!(r#""{key}":{{"username":"{key}","password":"p"}}"#);
    let entries: Vec<String> = keys.iter().map(entry).collect();
    let keychain = keychain(&format!(r#"{{"auths":{{{}}}}}"#, entries.join(",")));
    match keychain.resolve(registry, repository).await.unwrap() {
        Credentials::Basic { username, .. } => Some(username),
        _ => None,
    }
}

#[tokio::test]
async fn keys_are_hosts_or_urls() {
    let hub = "https://index.docker.io/v1/";
    for key in [
        hub,
        "docker.io",
        "index.docker.io",
        "https://registry-1.docker.io/v2/",
    ] {
        assert_eq!(
            found(&[key, "other.io"], "docker.io", "library/x")
                .await
                .as_deref(),
            Some(key)
        );
    }
    for key in [
        "a.b",
        "A.B",
        "https://a.b",
        "http://a.b/v2/",
        "https://a.b/v1",
        "a.b:443",
    ] {
        assert_eq!(found(&[key], "a.b", "x").await.as_deref(), Some(key));
    }
    for key in ["a.b:5000", "a.c", "b", "x.a.b", hub, "a.b/y", "a.b/xy"] {
        assert_eq!(found(&[key], "a.b", "x").await, None, "{key}");
    }
    let port = found(&["a.b", "a.b:5000"], "a.b:5000", "x").await;
    assert_eq!(port.as_deref(), Some("a.b:5000"));
}

#[tokio::test]
async fn the_most_specific_key_wins() {
    let keys = ["a.b", "a.b/team", "a.b/team/app", "*.b"];
    for (repository, expected) in [
        ("x", "a.b"),
        ("teams/x", "a.b"),
        ("team/x", "a.b/team"),
        ("team/app", "a.b/team/app"),
        ("team/app/x", "a.b/team/app"),
    ] {
        assert_eq!(
            found(&keys, "a.b", repository).await.as_deref(),
            Some(expected)
        );
    }
    assert_eq!(found(&keys, "c.b", "x").await.as_deref(), Some("*.b"));
    // Among equal keys, Docker's own.
    let same = ["https://a.b/v1/", "a.b:443", "http://a.b", "a.b", "A.B"];
    assert_eq!(found(&same, "a.b", "x").await.as_deref(), Some("a.b"));
    let hub = [
        "docker.io",
        "https://index.docker.io/v1/",
        "index.docker.io",
    ];
    let own = found(&hub, "docker.io", "library/x").await;
    assert_eq!(own.as_deref(), Some("https://index.docker.io/v1/"));
    assert_eq!(found(&keys, "d.c.b", "x").await, None);
    let glob = found(
        &["reg-*-x*.example.com:5000"],
        "reg-1-xy.example.com:5000",
        "x",
    )
    .await;
    assert!(glob.is_some());
    assert_eq!(
        found(&["reg-*-x*.example.com"], "reg-1-y.example.com", "x").await,
        None
    );
}

#[tokio::test]
async fn all_forms_of_entries_are_read() {
    let cases = [
        (r#"{"auth":"bWU6cGFzcw=="}"#, basic("me", "pass")),
        (r#"{"auth":"bWU6cGFzcw"}"#, basic("me", "pass")),
        (
            r#"{"auth":"bWU6YTpi","username":"x","password":"y"}"#,
            basic("me", "a:b"),
        ),
        (
            r#"{"username":"me","password":"pass","email":"e"}"#,
            basic("me", "pass"),
        ),
        (
            r#"{"auth":"","identitytoken":"i"}"#,
            Credentials::Identity("i".to_owned()),
        ),
        (
            r#"{"auth":"bWU6","identitytoken":"i"}"#,
            Credentials::Identity("i".to_owned()),
        ),
        (
            r#"{"username":"<token>","password":"i"}"#,
            Credentials::Identity("i".to_owned()),
        ),
        (
            r#"{"registrytoken":"r"}"#,
            Credentials::Bearer("r".to_owned()),
        ),
        ("{}", Credentials::Anonymous),
        ("null", Credentials::Anonymous),
        (r#"{"auth":null}"#, Credentials::Anonymous),
    ];
    for (entry, expected) in cases {
        let keychain = keychain(&format!(r#"{{"auths":{{"a.b":{entry}}}}}"#));
        assert_eq!(
            keychain.resolve("a.b", "x").await.unwrap(),
            expected,
            "{entry}"
        );
    }
    let hidden = r#"{"auths":{"a.b":{},"https://a.b/v2/":{"username":"me","password":"p"}}}"#;
    assert_eq!(
        keychain(hidden).resolve("a.b", "x").await.unwrap(),
        basic("me", "p")
    );
}

#[test]
fn broken_configurations_are_refused() {
    for text in ["7", "x", "[]", r#"{"auths":[]}"#, r#"{"auths":{"a":7}}"#] {
        let parsed = DockerConfig::parse(text.as_bytes());
        assert!(matches!(parsed, Err(DockerConfigError::Json(_))), "{text}");
    }
    for auth in ["?", "bWU=", "/w=="] {
        let text = format!(r#"{{"auths":{{"a.b":{{"auth":"{auth}"}}}}}}"#);
        let error = DockerConfig::parse(text.as_bytes()).unwrap_err();
        assert!(error.to_string().contains("a.b") && !error.to_string().contains(auth));
    }
    DockerConfig::parse(b"{}").unwrap();
    DockerConfig::parse(b" \n").unwrap();
    DockerConfig::parse(br#"{"auths":null,"credsStore":null,"HttpHeaders":{}}"#).unwrap();
}

#[tokio::test]
async fn the_first_existing_file_is_used() {
    let directory = tempfile::tempdir().unwrap();
    let [first, second] = ["1", "2"].map(|name| directory.path().join(name));
    let keychain = Keychain::first_of(vec![first.clone(), first.join("x"), second.clone()]);
    assert_eq!(
        keychain.resolve("a.b", "x").await.unwrap(),
        Credentials::Anonymous
    );
    fs::write(
        &second,
        r#"{"auths":{"a.b":{"username":"2","password":"p"}}}"#,
    )
    .unwrap();
    assert_eq!(keychain.resolve("a.b", "x").await.unwrap(), basic("2", "p"));
    fs::write(
        &first,
        r#"{"auths":{"a.b":{"username":"1","password":"p"}}}"#,
    )
    .unwrap();
    assert_eq!(keychain.resolve("a.b", "x").await.unwrap(), basic("1", "p"));
    fs::write(&first, "broken").unwrap();
    let error = keychain.resolve("a.b", "x").await.unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("{} is not a Docker configuration", first.display())
    );
}

#[tokio::test]
async fn docker_config_replaces_the_home_directory() {
    let directory = tempfile::tempdir().unwrap();
    let [own, home] = ["own", "home"].map(|name| directory.path().join(name));
    fs::create_dir_all(home.join(".docker")).unwrap();
    fs::create_dir(&own).unwrap();
    let write = |path: std::path::PathBuf, user: &str| {
        let text = format!(r#"{{"auths":{{"a.b":{{"username":"{user}","password":"p"}}}}}}"#);
        fs::write(path, text).unwrap();
    };
    write(home.join(".docker/config.json"), "home");
    let found = async |own: &str, home: &std::path::Path| {
        let keychain = Keychain::docker(Some(own.into()), Some(home.into()));
        keychain.resolve("a.b", "x").await.unwrap()
    };
    assert_eq!(found("", &home).await, basic("home", "p"));
    let own_name = own.to_str().unwrap();
    // DOCKER_CONFIG replaces the default directory even if it contains no file.
    assert_eq!(found(own_name, &home).await, Credentials::Anonymous);
    write(own.join("config.json"), "own");
    assert_eq!(found(own_name, &home).await, basic("own", "p"));
    let none = Keychain::docker(None, None);
    let none = none.resolve("a.b", "x").await.unwrap();
    assert_eq!(none, Credentials::Anonymous);
}

#[tokio::test]
async fn prefixes_choose_keychains() {
    let one = |user: &str| {
        keychain(&format!(
            r#"{{"auths":{{"gcr.io":{{"username":"{user}","password":"p"}}}}}}"#
        ))
    };
    let routes = vec![("gcr.io/kpt-fn/".to_owned(), one("public"))];
    let keychain = Keychain::routed(routes, one("private"));
    let user = async |repository: &str| keychain.resolve("gcr.io", repository).await.unwrap();
    assert_eq!(user("kpt-fn/set-labels").await, basic("public", "p"));
    assert_eq!(user("kpt-fn-mine/x").await, basic("private", "p"));
    assert_eq!(user("other").await, basic("private", "p"));
}

/// The result of a helper with this script.
async fn helper(script: &str) -> Result<Option<Credentials>, HelperError> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("docker-credential-test");
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    // Another test that forks at this moment may keep the file open for writing a little longer.
    loop {
        match run_program(path.as_os_str(), "a.b").await {
            Err(HelperError::Run(error))
                if error.kind() == std::io::ErrorKind::ExecutableFileBusy =>
            {
                tokio::task::yield_now().await;
            }
            result => return result,
        }
    }
}

#[tokio::test]
async fn helpers_return_credentials() {
    let echo = r#"read server; echo "{\"ServerURL\":\"$server\",\"Username\":\"$1 $server\",\"Secret\":\"s\"}""#;
    assert_eq!(helper(echo).await.unwrap(), Some(basic("get a.b", "s")));
    let token = r#"echo '{"Username":"<token>","Secret":"i"}'"#;
    assert_eq!(
        helper(token).await.unwrap(),
        Some(Credentials::Identity("i".to_owned()))
    );
    let unknown = "echo credentials not found in native keychain; exit 1";
    assert_eq!(helper(unknown).await.unwrap(), None);
    let failed = helper("echo locked; exit 1").await.unwrap_err();
    assert_eq!(failed.to_string(), "it failed: locked");
    assert!(matches!(
        helper("echo '['").await,
        Err(HelperError::Output(_))
    ));
}

#[tokio::test]
async fn a_missing_helper_is_named() {
    let text = r#"{"credHelpers":{"a.b":"not-there-at-all"},"auths":{"c.d":{"username":"me","password":"p"}}}"#;
    let keychain = keychain(text);
    let error = keychain.resolve("a.b", "x").await.unwrap_err();
    assert!(
        error
            .to_string()
            .ends_with("docker-credential-not-there-at-all"),
        "{error}"
    );
    assert_eq!(
        keychain.resolve("c.d", "x").await.unwrap(),
        basic("me", "p")
    );
    let path = super::docker_config::DockerConfig::parse(br#"{"credsStore":"../evil"}"#).unwrap();
    Keychain::fixed(path).resolve("a.b", "x").await.unwrap_err();
}

#[tokio::test(start_paused = true)]
async fn a_helper_that_hangs_times_out() {
    // Paused time advances when all tasks wait.
    let slow = helper("exec sleep 1000").await;
    assert!(matches!(slow, Err(HelperError::TimedOut)));
}

#[tokio::test]
async fn invalid_output_of_a_helper_is_not_in_messages() {
    for output in [r#""hidden""#, r#"{"Username":["hidden"]}"#, "hidden"] {
        let error = helper(&format!("echo '{output}'")).await.unwrap_err();
        assert!(matches!(error, HelperError::Output(_)), "{output}");
        assert!(!format!("{error:?}").contains("hidden"), "{error:?}");
    }
    // One with too much output, and one without output.
    assert!(helper("yes").await.is_err());
    assert!(helper("true").await.is_err());
    let empty = helper(r#"echo '{"Username":null,"Secret":null}'"#).await;
    assert_eq!(empty.unwrap(), None);
}

#[test]
fn messages_about_broken_configurations_contain_no_secrets() {
    for text in [
        r#"{"auths":{"a.b":"hidden"}}"#,
        r#"{"auths":{"a.b":{"auth":["hidden"]}}}"#,
        r#"{"auths":"hidden"}"#,
        r#"{"auths":{"a.b":{"password":"hidden}}"#,
    ] {
        let error = DockerConfig::parse(text.as_bytes()).unwrap_err();
        assert!(!format!("{error:?}").contains("hidden"), "{error:?}");
    }
}

#[test]
fn debug_contains_no_secrets() {
    let text = r#"{"auths":{"a.b":{"username":"me","password":"hidden"}}}"#;
    let config = DockerConfig::parse(text.as_bytes()).unwrap();
    let debug = format!(
        "{config:?} {:?} {:?}",
        Keychain::fixed(config.clone()),
        basic("me", "hidden")
    );
    assert!(!debug.contains("hidden"), "{debug}");
}
