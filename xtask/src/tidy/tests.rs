//! Every rule on a tree that breaks it, and all rules on this workspace. (tidy: quoted)

use std::collections::BTreeSet;

use super::{Tree, check, check_tree};

/// The messages for a tree of these files and a correct root.
#[track_caller]
fn violations(files: &[(&str, &str)]) -> Vec<String> {
    let mut tree = Tree::default();
    let root = [("Cargo.toml", "[workspace]\n"), ("Cargo.lock", "")];
    for (path, text) in root.iter().chain(files) {
        tree.files.insert((*path).to_owned(), (*text).to_owned());
    }
    let violations = check_tree(&tree).expect("readable manifests");
    violations.iter().map(ToString::to_string).collect()
}

#[track_caller]
fn check_one(files: &[(&str, &str)], wanted: &str) {
    let got = violations(files);
    assert_eq!(got, [wanted.to_owned()]);
}

fn manifest(name: &str, rest: &str) -> String {
    format!("[package]\nname = \"{name}\"\n{rest}\n[lints]\nworkspace = true\n")
}

fn depends(name: &str, dependency: &str) -> String {
    manifest(name, &format!("[dependencies]\n{dependency}\n"))
}

/// A source of `kiln-krm`, which is pure.
#[track_caller]
fn check_pure_source(source: &str, wanted: &[&str]) {
    check_source("kiln-krm", source, wanted);
}

#[track_caller]
fn check_source(name: &str, source: &str, wanted: &[&str]) {
    let manifest_path = format!("crates/{name}/Cargo.toml");
    let path = format!("crates/{name}/src/lib.rs");
    let source = format!("//! x\n{source}\n");
    let got = violations(&[(&manifest_path, &manifest(name, "")), (&path, &source)]);
    let wanted: Vec<String> = wanted
        .iter()
        .map(|wanted| format!("{path}:2: {name} {wanted}"))
        .collect();
    assert_eq!(got, wanted);
}

#[test]
fn this_workspace_is_tidy() {
    let violations = check(&crate::workspace_root()).expect("a readable workspace");
    let lines: Vec<String> = violations.iter().map(ToString::to_string).collect();
    assert!(lines.is_empty(), "\n{}\n", lines.join("\n"));
}

#[test]
fn sound_tree_has_no_violations() {
    let got = violations(&[
        (
            "crates/kiln-yaml/Cargo.toml",
            &depends("kiln-yaml", "memchr = \"2\""),
        ),
        (
            "crates/kiln-yaml/src/lib.rs",
            "//! x\nmod tests;\nuse std::time::Duration;\n",
        ),
        ("crates/kiln-yaml/src/tests.rs", "//! x\nuse std::fs;\n"),
        (
            "crates/kiln-krm/Cargo.toml",
            &depends("kiln-krm", "kiln-yaml.workspace = true"),
        ),
        (
            "crates/kiln/Cargo.toml",
            &depends("kiln", "anyhow = \"1\"\nkiln-krm.workspace = true"),
        ),
        (
            "crates/kiln/src/main.rs",
            "//! x\nfn main() { println!(); std::process::exit(1) }\n",
        ),
    ]);
    assert_eq!(got, [""; 0]);
}

#[test]
fn unknown_crate_has_no_layer() {
    check_one(
        &[("crates/kiln-new/Cargo.toml", &manifest("kiln-new", ""))],
        "crates/kiln-new/Cargo.toml: crate kiln-new has no layer: add it to the table in xtask/src/tidy/layers.rs",
    );
}

#[test]
fn dependency_upwards() {
    let package = (
        "crates/kiln-package/Cargo.toml",
        &*manifest("kiln-package", ""),
    );
    for section in [
        "dependencies",
        "dev-dependencies",
        "build-dependencies",
        "target.'cfg(unix)'.dependencies",
    ] {
        let krm = manifest(
            "kiln-krm",
            &format!("[{section}]\nkiln-package.workspace = true\n"),
        );
        check_one(
            &[("crates/kiln-krm/Cargo.toml", &krm), package],
            "crates/kiln-krm/Cargo.toml: kiln-krm (Pure) depends upwards on kiln-package (Port)",
        );
    }
}

