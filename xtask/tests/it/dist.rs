//! `cargo xtask dist`: its files, and their installation in a root that has nothing else.
//!
//! The programs are those that `cargo test` has built. `KILN_DIST` names the directory of a release to test in their place:
//! `KILN_DIST=target/dist/0.1.0 cargo test -p xtask dist`.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use kiln_oci::{ArchiveLimits, Manifest, read_archive};

use crate::clean_root::{CleanRoot, find, skipped};
use crate::release::{Release, SMALL_KILN, TRIPLES, built_kiln, own_triple, version};

fn repository() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

#[test]
fn a_release_has_everything_for_all_platforms_and_is_the_same_again() {
    let release = Release::of(SMALL_KILN.as_bytes(), &TRIPLES);
    let files = release.files();
    let version = version();
    let mut names: Vec<String> = TRIPLES
        .iter()
        .flat_map(|triple| {
            let name = format!("kiln-{version}-{triple}");
            [format!("{name}.cdx.json"), format!("{name}.tar.gz")]
        })
        .collect();
    names.extend(["amd64", "arm64"].map(|name| format!("kiln_{version}_{name}.deb")));
    let images = ["function-runner", "kiln", "kiln-argocd", "wrapper-server"];
    names.extend(images.map(|name| format!("{name}-{version}.oci.tar")));
    names.push(format!("kiln-{version}-sources.tar.gz"));
    names.extend(["RELEASE_NOTES.md", "SHA256SUMS", "install.sh", "kiln.rb"].map(str::to_owned));
    names.sort();
    let found: Vec<&String> = files.keys().collect();
    assert_eq!(found, names.iter().collect::<Vec<_>>());

    let checked = Command::new("sha256sum")
        .args(["--check", "--strict", "--quiet", "SHA256SUMS"])
        .current_dir(release.directory())
        .status();
    assert!(checked.expect("sha256sum").success());
    let sums = String::from_utf8(files["SHA256SUMS"].clone()).expect("text");
    assert_eq!(sums.lines().count(), names.len() - 1, "all but itself");

    release.make();
    let again = String::from_utf8(release.files()["SHA256SUMS"].clone()).expect("text");
    assert_eq!(again, sums);
}

#[test]
fn only_an_old_release_is_replaced() {
    let release = Release::of(SMALL_KILN.as_bytes(), &[&own_triple()]);
    let mine = release.directory().join("mine");
    fs::write(&mine, "").expect("a file");
    fs::remove_file(release.directory().join("SHA256SUMS")).expect("a file");
    let output = release.dist(&["--allow-dirty"]);
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(message.contains("is not an old release"), "{message}");
    assert!(mine.is_file());
}

#[test]
fn a_release_needs_a_platform_of_this_machine() {
    let own = own_triple();
    let release = Release::of(SMALL_KILN.as_bytes(), &TRIPLES);
    let foreign = TRIPLES.into_iter().find(|triple| *triple != own);
    let output = release.dist(&["--allow-dirty", "--target", foreign.expect("a platform")]);
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(
        message.contains(&format!("add --target {own}")),
        "{message}"
    );
}

#[test]
fn addresses_have_one_slash() {
    let release = Release::of(SMALL_KILN.as_bytes(), &[&own_triple()]);
    for name in ["kiln.rb", "install.sh"] {
        let text = String::from_utf8(release.files()[name].clone()).expect("text");
        assert!(text.contains("https://example.com/kiln"), "{text}");
        assert!(!text.contains("https://example.com/kiln/\""), "{text}");
        assert!(!text.contains("https://example.com/kiln//"), "{text}");
        assert!(!text.contains("https://example.com/kiln/}"), "{text}");
    }
}

#[test]
fn images_are_for_all_platforms() {
    let release = Release::of(SMALL_KILN.as_bytes(), &TRIPLES);
    let name = format!("function-runner-{}.oci.tar", version());
    let archive = &release.files()[&name];
    let layout = read_archive(&mut &**archive, &ArchiveLimits::default()).expect("an archive");
    let manifests = layout
        .manifests_below(&layout.roots()[0])
        .expect("manifests");
    let index = manifests.last().expect("a root");
    let Manifest::Index(index) = &index.manifest else {
        panic!("the root is not an index");
    };
    let platforms = index
        .manifests
        .iter()
        .filter_map(|entry| entry.platform.as_ref());
    let platforms: Vec<&str> = platforms
        .map(|platform| platform.architecture.as_str())
        .collect();
    assert_eq!(platforms, ["amd64", "arm64"]);
}

