//! `kiln pkg` and the remote: branches that move, repositories with a password, and commands that are killed.

use std::fs;
use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::faults::skip;
use crate::pkg::{shell, succeed, upstream};
use crate::test_environment::files;

/// kpt compares with the branch as it is now, kiln with the commit that was fetched.
#[test]
fn a_moved_branch_is_not_a_local_change() {
    let Some(test_env) = upstream() else { return };
    succeed(&test_env, "kiln pkg get file://$PWD/r/up.git/web@main");
    succeed(
        &test_env,
        "cd up; sed -i 's/replicas: 3/replicas: 7/' web/deploy.yaml; git commit -qam three; git push -q origin main",
    );
    let same = succeed(&test_env, "kiln pkg diff web --exit-code");
    assert_eq!(same.stdout, "");
    let kpt = succeed(&test_env, "kpt pkg diff web");
    assert!(kpt.stdout.contains("replicas: 7"), "{kpt:?}");
    // With a version, the difference to that version is shown.
    let newer = shell(&test_env, "kiln pkg diff web@main --exit-code");
    assert_eq!(newer.code, Some(3), "{newer:?}");
    assert!(newer.stdout.contains("+  replicas: 7"), "{newer:?}");
}

/// Files that `get` and `update` add to a sub-package that the upstream only names are not a change.
#[test]
fn a_remote_sub_package_differs_only_by_its_upstream() {
    let Some(test_env) = upstream() else { return };
    succeed(
        &test_env,
        r#"set -e; cd up; mkdir -p shop/web
printf 'apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: shop\n' > shop/Kptfile
cat > shop/web/Kptfile <<E
apiVersion: kpt.dev/v1
kind: Kptfile
metadata:
  name: web
upstream:
  type: git
  git:
    repo: file://$PWD/../r/up
    directory: /web
    ref: v1
  updateStrategy: resource-merge
E
git add -A; git commit -qm shop; git tag v4; git push -q origin main v4; cd ..
kiln pkg get file://$PWD/r/up.git/shop@v4"#,
    );
    let same = succeed(&test_env, "kiln pkg diff shop --exit-code");
    assert_eq!(same.stdout, "");
    let other = shell(
        &test_env,
        "sed -i 's/ref: v1/ref: v2/' shop/web/Kptfile; kiln pkg diff shop --exit-code",
    );
    assert_eq!(other.code, Some(3), "{other:?}");
    assert!(other.stdout.contains("+    ref: v2"), "{other:?}");
    let gone = shell(&test_env, "rm -r shop/web; kiln pkg diff shop --exit-code");
    assert_eq!(gone.code, Some(3), "{gone:?}");
}

/// The Kptfile that `get` writes for an upstream without one is not a local change; a field that the user adds is.
#[test]
fn a_package_without_kptfile_is_fast_forwarded() {
    let Some(test_env) = upstream() else { return };
    succeed(
        &test_env,
        "set -e; cd up; git rm -q web/Kptfile; git commit -qm bare; git tag v4
         sed -i 's/replicas: 3/replicas: 5/' web/deploy.yaml; git commit -qam more; git tag v5; git push -q origin main v4 v5; cd ..
         kiln pkg get file://$PWD/r/up.git/web@v4; cp -r web own
         kiln pkg update web@v5 --strategy fast-forward; grep -q 'replicas: 5' web/deploy.yaml",
    );
    let refused = shell(
        &test_env,
        "printf 'info:\n  description: own\n' >> own/Kptfile; kiln pkg update own@v5 --strategy fast-forward",
    );
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.stderr.contains("[Kptfile]"), "{refused:?}");
}