#[test]
fn renamed_dependency_upwards() {
    check_one(
        &[
            (
                "crates/kiln-krm/Cargo.toml",
                &depends(
                    "kiln-krm",
                    "p = { package = \"kiln-package\", path = \"x\" }",
                ),
            ),
            (
                "crates/kiln-package/Cargo.toml",
                &manifest("kiln-package", ""),
            ),
        ],
        "crates/kiln-krm/Cargo.toml: kiln-krm (Pure) depends upwards on kiln-package (Port)",
    );
}

#[test]
fn sibling_runtimes() {
    check_one(
        &[
            (
                "crates/kiln-exec/Cargo.toml",
                &depends("kiln-exec", "kiln-pods.workspace = true"),
            ),
            ("crates/kiln-pods/Cargo.toml", &manifest("kiln-pods", "")),
        ],
        "crates/kiln-exec/Cargo.toml: kiln-exec depends on its sibling kiln-pods, both in layer Evaluator",
    );
}

#[test]
fn runners_know_no_packages() {
    for (runner, stranger) in [
        ("kiln-server", "kiln-package"),
        ("function-runner", "kiln-render"),
        ("wrapper-server", "kiln-functions"),
    ] {
        let runner_manifest = format!("crates/{runner}/Cargo.toml");
        let dependency = format!("{stranger}.workspace = true");
        check_one(
            &[
                (&runner_manifest, &depends(runner, &dependency)),
                (
                    &format!("crates/{stranger}/Cargo.toml"),
                    &manifest(stranger, ""),
                ),
            ],
            &format!(
                "{runner_manifest}: {runner} may not depend on {stranger}: it runs functions and knows no packages"
            ),
        );
    }
}

#[test]
fn yaml_does_not_know_krm() {
    check_one(
        &[
            (
                "crates/kiln-yaml/Cargo.toml",
                &depends("kiln-yaml", "kiln-krm.workspace = true"),
            ),
            ("crates/kiln-krm/Cargo.toml", &manifest("kiln-krm", "")),
        ],
        "crates/kiln-yaml/Cargo.toml: kiln-yaml depends on its sibling kiln-krm, both in layer Pure",
    );
}

#[test]
fn pure_crate_with_an_impure_dependency() {
    for name in ["tokio", "walkdir", "rustix", "tempfile"] {
        check_one(
            &[(
                "crates/kiln-krm/Cargo.toml",
                &depends("kiln-krm", &format!("{name} = \"1\"")),
            )],
            &format!(
                "crates/kiln-krm/Cargo.toml: kiln-krm is pure (L0) and may not depend on {name}"
            ),
        );
    }
    let for_tests = manifest("kiln-krm", "[dev-dependencies]\ntempfile = \"3\"\n");
    assert_eq!(
        violations(&[("crates/kiln-krm/Cargo.toml", &for_tests)]),
        [""; 0]
    );
}

#[test]
fn library_with_a_program_s_dependency() {
    for name in ["anyhow", "clap"] {
        check_one(
            &[(
                "crates/kiln-package/Cargo.toml",
                &depends("kiln-package", &format!("{name} = \"1\"")),
            )],
            &format!(
                "crates/kiln-package/Cargo.toml: kiln-package is a library; only programs (L4) use {name}"
            ),
        );
    }
}