#[test]
fn the_list_of_parts_names_what_this_workspace_links() {
    let triple = own_triple();
    let release = Release::of(SMALL_KILN.as_bytes(), &[&triple]);
    let name = format!("kiln-{}-{triple}.cdx.json", version());
    let bom: serde_json::Value = serde_json::from_slice(&release.files()[&name]).expect("JSON");
    let components = bom["components"].as_array().expect("components");
    let names: Vec<&str> = components
        .iter()
        .filter_map(|part| part["name"].as_str())
        .collect();
    for linked in ["kiln", "kiln-yaml", "tokio", "wasmtime", "function-runner"] {
        assert!(names.contains(&linked), "{linked}");
    }
    for absent in ["xtask", "conformance", "wat", "tonic-prost-build"] {
        assert!(!names.contains(&absent), "{absent}");
    }
    let foreign = components.iter().filter(|part| part["hashes"].is_array());
    assert!(foreign.clone().count() > 100);
    for part in foreign {
        assert!(
            part["licenses"].is_array() || part["name"] == "ring",
            "{part}"
        );
    }
}

#[test]
fn a_debian_package_installs_and_is_removed() {
    if find("dpkg").is_none() {
        return skipped("a Debian package", "dpkg is not installed");
    }
    let release = Release::of(SMALL_KILN.as_bytes(), &TRIPLES);
    let architecture = Command::new("dpkg").arg("--print-architecture").output();
    let architecture = String::from_utf8(architecture.expect("dpkg").stdout).expect("text");
    let name = format!("kiln_{}_{}.deb", version(), architecture.trim());
    let root = tempfile::tempdir().expect("a directory");
    let database = root.path().join("var/lib/dpkg");
    for directory in ["info", "updates", "triggers"] {
        fs::create_dir_all(database.join(directory)).expect("a directory");
    }
    fs::write(database.join("status"), "").expect("a file");
    let dpkg = |arguments: &[&str]| {
        let output = Command::new("dpkg")
            .arg(format!("--root={}", root.path().display()))
            .args(["--force-not-root", "--force-bad-path"])
            .args(arguments)
            .current_dir(release.directory())
            .output()
            .expect("dpkg");
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{message}");
        assert!(!message.contains("warning"), "{message}");
    };
    dpkg(&["--install", &name]);
    let program = root.path().join("usr/bin/kiln");
    assert_eq!(fs::read_to_string(&program).expect("a program"), SMALL_KILN);
    let unit = root
        .path()
        .join("usr/lib/systemd/system/function-runner.service");
    let unit = fs::read_to_string(unit).expect("a unit");
    assert!(
        unit.contains("ExecStart=/usr/bin/function-runner"),
        "{unit}"
    );
    for path in [
        "usr/share/man/man1/kiln.1.gz",
        "usr/share/man/man1/function-runner.1.gz",
        "usr/share/man/man1/wrapper-server.1.gz",
        "usr/share/bash-completion/completions/kiln",
        "usr/share/zsh/vendor-completions/_kiln",
        "usr/share/doc/kiln/copyright",
    ] {
        assert!(root.path().join(path).is_file(), "{path}");
    }
    // The unit names a file that the package has, and an upgrade keeps changes of it.
    let named = "/etc/function-runner/config.yaml";
    assert!(unit.contains(&format!("--config={named}")), "{unit}");
    let config = root.path().join(named.trim_start_matches('/'));
    let text = fs::read_to_string(&config).expect("a configuration");
    assert!(text.ends_with("functions: []\n"), "{text}");
    fs::write(&config, "functions: [] # mine\n").expect("a file");
    dpkg(&["--install", &name]);
    let text = fs::read_to_string(&config).expect("a configuration");
    assert_eq!(text, "functions: [] # mine\n");
    dpkg(&["--purge", "kiln"]);
    assert!(!root.path().join("usr").exists());
    assert!(!config.exists());
}

