//! Archives, lists of parts and texts of a release. `tests/it/dist.rs` makes and installs a whole one.

use std::collections::BTreeMap;

use serde_json::json;

use super::content::{has_unreleased, release_notes};
use super::files::PackedFiles;
use super::formula::{FormulaSource, formula};
use super::manual::manual_page;
use super::sbom::cyclonedx;
use super::target::git;
use super::{TARGETS, check_work_tree, with_defaults};

/// The entries of an archive: path, mode, owner and time.
fn entries(archive: &[u8]) -> Vec<(String, u32, u64, u64)> {
    let mut archive = tar::Archive::new(archive);
    let entry = |entry: std::io::Result<tar::Entry<'_, &[u8]>>| {
        let entry = entry.unwrap();
        let header = entry.header();
        (
            entry.path().unwrap().display().to_string(),
            header.mode().unwrap(),
            header.uid().unwrap(),
            header.mtime().unwrap(),
        )
    };
    archive.entries().unwrap().map(entry).collect()
}

#[test]
fn archives_are_sorted_and_have_one_owner_and_time() {
    let mut files = PackedFiles::default();
    files.add("share/man/kiln.1", "page");
    files.add_program("bin/kiln", "program");
    let archive = files.below("kiln-1").tar(7).unwrap();
    let entry = |path: &str, mode| (path.to_owned(), mode, 0, 7);
    assert_eq!(
        entries(&archive),
        [
            entry("kiln-1/", 0o755),
            entry("kiln-1/bin/", 0o755),
            entry("kiln-1/bin/kiln", 0o755),
            entry("kiln-1/share/", 0o755),
            entry("kiln-1/share/man/", 0o755),
            entry("kiln-1/share/man/kiln.1", 0o644),
        ]
    );
}

#[test]
fn notes_are_the_section_of_the_version() {
    let changelog = "# Changelog\n\n## Unreleased\n- new\n\n## 1.2.0, 2026-01-01\n\n- this\n\n## 1.1.0\n- old\n";
    assert_eq!(
        release_notes(changelog, "1.2.0").unwrap(),
        "## 1.2.0, 2026-01-01\n\n- this\n"
    );
    assert_eq!(
        release_notes(changelog, "1.1.0").unwrap(),
        "## 1.1.0\n- old\n"
    );
    assert!(release_notes(changelog, "1.2").is_err());
    assert!(has_unreleased(changelog));
    assert!(!has_unreleased(
        "# Changelog\n\n## Unreleased\n\n## 1.0.0\n- this\n"
    ));
}

#[test]
fn the_script_gets_defaults_that_variables_still_override() {
    let script = "set -eu\nKILN_VERSION=${KILN_VERSION:-}\nKILN_RELEASES=${KILN_RELEASES:-}\n";
    assert_eq!(
        with_defaults(script, "1.2.0", Some("https://example.com/kiln")).unwrap(),
        "set -eu\nKILN_VERSION=${KILN_VERSION:-1.2.0}\nKILN_RELEASES=${KILN_RELEASES:-https://example.com/kiln}\n"
    );
    assert!(with_defaults(script, "1.2.0", Some("$(reboot)")).is_err());
    assert!(with_defaults("nothing to replace", "1.2.0", None).is_err());
}

#[test]
fn a_release_is_made_of_a_commit() {
    let work = tempfile::tempdir().unwrap();
    let root = work.path();
    git(root, &["init", "--quiet"]).unwrap();
    assert!(check_work_tree(root, false).is_ok());
    std::fs::write(root.join("new.rs"), "").unwrap();
    let error = check_work_tree(root, false).unwrap_err().to_string();
    assert!(error.starts_with("1 file differs from"), "{error}");
    assert!(error.contains("new.rs"), "{error}");
    assert!(error.contains("--allow-dirty"), "{error}");
    assert!(check_work_tree(root, true).is_ok());
}

