//! A release of given programs, made by `cargo xtask dist`.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

/// The platforms of releases; the first one is not always that of this machine.
pub(crate) const TRIPLES: [&str; 2] = ["x86_64-unknown-linux-musl", "aarch64-unknown-linux-musl"];

/// The triple of this machine's releases.
pub(crate) fn own_triple() -> String {
    format!("{}-unknown-linux-musl", std::env::consts::ARCH)
}

/// A program that writes man pages and completions like kiln, and is small.
pub(crate) const SMALL_KILN: &str = "#!/bin/sh
case $1 in
manual) /bin/mkdir \"$2\" && echo page >\"$2/kiln.1\" ;;
completion) echo \"completes $2\" ;;
*) echo \"kiln $*\" ;;
esac
";

/// The kiln that `cargo test` has built beside these tests, or why there is none.
pub(crate) fn built_kiln() -> Result<PathBuf, String> {
    let kiln = Path::new(env!("CARGO_BIN_EXE_xtask")).with_file_name("kiln");
    match kiln.is_file() {
        true => Ok(kiln),
        false => Err("kiln is not built; `cargo test --workspace` builds it".to_owned()),
    }
}

/// A release in a directory, below `v` and its version, as servers have it.
pub(crate) struct Release {
    work: TempDir,
}

impl Release {
    /// A release with this kiln for some platforms, and with small servers.
    pub(crate) fn of(kiln: &[u8], triples: &[&str]) -> Release {
        let release = Release {
            work: tempfile::tempdir().expect("a directory"),
        };
        for triple in triples {
            let directory = release.work.path().join("programs").join(triple);
            fs::create_dir_all(&directory).expect("a directory");
            let server: &[u8] = b"#!/bin/sh\necho 'Usage of a server' >&2\n";
            for (name, bytes) in [
                ("kiln", kiln),
                ("function-runner", server),
                ("wrapper-server", server),
            ] {
                let path = directory.join(name);
                fs::write(&path, bytes).expect("a file");
                fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("rights");
            }
        }
        release.make();
        release
    }

    /// Makes the release again, in the place of the old one.
    pub(crate) fn make(&self) {
        // Tests run while files are edited.
        let output = self.dist(&["--allow-dirty"]);
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{message}");
    }

    /// Runs `cargo xtask dist` for the programs.
    pub(crate) fn dist(&self, arguments: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_xtask"))
            .args(["dist", "--releases=https://example.com/kiln/", "--programs"])
            .arg(self.work.path().join("programs"))
            .arg("--output")
            .arg(self.directory())
            .args(arguments)
            .output()
            .expect("xtask")
    }

    /// The directory of all releases.
    pub(crate) fn releases(&self) -> PathBuf {
        self.work.path().join("releases")
    }

    /// The directory of this release.
    pub(crate) fn directory(&self) -> PathBuf {
        self.releases().join(format!("v{}", version()))
    }

    /// The files of the release.
    pub(crate) fn files(&self) -> BTreeMap<String, Vec<u8>> {
        let entries = fs::read_dir(self.directory()).expect("a directory");
        let file = |entry: std::io::Result<fs::DirEntry>| {
            let path = entry.expect("an entry").path();
            (name_of(&path), fs::read(&path).expect("a file"))
        };
        entries.map(file).collect()
    }
}

/// The version of the workspace.
pub(crate) fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

fn name_of(path: &Path) -> String {
    let name = path.file_name().expect("a name");
    name.to_string_lossy().into_owned()
}