/// The directory of all releases, one of which has programs that run: that of `KILN_DIST`, or one with the kiln that `cargo test`
/// has built beside this test.
enum RealRelease {
    Given(PathBuf),
    Made(Release),
}

impl RealRelease {
    fn find(root: &CleanRoot) -> Result<RealRelease, String> {
        if let Some(directory) = std::env::var_os("KILN_DIST") {
            let directory = fs::canonicalize(repository().join(directory));
            return Ok(RealRelease::Given(directory.expect("KILN_DIST")));
        }
        let kiln = built_kiln()?;
        root.add_libraries(&kiln);
        let stripped = tempfile::NamedTempFile::new().expect("a file");
        let done = Command::new("strip")
            .arg("-o")
            .arg(stripped.path())
            .arg(&kiln)
            .status();
        if !done.is_ok_and(|status| status.success()) {
            return Err("strip is not installed".to_owned());
        }
        let kiln = fs::read(stripped.path()).expect("a program");
        Ok(RealRelease::Made(Release::of(&kiln, &[&own_triple()])))
    }

    fn directory(&self) -> PathBuf {
        match self {
            RealRelease::Given(directory) => directory.clone(),
            RealRelease::Made(release) => release.directory(),
        }
    }
}

#[test]
fn a_release_installs_and_renders_in_a_root_that_has_nothing_else() {
    let what = "a release in a clean root";
    let root = match CleanRoot::new() {
        Ok(root) => root,
        Err(reason) => return skipped(what, &reason),
    };
    let release = match RealRelease::find(&root) {
        Ok(release) => release,
        Err(reason) => return skipped(what, &reason),
    };
    let version = version();
    root.copy(&release.directory(), &format!("releases/v{version}"));
    root.copy(&repository().join("examples/catalog"), "root/catalog");
    let install = format!("KILN_RELEASES=file:///releases sh /releases/v{version}/install.sh");

    let (code, printed) = root.shell(&install);
    let expected = format!("installed kiln {version} in /root/.local/bin\n");
    assert_eq!((code, printed), (Some(0), expected));
    let (code, printed) = root.shell("kiln version && kiln fn render catalog");
    assert_eq!(code, Some(0), "{printed}");
    assert!(printed.contains(version), "{printed}");
    assert!(
        printed.contains("Successfully executed 2 function(s)"),
        "{printed}"
    );
    let share = root.path("root/.local/share");
    assert!(share.join("man/man1/kiln-fn-render.1").is_file());
    assert!(share.join("bash-completion/completions/kiln").is_file());

    // An upgrade removes what the new release does not have.
    fs::write(share.join("man/man1/kiln-old.1"), "").expect("a file");
    let (code, _) = root.shell(&format!(
        "echo share/man/man1/kiln-old.1 >>.local/share/kiln/installed && {install}"
    ));
    assert_eq!(code, Some(0));
    assert!(!share.join("man/man1/kiln-old.1").exists());

    let (code, printed) = root.shell(&format!("sh /releases/v{version}/install.sh --uninstall"));
    assert_eq!((code, printed.as_str()), (Some(0), ""));
    let (_, left) = root.shell("find .local -type f");
    assert_eq!(left, "");
}

#[test]
fn an_archive_with_another_checksum_is_not_installed() {
    let triple = own_triple();
    let release = Release::of(SMALL_KILN.as_bytes(), &[&triple]);
    let archive = format!("kiln-{}-{triple}.tar.gz", version());
    let path = release.directory().join(&archive);
    let mut bytes = fs::read(&path).expect("an archive");
    bytes.push(0);
    fs::write(&path, bytes).expect("a file");
    let home = tempfile::tempdir().expect("a directory");
    let install = || {
        let output = Command::new("sh")
            .arg(release.directory().join("install.sh"))
            .env("HOME", home.path())
            .env(
                "KILN_RELEASES",
                format!("file://{}", release.releases().display()),
            )
            .output()
            .expect("sh");
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        (output.status.code(), message)
    };
    let (code, message) = install();
    assert_eq!(code, Some(1), "{message}");
    assert!(message.contains("nothing was installed"), "{message}");
    // A list without the archive is no better.
    fs::write(release.directory().join("SHA256SUMS"), "").expect("a file");
    let (code, message) = install();
    assert_eq!(code, Some(1), "{message}");
    assert!(message.contains("no SHA-256"), "{message}");
    assert!(!home.path().join(".local").exists());
}