#[test]
fn pure_crate_that_reaches_the_world() {
    check_pure_source(
        "use std::fs;",
        &["uses files (std::fs); a pure crate may not"],
    );
    check_pure_source(
        "fn f() { std::fs::read(p); }",
        &["uses files (std::fs::read); a pure crate may not"],
    );
    check_pure_source(
        "use std::{fmt, fs::{self, File}};",
        &[
            "uses files (std::fs); a pure crate may not",
            "uses files (std::fs::File); a pure crate may not",
        ],
    );
    check_pure_source(
        "use std::{ net::TcpStream as S, io };",
        &["uses the network (std::net::TcpStream); a pure crate may not"],
    );
    check_pure_source(
        "use std::process::Command;",
        &["uses processes (std::process::Command); a pure crate may not"],
    );
    check_pure_source(
        "use std::time::{Duration, Instant};",
        &["reads the clock (std::time::Instant); a pure crate may not"],
    );
    check_pure_source(
        "fn f() { std :: time :: SystemTime :: now(); }",
        &["reads the clock (std::time::SystemTime::now); a pure crate may not"],
    );
    check_pure_source("use std::net::Ipv6Addr;", &[]);
    check_pure_source(
        "use std::env;",
        &["reads the environment (std::env); only programs may"],
    );
}

#[test]
fn library_that_talks() {
    let check = |source: &str, wanted: &str| check_source("kiln-package", source, &[wanted]);
    check(
        "fn f() { println!(\"x\") }",
        "prints (println!); only programs may",
    );
    check(
        "fn f() { std::eprint!(\"x\") }",
        "prints (eprint!); only programs may",
    );
    check(
        "fn f() { std::io::stdout(); }",
        "prints (std::io::stdout); only programs may",
    );
    check(
        "fn f() { std::env::var(\"HOME\"); }",
        "reads the environment (std::env::var); only programs may",
    );
    check(
        "fn f() { std::process::exit(1) }",
        "ends the process (std::process::exit); only programs may",
    );
    check_source(
        "kiln-package",
        "use std::fs; use std::env::consts::OS;",
        &[],
    );
}

#[test]
fn words_and_literals_are_no_code() {
    check_pure_source("// std::fs println!\n/* std::env /* x */ std::fs */", &[]);
    check_pure_source(
        r##"const A: &str = "std::fs"; const B: &str = r#"" std::fs println!"#; const C: u8 = b'"';"##,
        &[],
    );
    check_pure_source(
        "fn f<'a>(a: &'a str) -> char { '\"' } // \"\nfn g() { my_println!(); }",
        &[],
    );
    check_pure_source(
        "const A: char = '\\''; use std::fs;",
        &["uses files (std::fs); a pure crate may not"],
    );
}

#[test]
fn long_file() {
    let text = format!("//! x\n{}", "\n".repeat(800));
    let manifest = manifest("kiln", "");
    let manifest = ("crates/kiln/Cargo.toml", manifest.as_str());
    check_one(
        &[manifest, ("crates/kiln/src/a.rs", &text)],
        "crates/kiln/src/a.rs: 801 lines; split it before it has 800",
    );
    assert_eq!(
        violations(&[manifest, ("crates/kiln/src/tag_table.rs", &text)]),
        [""; 0]
    );
    let generated = text.replacen("x", "@generated", 1);
    assert_eq!(
        violations(&[manifest, ("crates/kiln/src/a.rs", &generated)]),
        [""; 0]
    );
}

#[test]
fn module_without_a_first_line() {
    check_one(
        &[
            ("crates/kiln/Cargo.toml", &manifest("kiln", "")),
            ("crates/kiln/src/a.rs", "fn f() {}\n"),
        ],
        "crates/kiln/src/a.rs:1: a module begins with //! that says what it is for",
    );
}

#[test]
fn loose_ends() {
    for (code, name) in [
        ("fn f() { todo!() }", "todo!"),
        ("fn f() { unimplemented!() }", "unimplemented!"),
        ("#[ignore] fn f() {}", "#[ignore"),
        (
            "#[should_panic(expected = \"x\")] fn f() {}",
            "#[should_panic",
        ),
    ] {
        check_one(
            &[
                ("crates/kiln/Cargo.toml", &manifest("kiln", "")),
                ("crates/kiln/src/a.rs", &format!("//! x\n\n{code}\n")),
            ],
            &format!("crates/kiln/src/a.rs:3: no {name}"),
        );
    }
}