#[test]
fn man_pages_show_help_as_it_is() {
    let page = manual_page("a-server", "serve", "Usage:\n  -port int\n.dot C:\\n\n");
    assert!(page.contains("\na\\-server \\- serve\n"), "{page}");
    let help = ".nf\nUsage:\n  \\-port int\n\\&.dot C:\\en\n.fi\n";
    assert!(page.ends_with(help), "{page}");
}

#[test]
fn the_list_has_what_programs_link_and_nothing_else() {
    let package = |name: &str, licence, source| json!({"id": name, "name": name, "version": "1.0.0", "license": licence, "source": source});
    let registry = "registry+https://github.com/rust-lang/crates.io-index";
    let dependency = |name: &str, kind| json!({"pkg": name, "dep_kinds": [{"kind": kind}]});
    let metadata = json!({
        "packages": [
            package("kiln", "Apache-2.0", None),
            package("xtask", "Apache-2.0", None),
            package("linked", "MIT/Apache-2.0", Some(registry)),
            package("tested", "MIT", Some(registry)),
            package("chore", "MIT", Some(registry)),
        ],
        "resolve": {"nodes": [
            {"id": "kiln", "deps": [dependency("linked", None), dependency("tested", Some("dev"))]},
            {"id": "xtask", "deps": [dependency("chore", None)]},
            {"id": "linked", "deps": [dependency("chore", Some("build"))]},
        ]},
    });
    let sum = ("linked".to_owned(), "1.0.0".to_owned());
    let sums = BTreeMap::from([(sum, "ab".to_owned())]);
    let bom = cyclonedx(&metadata, &sums, "1.2.0").unwrap();
    assert_eq!(
        bom["components"],
        json!([
            {
                "type": "application", "bom-ref": "pkg:cargo/kiln@1.0.0", "name": "kiln", "version": "1.0.0",
                "purl": "pkg:cargo/kiln@1.0.0", "licenses": [{"expression": "Apache-2.0"}],
            },
            {
                "type": "library", "bom-ref": "pkg:cargo/linked@1.0.0", "name": "linked", "version": "1.0.0",
                "purl": "pkg:cargo/linked@1.0.0", "licenses": [{"expression": "MIT OR Apache-2.0"}],
                "hashes": [{"alg": "SHA-256", "content": "ab"}],
            },
        ])
    );
    assert_eq!(
        bom["dependencies"],
        json!([
            {"ref": "kiln-release@1.2.0", "dependsOn": ["pkg:cargo/kiln@1.0.0"]},
            {"ref": "pkg:cargo/kiln@1.0.0", "dependsOn": ["pkg:cargo/linked@1.0.0"]},
            {"ref": "pkg:cargo/linked@1.0.0", "dependsOn": []},
        ])
    );
}

#[test]
fn the_formula_has_an_archive_for_each_processor() {
    let source = |name, sha256| FormulaSource { name, sha256 };
    let archives = [
        ("intel", source("kiln-x.tar.gz", "01")),
        ("arm", source("kiln-a.tar.gz", "02")),
    ];
    let text = formula(
        "1.2.0",
        "https://example.com",
        &source("sources.tar.gz", "03"),
        &archives,
    );
    for block in [
        "  on_linux do\n    on_intel do\n      url \"https://example.com/v1.2.0/kiln-x.tar.gz\"\n      sha256 \"01\"\n    end\n",
        "    on_arm do\n      url \"https://example.com/v1.2.0/kiln-a.tar.gz\"\n      sha256 \"02\"\n    end\n  end\n",
        "  on_macos do\n    url \"https://example.com/v1.2.0/sources.tar.gz\"\n    sha256 \"03\"\n",
        "shell_output(\"#{bin}/kiln version\")",
    ] {
        assert!(text.contains(block), "{block}\n{text}");
    }
}

#[test]
fn targets_are_found_by_their_triples() {
    for target in TARGETS {
        assert_eq!(
            target.triple().parse::<super::ReleaseTarget>().unwrap(),
            *target
        );
    }
    assert!(
        "x86_64-apple-darwin"
            .parse::<super::ReleaseTarget>()
            .is_err()
    );
}