/// A destination that cannot be created is refused before anything is fetched.
#[test]
fn an_impossible_destination_is_refused_first() {
    let Some(test_env) = upstream() else { return };
    for (script, words) in [
        (
            "touch file; kiln pkg get file://$PWD/r/up.git/web@v1 file/web",
            "\"file\" is not a directory",
        ),
        (
            "ln -s nowhere link; kiln pkg get file://$PWD/r/up.git/web@v1 link",
            "lstat nowhere: no such file or directory",
        ),
    ] {
        let failed = shell(&test_env, script);
        assert_eq!(failed.code, Some(1), "{script}: {failed:?}");
        assert!(failed.stderr.contains(words), "{script}: {failed:?}");
        assert!(!failed.stderr.contains("Fetching"), "{script}: {failed:?}");
    }
}

/// `user:secret` in base64.
const CREDENTIALS: &str = "Basic dXNlcjpzZWNyZXQ=";

/// Serves the repositories of a directory over HTTP to clients with the password; returns the address.
fn serve_with_password(root: PathBuf) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let root = root.clone();
            std::thread::spawn(move || answer(stream, &root));
        }
    });
    address
}

/// Answers one request by git's own program for servers.
fn answer(mut stream: TcpStream, root: &Path) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut first = String::new();
    reader.read_line(&mut first).ok()?;
    let mut words = first.split(' ');
    let (method, target) = (words.next()?.to_owned(), words.next()?.to_owned());
    let mut backend = Command::new("git");
    backend.arg("http-backend");
    let (mut length, mut is_authorized) = (0, false);
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok()?;
        let Some((name, value)) = header.trim().split_once(": ") else {
            break;
        };
        match name.to_ascii_lowercase().as_str() {
            "content-length" => {
                length = value.parse().ok()?;
                backend.env("CONTENT_LENGTH", value);
            }
            "authorization" => is_authorized = value == CREDENTIALS,
            "content-type" => {
                backend.env("CONTENT_TYPE", value);
            }
            "content-encoding" => {
                backend.env("HTTP_CONTENT_ENCODING", value);
            }
            "git-protocol" => {
                backend.env("GIT_PROTOCOL", value);
            }
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    if !is_authorized {
        let refusal = "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"test\"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
        return stream.write_all(refusal.as_bytes()).ok();
    }
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    let mut child = backend
        .env("GIT_PROJECT_ROOT", root)
        .env("GIT_HTTP_EXPORT_ALL", "1")
        .env("PATH_INFO", path)
        .env("QUERY_STRING", query)
        .env("REQUEST_METHOD", method)
        .env("REMOTE_USER", "user")
        // The owner of the directory may be another user than that of the test.
        .env("GIT_CONFIG_COUNT", "1")
        .env("GIT_CONFIG_KEY_0", "safe.directory")
        .env("GIT_CONFIG_VALUE_0", "*")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .ok()?;
    child.stdin.take()?.write_all(&body).ok()?;
    let output = child.wait_with_output().ok()?;
    stream
        .write_all(b"HTTP/1.1 200 OK\r\nConnection: close\r\n")
        .ok()?;
    stream.write_all(&output.stdout).ok()
}

/// kpt refuses such repositories.
#[test]
fn a_credential_helper_opens_a_repository_with_a_password() {
    let Some(test_env) = upstream() else { return };
    if shell(&test_env, "test -x \"$(git --exec-path)/git-http-backend\"").code != Some(0) {
        return skip("a_credential_helper", "this git cannot serve HTTP");
    }
    let address = serve_with_password(test_env.work().join("r"));
    let get = format!("kiln pkg get http://{address}/up.git/web@v1");
    let refused = shell(&test_env, &get);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(
        refused.stderr.contains("requires authentication"),
        "{refused:?}"
    );
    assert!(
        refused.stderr.contains("hint: set up a credential helper"),
        "{refused:?}"
    );
    test_env.write_program(
        "helper",
        "#!/bin/sh\ncat > /dev/null\necho username=user\necho password=secret\n",
    );
    succeed(
        &test_env,
        &format!("git config --global credential.helper $PWD/helper; {get}"),
    );
    succeed(
        &test_env,
        "kiln pkg update web@v2 && grep -q 'replicas: 3' web/deploy.yaml",
    );
    // The password is neither in the package nor in the cache.
    let found = shell(&test_env, "grep -rl secret web $HOME/.cache");
    assert_eq!(found.stdout, "");
}