/// Checks sources of the crate kiln, each a file of its own.
#[track_caller]
fn check_files(sources: &[&str], wanted: &[&str]) {
    let manifest = manifest("kiln", "");
    let texts = sources.iter().map(|source| format!("//! x\n{source}\n"));
    let paths = (0..).map(|number| format!("crates/kiln/src/{number}.rs"));
    let files: Vec<(String, String)> = paths.zip(texts).collect();
    let files = files
        .iter()
        .map(|(path, text)| (path.as_str(), text.as_str()));
    let manifest = ("crates/kiln/Cargo.toml", manifest.as_str());
    let files: Vec<(&str, &str)> = files.chain([manifest]).collect();
    assert_eq!(violations(&files), wanted);
}

#[test]
fn name_of_too_many_types() {
    let wanted = "crates/kiln/src/0.rs: 3 types have the name Lamp, at most 2 may; \
                  rename one in: crates/kiln/src/0.rs, crates/kiln/src/1.rs, crates/kiln/src/2.rs";
    check_files(
        &[
            "pub(crate) struct Lamp;",
            "records! {\n    pub enum Lamp {}\n}",
            "type Lamp<T> = Vec<T>;",
        ],
        &[wanted],
    );
    let two = ["struct Lamp;", "pub(crate) trait Lamp {}"];
    check_files(&two, &[]);
    for harmless in [
        "// struct Lamp;",
        "impl A for B {\n    type Lamp = C;\n}",
        "#[cfg(test)]\nmod tests {\n    struct Lamp { a: u8 }\n}",
        "struct LampShade; fn f(lamp: Lamp) {}",
    ] {
        check_files(&[two[0], two[1], harmless], &[]);
    }
    check_files(
        &[two[0], two[1], "#[cfg(test)]\nmod tests;\nstruct Lamp;"],
        &[wanted],
    );
    check_files(&["struct Args;", "struct Args;", "struct Args;"], &[]);
}

#[test]
fn retired_type_names() {
    let wanted = "crates/kiln/src/0.rs: the type name World is retired; see the glossary";
    check_files(&["pub(super) struct World {}"], &[wanted]);
    check_files(&["struct WorldView; // struct World;"], &[]);
}

#[test]
fn public_items_without_a_comment() {
    let source = "//! x
/// A type.
#[derive(
    Clone, Debug
)]
pub struct Documented {
    pub field: [u8; 2],
}
// Not a doc comment.
#[must_use]
pub fn f() {}
pub(crate) const C: u8 = 0;
pub use other::Thing;
pub mod module;
/// A comment of another item.
const D: &str = \"/// not a comment\";
impl Documented {
    pub fn method() {}
}
#[derive(Debug, thiserror::Error)]
pub enum Failed {}
pub async fn g() {}
";
    let path = "crates/kiln-krm/src/lib.rs";
    let message = "a public item needs a doc comment";
    let wanted = [11, 22].map(|line| format!("{path}:{line}: {message}"));
    assert_eq!(violations(&[(path, source)]), wanted);
    assert!(violations(&[("crates/kiln-krm/src/tests/it.rs", source)]).is_empty());
}

#[test]
fn module_beside_its_directory() {
    check_one(
        &[
            ("crates/kiln/src/package.rs", "//! x\n"),
            ("crates/kiln/src/package/write.rs", "//! x\n"),
        ],
        "crates/kiln/src/package.rs: move it to crates/kiln/src/package/mod.rs, where its modules are",
    );
}

