//! `kiln function new`: writes a function with a test and a package to try it on.

use std::path::Path;

use anyhow::Result;
use clap::{Args, ValueEnum};
use kiln_task::{Contents, FileMode, PackageFile, PackagePath};

use crate::error::bail_usage;
use crate::rpkg::directory;
use crate::ui::Ui;

/// Write a function with a test and a package to try it on
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n\
    \x20 kiln function new set-replicas --lang python\n\
    \x20 kiln fn render set-replicas/example --allow-exec")]
pub(super) struct NewArgs {
    /// Name of the function, and of the directory to create
    name: String,
    /// Programming language
    #[arg(long, value_enum, value_name = "LANGUAGE")]
    lang: Language,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Language {
    Bash,
    Python,
    Go,
    Rust,
    #[value(name = "typescript")]
    TypeScript,
    /// Rust, as a WebAssembly module
    Wasm,
}

/// How to build, test and run the function of a template, in the directory above it.
struct FunctionTemplate {
    files: &'static [(&'static str, &'static str)],
    /// The file that is a program by itself.
    program: Option<&'static str>,
    build: Option<&'static str>,
    test: &'static str,
    run: &'static str,
}

/// Stands for the name of the function in templates.
const NAME: &str = "NAME";
/// Stands for the command line in the Kptfile of the example.
const COMMAND: &str = "COMMAND";

const EXAMPLE: &[(&str, &str)] = &[
    ("example/Kptfile", include_str!("templates/example/Kptfile")),
    (
        "example/deployment.yaml",
        include_str!("templates/example/deployment.yaml"),
    ),
];

const BASH: FunctionTemplate = FunctionTemplate {
    files: &[
        ("function.sh", include_str!("templates/bash/function.sh")),
        ("test.sh", include_str!("templates/bash/test.sh")),
    ],
    program: Some("function.sh"),
    build: None,
    test: "bash NAME/test.sh",
    run: "./NAME/function.sh",
};

const PYTHON: FunctionTemplate = FunctionTemplate {
    files: &[
        ("function.py", include_str!("templates/python/function.py")),
        (
            "test_function.py",
            include_str!("templates/python/test_function.py"),
        ),
    ],
    program: Some("function.py"),
    build: None,
    test: "python3 NAME/test_function.py",
    run: "kiln function json ./NAME/function.py",
};

const GO: FunctionTemplate = FunctionTemplate {
    files: &[
        ("go.mod", include_str!("templates/go/go.mod")),
        ("main.go", include_str!("templates/go/main.go")),
        ("main_test.go", include_str!("templates/go/main_test.go")),
    ],
    program: None,
    build: Some("go build -C NAME -o function ."),
    test: "go test -C NAME ./...",
    run: "kiln function json ./NAME/function",
};

const RUST: FunctionTemplate = FunctionTemplate {
    files: &[
        (
            "Cargo.toml",
            include_str!("templates/rust/Cargo.toml.template"),
        ),
        (
            "src/main.rs",
            include_str!("templates/rust/src/main.rs.template"),
        ),
    ],
    program: None,
    build: Some("cargo build --release --manifest-path NAME/Cargo.toml"),
    test: "cargo test --manifest-path NAME/Cargo.toml",
    run: "kiln function json ./NAME/target/release/NAME",
};

const TYPESCRIPT: FunctionTemplate = FunctionTemplate {
    files: &[
        (
            "function.ts",
            include_str!("templates/typescript/function.ts"),
        ),
        (
            "function.test.ts",
            include_str!("templates/typescript/function.test.ts"),
        ),
        (
            "package.json",
            include_str!("templates/typescript/package.json"),
        ),
        (
            "tsconfig.json",
            include_str!("templates/typescript/tsconfig.json"),
        ),
    ],
    program: None,
    build: Some("npm --prefix NAME install && npm --prefix NAME run build"),
    test: "node --test NAME/dist/",
    run: "kiln function json node NAME/dist/function.js",
};

const WASM: FunctionTemplate = FunctionTemplate {
    files: &[
        (
            "Cargo.toml",
            include_str!("templates/wasm/Cargo.toml.template"),
        ),
        (
            "src/main.rs",
            include_str!("templates/wasm/src/main.rs.template"),
        ),
    ],
    program: None,
    build: Some("cargo build --release --target wasm32-wasip1 --manifest-path NAME/Cargo.toml"),
    test: "cargo test --manifest-path NAME/Cargo.toml",
    run: "./NAME/target/wasm32-wasip1/release/NAME.wasm",
};

impl Language {
    fn template(self) -> &'static FunctionTemplate {
        match self {
            Language::Bash => &BASH,
            Language::Python => &PYTHON,
            Language::Go => &GO,
            Language::Rust => &RUST,
            Language::TypeScript => &TYPESCRIPT,
            Language::Wasm => &WASM,
        }
    }
}

pub(super) fn cmd_new(ui: &Ui, args: &NewArgs) -> Result<()> {
    let name = args.name.as_str();
    let is_allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let has_letter_first = name.starts_with(|c: char| c.is_ascii_lowercase());
    if !has_letter_first || name.ends_with('-') || name.len() > 63 || !name.chars().all(is_allowed)
    {
        bail_usage!(
            "{name:?} is not a name for a function; it has lower-case letters, digits and dashes, such as set-replicas"
        );
    }
    let template = args.lang.template();
    let contents = template.contents(name)?;
    directory::write(&contents, Path::new(name))?;
    ui.write_data(template.next_steps(name).as_bytes())
}

impl FunctionTemplate {
    fn contents(&self, name: &str) -> Result<Contents> {
        let command = named(self.run, name);
        let mut contents = Contents::new();
        for (path, text) in self.files.iter().chain(EXAMPLE) {
            let text = named(text, name).replace(COMMAND, &command);
            let mode = match self.program == Some(*path) {
                true => FileMode::Executable,
                false => FileMode::Regular,
            };
            let bytes = text.into_bytes().into();
            contents.insert(PackagePath::new(*path)?, PackageFile { bytes, mode })?;
        }
        Ok(contents)
    }

    /// What the user can do with the function.
    fn next_steps(&self, name: &str) -> String {
        let mut steps = format!("created {name}\n");
        let mut step = |what: &str, command: &str| {
            steps.push_str(&format!("{what:9} {}\n", named(command, name)));
        };
        if let Some(build) = self.build {
            step("build it:", build);
        }
        step("test it:", self.test);
        step("run it:", "kiln fn render NAME/example --allow-exec");
        step(
            "use it:",
            &format!("exec: {} # in the pipeline of a Kptfile", self.run),
        );
        steps
    }
}

fn named(text: &str, name: &str) -> String {
    text.replace(NAME, name)
}