/// Git, which at one of its calls takes kiln with it, before or after its work.
const GIT: &str = r#"#!/bin/sh
[ -e BASE/count ] || exec GIT "$@"
n=$(cat BASE/count); n=$((n + 1)); echo $n > BASE/count
[ $n -eq "$(cat BASE/at)" ] || exec GIT "$@"
[ "$(cat BASE/mode)" = before ] || GIT "$@" < /dev/null > /dev/null 2>&1
kill -9 $PPID
"#;

/// Whenever a command is killed, a package is there whole or not at all, and the next command succeeds.
#[test]
fn a_killed_get_or_update_leaves_the_package_whole() {
    let Some(test_env) = upstream() else { return };
    let git = succeed(&test_env, "command -v git")
        .stdout
        .trim()
        .to_owned();
    let wrapper = test_env.bin().join("git");
    let script = GIT
        .replace("BASE", &test_env.work().display().to_string())
        .replace("GIT", &git);
    fs::write(&wrapper, script).expect("a file");
    fs::set_permissions(&wrapper, fs::Permissions::from_mode(0o755)).expect("a mode");
    let get = "kiln pkg get file://$PWD/r/up.git/web@v1 web";
    let update = "kiln pkg update web@v2";
    let calls = |command: &str| -> usize {
        let script = format!(
            "rm -rf $HOME/.cache; echo 0 > count; echo 0 > at; echo before > mode; {command} 2> log; cat count; rm count"
        );
        let count = succeed(&test_env, &script).stdout;
        count.trim().parse().expect("a number")
    };
    let package = || {
        let all = files(&test_env.work());
        let mut all: Vec<_> = all
            .into_iter()
            .filter(|(path, _)| path.starts_with("web/"))
            .collect();
        all.sort();
        all
    };
    let in_get = calls(get);
    let first = package();
    let in_update = calls(update);
    let second = package();
    assert!(in_get > 2 && in_update > 2 && first != second);
    for (command, count, before, after) in [
        (get, in_get, Vec::new(), &first),
        (update, in_update, first.clone(), &second),
    ] {
        for mode in ["before", "after"] {
            for at in 1..=count {
                let start = match before.is_empty() {
                    true => "rm -rf web".to_owned(),
                    false => format!("rm -rf web; {get} 2> log"),
                };
                succeed(&test_env, &format!("{start}; rm -rf $HOME/.cache"));
                let script = format!(
                    "echo 0 > count; echo {at} > at; echo {mode} > mode; {command} > log 2>&1; rm count"
                );
                shell(&test_env, &script);
                assert_eq!(package(), before, "{command}, killed {mode} call {at}");
                succeed(&test_env, &format!("{command} > log 2>&1; cat log"));
                assert_eq!(package(), *after, "{command} after a kill {mode} call {at}");
                let left = succeed(&test_env, "ls -A | grep kiln || true").stdout;
                assert_eq!(left, "", "{command}, killed {mode} call {at}");
            }
        }
    }
}

/// Regression: the password in an address was printed, once for each fetch.
#[test]
fn a_password_in_an_address_is_not_printed() {
    let Some(test_env) = upstream() else { return };
    if shell(&test_env, "test -x \"$(git --exec-path)/git-http-backend\"").code != Some(0) {
        return skip("a_password_in_an_address", "this git cannot serve HTTP");
    }
    let address = serve_with_password(test_env.work().join("r"));
    let get = format!("kiln pkg get http://user:secret@{address}/up.git/web@v1");
    let got = succeed(&test_env, &get);
    let updated = succeed(&test_env, "kiln pkg update web@v2");
    for outcome in [&got, &updated] {
        assert!(!outcome.stderr.contains("secret"), "{outcome:?}");
        assert!(!outcome.stderr.contains("user:"), "{outcome:?}");
    }
    let warning =
        format!("[Warn] The Kptfile keeps the credentials in the address of http://{address}/up;");
    assert!(got.stderr.contains(&warning), "{got:?}");
}