#[test]
fn retired_words() {
    let wanted = |word: &str| {
        format!("crates/kiln/src/0.rs:2: the word {word:?} is retired; use a plain one")
    };
    for (source, word) in [
        ("// It tells the caller.", "tells"),
        ("/// Whoever reads this.", "whoever"),
        ("fn call_told() {}", "told"),
        ("struct CallTold;", "told"),
        ("/* Somebody */", "somebody"),
        ("const A: &str = \"told\";", "told"),
        ("const A: &str = r#\"a\ntold\"#;", "told"),
        ("const A: &str = \"a\\ntold\";", "told"),
        ("const TOLD: u8 = 0;", "told"),
        ("// It waits in vain.", "in vain"),
        ("fn mend_file() {}", "mend"),
    ] {
        let line = 2 + source.matches('\n').count();
        let message = wanted(word).replace(":2:", &format!(":{line}:"));
        check_files(&[source], &[&message]);
    }
    check_files(
        &[
            "const A: &str = \"tidy: quoted, told\"; // teller, foretell, vain",
            "//! tidy: quoted\nconst A: &str = \"told\";",
        ],
        &[],
    );
    check_files(
        &["//! tidy: quoted\nconst A: &str = \"told\"; // told"],
        &["crates/kiln/src/0.rs:3: the word \"told\" is retired; use a plain one"],
    );
    let port = "//! x\nconst A: &str = \"told\";\n";
    for path in [
        "crates/kiln-starlark/src/a.rs",
        "crates/kiln-functions/src/catalog/a.rs",
    ] {
        assert_eq!(violations(&[(path, port)]), [""; 0], "{path}");
    }
    check_one(
        &[("docs/page.md", "# Page\n\nWe tell you.\n")],
        "docs/page.md:3: the word \"tell\" is retired; use a plain one",
    );
}

#[test]
fn commands_of_git() {
    let wanted = "crates/kiln/src/0.rs:2: only kiln-task's GitProgram runs git; use it or WorkTree";
    for source in [
        "fn f() { Command::new(\"git\") }",
        "fn f() { tokio::process::Command::new(\n        \"git\",\n    ) }",
        "fn f() { Command::new(\"/usr/bin/git\") }",
    ] {
        check_files(&[source], &[wanted]);
    }
    check_files(
        &[
            "fn f() { GitProgram::new(\"git\", []) } // Command::new(\"git\")",
            "fn f() { Command::new(\"digit\"); RepositoryConfig::new(git) }",
            "#[cfg(test)]\nmod tests {\n    fn f() { Command::new(\"git\") }\n}",
        ],
        &[],
    );
    let allowed = [
        "crates/kiln-task/src/git/program/mod.rs",
        "crates/kiln/tests/it/main.rs",
        "crates/bench/src/a.rs",
        "crates/kiln/build.rs",
    ];
    let source = "//! x\nfn f() { Command::new(\"git\") }\n";
    for path in allowed {
        assert_eq!(violations(&[(path, source)]), [""; 0], "{path}");
    }
}

#[test]
fn links_that_lead_nowhere() {
    let mut tree = Tree::default();
    let page = "[this](page.md) [code](../xtask/src/) [gone](gone.md)\n[out](../../x)\n";
    for (path, text) in [("Cargo.lock", ""), ("docs/page.md", page)] {
        tree.files.insert(path.to_owned(), text.to_owned());
    }
    let tracked = ["Cargo.lock", "docs/page.md", "xtask/src/lib.rs"];
    tree.tracked = Some(tracked.map(str::to_owned).into());
    let violations = check_tree(&tree).expect("readable manifests");
    let lines: Vec<String> = violations.iter().map(ToString::to_string).collect();
    assert_eq!(
        lines,
        [
            "docs/page.md:1: the link to gone.md leads to no file in git",
            "docs/page.md:2: the link to ../../x leads to no file in git",
        ]
    );
}

#[test]
fn pages_that_the_index_has_not_once() {
    let index = "[loose.md](loose.md)\n\n| page | on |\n|---|---|\n| [a.md](a.md) | a |\n| [b.md](b.md) | b |\n| [b.md](b.md) | b |\n";
    let got = violations(&[
        ("docs/README.md", index),
        ("docs/a.md", ""),
        ("docs/b.md", ""),
        ("docs/loose.md", ""),
    ]);
    assert_eq!(
        got,
        [
            "docs/README.md: b.md is 2 times in the tables, not once",
            "docs/README.md: loose.md is 0 times in the tables, not once",
        ]
    );
}

