//! Images as users have them: a Go program, Python and Node with their libraries, pulled and run by kiln, and by an engine where there
//! is one. Each is made of the files of this machine; what it does not have is skipped.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use kiln_oci::{
    ImageLayout, ImageSpec, LayerBuilder, Platform, RunConfig, add_image, write_archive,
};

use crate::engine;
use crate::faults::skip;
use crate::images::{RESOURCE, load_into_engine, pass_engine_variables};
use crate::store_registry::TestRegistry;
use crate::test_environment::{TestEnvironment, run};

const GO: &str = "package main

import (
	\"fmt\"
	\"io\"
	\"os\"
	\"strings\"
)

func main() {
	input, err := io.ReadAll(os.Stdin)
	if err != nil {
		os.Exit(3)
	}
	fmt.Print(strings.ReplaceAll(string(input), \"value: old\", \"value: new\"))
}
";

const PYTHON: &str =
    "import sys; sys.stdout.write(sys.stdin.read().replace('value: old', 'value: new'))";

const NODE: &str = "const text = require('fs').readFileSync(0, 'utf8'); \
                    process.stdout.write(text.replace('value: old', 'value: new'))";

/// The files of an image, as they are on this machine.
struct ImageFiles {
    files: BTreeSet<PathBuf>,
}

impl ImageFiles {
    /// A program with its libraries; `None` if this machine does not have it.
    fn of_program(program: &Path) -> Option<ImageFiles> {
        let mut found = ImageFiles {
            files: BTreeSet::new(),
        };
        found.add(program);
        let libraries = Command::new("ldd").arg(program).output().ok()?;
        let libraries = String::from_utf8_lossy(&libraries.stdout).into_owned();
        for word in libraries.split_whitespace() {
            if word.starts_with('/') {
                found.add(Path::new(word));
            }
        }
        program.is_file().then_some(found)
    }

    fn add(&mut self, path: &Path) {
        self.files.insert(path.to_owned());
    }

    /// The files of a Debian package.
    fn add_package(&mut self, package: &str) {
        let listed = Command::new("dpkg").args(["-L", package]).output();
        let listed = listed.map(|output| output.stdout).unwrap_or_default();
        for path in String::from_utf8_lossy(&listed).lines() {
            if fs::symlink_metadata(path).is_ok_and(|found| found.is_file()) {
                self.add(Path::new(path));
            }
        }
    }

    /// Links of this machine are replaced by what they lead to.
    fn layer(&self) -> LayerBuilder {
        let mut layer = LayerBuilder::default()
            .directory("tmp", 0o777)
            .expect("a directory");
        for path in &self.files {
            let bytes = fs::read(path).expect("a file");
            let mode = fs::metadata(path).expect("a file").permissions().mode() & 0o777;
            let name = path.strip_prefix("/").expect("an absolute path");
            let added = layer.file(&name.display().to_string(), mode, &bytes);
            layer = added.expect("an entry");
        }
        layer
    }
}

/// Runs an image by kiln and by an engine: both change the resource, with the same output.
#[track_caller]
fn check_image(name: &str, layer: LayerBuilder, entrypoint: &[&str]) {
    let test_env = TestEnvironment::new();
    let registry = TestRegistry::start();
    // Engines do not run an image as a user that it does not have.
    let passwd = b"nobody:x:65534:65534::/:/bin/false\n";
    let layer = layer
        .file("etc/passwd", 0o644, passwd)
        .and_then(LayerBuilder::finish);
    let mut layout = ImageLayout::default();
    let spec = ImageSpec {
        platform: Platform::this_machine(),
        run: RunConfig {
            entrypoint: entrypoint.iter().map(|&word| word.to_owned()).collect(),
            ..RunConfig::default()
        },
        layers: vec![layer.expect("a layer")],
    };
    let root = add_image(&mut layout, spec).expect("an image");
    registry.add(&format!("real/{name}:v1"), &layout, &root);
    let image = format!("{}/real/{name}:v1", registry.host);
    let mut runtimes = vec!["namespaces".to_owned()];
    match engine::name() {
        None => skip(name, engine::MISSING),
        Some(engine) => {
            layout.add_root(root, "v1");
            let archive = test_env.work().join("image.tar");
            let mut file = fs::File::create(&archive).expect("a file");
            write_archive(&layout, &mut file).expect("an archive");
            load_into_engine(&test_env, &engine, &archive, &image);
            runtimes.push(engine);
        }
    }
    let wanted = RESOURCE.replace("old", "new");
    for runtime in runtimes {
        test_env.write("pkg/a.yaml", RESOURCE);
        let mut command = test_env.command("kiln", &test_env.work());
        command.args(["fn", "eval", "pkg", "--image", &image]);
        command.arg(format!("--image-runtime={runtime}"));
        pass_engine_variables(&mut command);
        let ran = run(&mut command, "");
        if ran.stderr.contains("cannot isolate") {
            return skip(name, "this system does not allow namespaces");
        }
        assert_eq!(ran.code, Some(0), "{runtime}: {}", ran.stderr);
        let written = fs::read_to_string(test_env.work().join("pkg/a.yaml"));
        assert_eq!(written.expect("a file"), wanted, "{runtime}");
    }
}

#[test]
fn a_go_program_runs() {
    let directory = tempfile::tempdir().expect("a directory");
    fs::write(directory.path().join("main.go"), GO).expect("a file");
    let mut build = Command::new("go");
    build.args(["build", "-o", "function", "main.go"]);
    build.current_dir(directory.path()).env("CGO_ENABLED", "0");
    if !build.status().is_ok_and(|status| status.success()) {
        return skip("go", "go is missing");
    }
    let program = fs::read(directory.path().join("function")).expect("a program");
    let layer = LayerBuilder::default().file("bin/function", 0o755, &program);
    check_image("go", layer.expect("a layer"), &["function"]);
}

#[test]
fn python_runs() {
    let Ok(python) = fs::canonicalize("/usr/bin/python3") else {
        return skip("python", "python3 is missing");
    };
    let Some(mut files) = ImageFiles::of_program(&python) else {
        return skip("python", "python3 is missing");
    };
    let version = python.file_name().unwrap_or_default().display().to_string();
    files.add_package(&format!("lib{version}-minimal"));
    if !files
        .files
        .iter()
        .any(|file| file.ends_with("encodings/__init__.py"))
    {
        return skip("python", "python3 is not that of Debian");
    }
    let program = python.display().to_string();
    check_image("python", files.layer(), &[&program, "-S", "-c", PYTHON]);
}

#[test]
fn node_runs() {
    let Ok(node) = fs::canonicalize("/usr/bin/node") else {
        return skip("node", "node is missing");
    };
    let Some(files) = ImageFiles::of_program(&node) else {
        return skip("node", "node is missing");
    };
    let program = node.display().to_string();
    check_image("node", files.layer(), &[&program, "-e", NODE]);
}