#[test]
fn a_missing_tool_is_named_before_anything_is_installed() {
    let release = Release::of(SMALL_KILN.as_bytes(), &[&own_triple()]);
    let work = tempfile::tempdir().expect("a directory");
    let tools = ["uname", "mktemp", "rm", "cat", "tar", "sha256sum"];
    let install = |without: &[&str], releases: &str| {
        let bin = work.path().join(without.join("-"));
        fs::create_dir(&bin).expect("a directory");
        for tool in tools.iter().filter(|tool| !without.contains(tool)) {
            let path = find(tool).expect("a tool of every Linux");
            symlink(path, bin.join(tool)).expect("a link");
        }
        let output = Command::new("/bin/sh")
            .arg(release.directory().join("install.sh"))
            .env("HOME", work.path())
            .env("PATH", &bin)
            .env("KILN_RELEASES", releases)
            .output()
            .expect("sh");
        assert_eq!(output.status.code(), Some(1));
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let local = format!("file://{}", release.releases().display());
    for tool in ["tar", "sha256sum"] {
        let expected = format!("{tool} is not installed; nothing was installed\n");
        assert_eq!(install(&[tool], &local), expected);
    }
    assert_eq!(
        install(&["curl", "wget"], "https://example.invalid"),
        "neither curl nor wget is installed; nothing was installed\n"
    );
    assert!(!work.path().join(".local").exists());
}

#[test]
fn an_installation_is_replaced_and_removed_without_other_files() {
    let release = Release::of(SMALL_KILN.as_bytes(), &[&own_triple()]);
    let home = tempfile::tempdir().expect("a directory");
    let releases = format!("file://{}", release.releases().display());
    let run = |prefix: &str, arguments: &[&str]| {
        let output = Command::new("sh")
            .arg(release.directory().join("install.sh"))
            .args(arguments)
            .current_dir(home.path())
            .env_remove("HOME")
            .env("KILN_VERSION", format!("v{}", version()))
            .env("KILN_RELEASES", &releases)
            .env("KILN_PREFIX", prefix)
            .output()
            .expect("sh");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let printed = (text(&output.stdout), text(&output.stderr));
        (output.status.code(), printed.0, printed.1)
    };
    // Without HOME nothing is installed in the root directory.
    let (code, _, message) = run("", &[]);
    assert_eq!(code, Some(1), "{message}");
    assert!(message.contains("KILN_PREFIX"), "{message}");

    // A prefix can be relative; what is in it already stays.
    let prefix = home.path().join("my tools");
    fs::create_dir_all(prefix.join("bin")).expect("a directory");
    fs::write(prefix.join("bin/other"), "").expect("a file");
    for _ in 0..2 {
        let (code, printed, message) = run("my tools", &[]);
        assert_eq!(code, Some(0), "{message}");
        assert!(printed.contains("add it to your PATH"), "{printed}");
        let program = fs::read_to_string(prefix.join("bin/kiln"));
        assert_eq!(program.expect("a program"), SMALL_KILN);
    }
    let (code, _, message) = run("my tools", &["--uninstall"]);
    assert_eq!(code, Some(0), "{message}");
    assert!(prefix.join("bin/other").is_file());
    assert!(!prefix.join("bin/kiln").exists());
    assert!(!prefix.join("share").exists());

    // A directory in the place of a program is not touched.
    fs::create_dir(prefix.join("bin/kiln")).expect("a directory");
    let (code, _, message) = run("my tools", &[]);
    assert_eq!(code, Some(1), "{message}");
    assert!(message.contains("nothing was installed"), "{message}");
    assert!(!prefix.join("share").exists());
}