#[test]
fn rows_outside_of_tables() {
    let page = "| flag | meaning |\n|---|---|\n| a | b |\n\n| c | d |\n| e | f |\n";
    let message = "a row outside of a table: a blank line ends a table";
    check_one(
        &[("docs/page.md", page)],
        &format!("docs/page.md:5: {message}"),
    );
    let page = "| a | b |\n|---|:-:|\n| `c\\|d` | e |\n| f |\n```\n| g\n```\n";
    let message = "a row of 1 columns in a table of 2";
    check_one(
        &[("docs/page.md", page)],
        &format!("docs/page.md:4: {message}"),
    );
}

#[test]
fn files_that_the_architecture_names_and_that_are_gone() {
    let page = "| word | file |\n|---|---|\n| a | `xtask/src/lib.rs`, `kiln-krm/src/`, `a::b`, `catalog/<name>/` |\n\
                | b | `commands/fn_/` → `kiln-krm/src/gone.rs` |\n";
    let mut tree = Tree::default();
    for (path, text) in [("Cargo.lock", ""), ("ARCHITECTURE.md", page)] {
        tree.files.insert(path.to_owned(), text.to_owned());
    }
    let tracked = [
        "ARCHITECTURE.md",
        "Cargo.lock",
        "crates/kiln-krm/src/lib.rs",
        "crates/kiln/src/commands/fn_/mod.rs",
        "xtask/src/lib.rs",
    ];
    tree.tracked = Some(tracked.map(str::to_owned).into());
    let violations = check_tree(&tree).expect("readable manifests");
    let lines: Vec<String> = violations.iter().map(ToString::to_string).collect();
    assert_eq!(
        lines,
        ["ARCHITECTURE.md:4: there is no kiln-krm/src/gone.rs; name the file that has this now"]
    );
}

const WITH_TESTS: &str =
    "autotests = false\n[[test]]\nname = \"it\"\npath = \"tests/it/main.rs\"\n";

#[test]
fn forgotten_test_file() {
    let manifest = manifest("kiln", WITH_TESTS);
    let manifest = ("crates/kiln/Cargo.toml", manifest.as_str());
    let main = (
        "crates/kiln/tests/it/main.rs",
        "//! x\nmod source;\nmod deep;\n",
    );
    let source = ("crates/kiln/tests/it/source.rs", "//! x\n");
    let deep = ("crates/kiln/tests/it/deep/mod.rs", "//! x\nmod inner;\n");
    let inner = ("crates/kiln/tests/it/deep/inner.rs", "//! x\n");
    assert_eq!(violations(&[manifest, main, source, deep, inner]), [""; 0]);
    check_one(
        &[
            manifest,
            main,
            source,
            deep,
            inner,
            ("crates/kiln/tests/it/sink.rs", "//! x\n"),
        ],
        "crates/kiln/tests/it/sink.rs: never run: no `mod sink;` in the module it belongs to",
    );
    check_one(
        &[
            manifest,
            main,
            source,
            deep,
            inner,
            ("crates/kiln/tests/it/deep/sink.rs", "//! x\n"),
        ],
        "crates/kiln/tests/it/deep/sink.rs: never run: no `mod sink;` in the module it belongs to",
    );
    check_one(
        &[
            manifest,
            main,
            ("crates/kiln/src/a/mod.rs", "//! x\n// mod tests;\n"),
            ("crates/kiln/src/a/tests.rs", "//! x\n"),
        ],
        "crates/kiln/src/a/tests.rs: never run: no `mod tests;` in the module it belongs to",
    );
}

#[test]
fn integration_tests_that_never_run() {
    let main = ("crates/kiln/tests/it/main.rs", "//! x\n");
    check_one(
        &[
            (
                "crates/kiln/Cargo.toml",
                &manifest("kiln", "autotests = false\n"),
            ),
            main,
        ],
        "crates/kiln/Cargo.toml: tests/it is never run: no [[test]] with path tests/it/main.rs",
    );
    check_one(
        &[
            (
                "crates/kiln/Cargo.toml",
                &manifest("kiln", &WITH_TESTS.replace("autotests = false\n", "")),
            ),
            main,
        ],
        "crates/kiln/Cargo.toml: with tests/it, autotests = false is missing",
    );
    check_one(
        &[
            ("crates/kiln/Cargo.toml", &manifest("kiln", WITH_TESTS)),
            main,
            ("crates/kiln/tests/other.rs", "//! x\n"),
        ],
        "crates/kiln/Cargo.toml: crates/kiln/tests/other.rs is an integration binary of its own; tests go to tests/it",
    );
}

#[test]
fn lints_of_the_one_unsafe_crate() {
    let path = "crates/kiln-sandbox/Cargo.toml";
    let sound = "[package]\nname = \"kiln-sandbox\"\n[lints.rust]\nunsafe_code = \"deny\"\n";
    assert_eq!(violations(&[(path, sound)]), Vec::<String>::new());
    check_one(
        &[(path, &sound.replace("deny", "allow"))],
        "crates/kiln-sandbox/Cargo.toml: [lints.rust] unsafe_code = \"deny\" is missing",
    );
}

#[test]
fn lints_not_inherited() {
    check_one(
        &[("crates/kiln/Cargo.toml", "[package]\nname = \"kiln\"\n")],
        "crates/kiln/Cargo.toml: [lints] workspace = true is missing",
    );
}

#[test]
fn directory_of_another_name() {
    check_one(
        &[("crates/cli/Cargo.toml", &manifest("kiln", ""))],
        "crates/cli/Cargo.toml: crate kiln lives in a directory of another name",
    );
}

#[test]
fn lock_file_outside_git() {
    let mut tree = Tree::default();
    tree.files.insert("Cargo.lock".to_owned(), String::new());
    tree.tracked = Some(BTreeSet::new());
    let violations = check_tree(&tree).expect("no manifests to read");
    assert_eq!(violations.len(), 1);
    assert_eq!(violations[0].to_string(), "Cargo.lock: must be in git");
}

#[test]
fn copies_of_the_version_are_equal() {
    let workspace = "[workspace]\n[workspace.package]\nversion = \"1.2.3\"\n";
    let check = |plugin: &str, readme: &str, wanted: &[&str]| {
        let files = [
            ("Cargo.toml", workspace),
            ("deploy/helm/plugin.yaml", plugin),
            ("README.md", readme),
        ];
        assert_eq!(violations(&files), wanted);
    };
    let readme = "The version is 1.2.3, not released yet.\n";
    check("name: kiln\nversion: 1.2.3\n", readme, &[]);
    check(
        "name: kiln\nversion: 1.2.2\n",
        "kiln 1.2.3\n",
        &[
            "README.md: no line begins with \"The version is \" and the version, 1.2.3",
            "deploy/helm/plugin.yaml:2: the version is 1.2.2, and 1.2.3 in Cargo.toml",
        ],
    );
}

#[test]
fn examples_name_the_version_of_the_workspace() {
    let workspace = "[workspace]\n[workspace.package]\nversion = \"1.2.3\"\n";
    let page = "    rev: v1.2.3\n    curl 127.0.0.1\n    image: gcr.io/kpt-fn/a:v0.4.1\n    \
                tar -xzf kiln-1.2.2-x86.tar.gz\n";
    let files = [("Cargo.toml", workspace), ("docs/ci.md", page)];
    assert_eq!(
        violations(&files),
        ["docs/ci.md:4: the version is 1.2.2, and 1.2.3 in Cargo.toml"]
    );
}
