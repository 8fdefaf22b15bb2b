//! The content of images.

use std::collections::BTreeMap;
use std::io::{self, Read as _, Write as _};
use std::path::Path;
use std::process::Command;

use kiln_oci::{ArchiveLimits, ImageSpec, Platform, read_archive, write_archive};

use super::content::function_names;
use super::{ImageProgram, Ingredients, RECIPES, chosen, lay_out};

fn ingredients() -> Ingredients {
    let program = |program, text: &str| (program, text.as_bytes().to_vec());
    Ingredients {
        platform: Platform::linux("amd64"),
        programs: BTreeMap::from([
            program(ImageProgram::Wrapper, "wrapper"),
            program(ImageProgram::Runner, "runner"),
            program(ImageProgram::Kiln, "kiln"),
            program(ImageProgram::TestFunction, "function"),
        ]),
        functions: vec!["set-labels".to_owned(), "set-namespace".to_owned()],
        certificates: Some(b"certificates".to_vec()),
    }
}

fn image(name: &str) -> ImageSpec {
    let found = chosen(&[name.to_owned()]).unwrap();
    assert_eq!(found.len(), 1);
    found[0].make(&ingredients()).unwrap()
}

/// The files of an image by path, links as `-> target`.
fn files(spec: &ImageSpec) -> Vec<(String, String)> {
    let mut files = Vec::new();
    for layer in &spec.layers {
        let mut archive = tar::Archive::new(&**layer);
        for entry in archive.entries().unwrap() {
            let mut entry = entry.unwrap();
            let path = entry.path().unwrap().display().to_string();
            let mut text = String::new();
            match entry.link_name().unwrap() {
                Some(target) => text = format!("-> {}", target.display()),
                None => drop(entry.read_to_string(&mut text)),
            }
            files.push((path, text));
        }
    }
    files
}

#[track_caller]
fn holds(spec: &ImageSpec, path: &str, content: &str) {
    let files = files(spec);
    let found = files.iter().find(|(name, _)| name == path);
    assert_eq!(
        found.map(|(_, text)| text.as_str()),
        Some(content),
        "{path}"
    );
}

#[test]
fn the_plugin_of_argo_cd_has_kiln_on_the_path() {
    let plugin = image("kiln-argocd");
    assert_eq!(plugin.run.entrypoint, [] as [&str; 0]);
    assert_eq!(plugin.run.user, "999:999");
    holds(&plugin, "usr/local/bin/kiln", "kiln");
    let link = "usr/local/lib/kiln/engine/docker";
    holds(&plugin, link, "-> /usr/local/bin/kiln");
    holds(&plugin, "etc/ssl/certs/ca-certificates.crt", "certificates");
}

#[test]
fn the_runner_finds_what_its_flags_mean_by_default() {
    let runner = image("function-runner");
    assert_eq!(runner.run.entrypoint, ["/home/nonroot/server"]);
    assert_eq!(runner.run.working_dir, "/home/nonroot");
    // Kubernetes can check that a number is not root.
    assert_eq!(runner.run.user, "10001:10001");
    holds(&runner, "home/nonroot/server", "runner");
    holds(&runner, "home/nonroot/grpc-health-probe", "wrapper");
    holds(&runner, "home/nonroot/functions/set-labels", "-> ../server");
    holds(&runner, "etc/ssl/certs/ca-certificates.crt", "certificates");
    let files = files(&runner);
    let config = files
        .iter()
        .find(|(path, _)| path == "home/nonroot/config.yaml");
    assert!(config.unwrap().1.ends_with("functions: []\n"));
}

#[test]
fn pods_find_the_wrapper_and_cp() {
    let wrapper = image("wrapper-server");
    let directory = "home/nonroot/wrapper-server";
    holds(&wrapper, &format!("{directory}/wrapper-server"), "wrapper");
    holds(
        &wrapper,
        &format!("{directory}/grpc-health-probe"),
        "-> wrapper-server",
    );
    holds(
        &wrapper,
        "bin/cp",
        &format!("-> /{directory}/wrapper-server"),
    );
    assert!(
        wrapper.run.env[0]
            .split([':', '='])
            .any(|directory| directory == "/bin")
    );
}

#[test]
fn functions_are_what_their_names_say() {
    assert_eq!(image("test-slow").run.cmd, ["slow", "1000"]);
    assert_eq!(image("test-slow").run.entrypoint, ["/function"]);
    let none = image("test-no-entrypoint").run;
    assert!(none.entrypoint.is_empty() && none.cmd.is_empty());
    let native = image("test-set-namespace");
    assert_eq!(
        native.run.entrypoint,
        ["/home/nonroot/functions/set-namespace"]
    );
    assert_eq!(
        native.layers,
        image("function-runner").layers,
        "stored once"
    );
    assert!(chosen(&["nothing".to_owned()]).is_err());
}

#[test]
fn the_same_ingredients_make_the_same_image() {
    for recipe in RECIPES {
        let (layout, digest) = lay_out(recipe, &[ingredients()], "v1").unwrap();
        let (_, again) = lay_out(recipe, &[ingredients()], "v2").unwrap();
        assert_eq!(digest, again, "{}", recipe.name);
        let mut archive = Vec::new();
        write_archive(&layout, &mut archive).unwrap();
        let read = read_archive(&mut &*archive, &ArchiveLimits::default()).unwrap();
        assert_eq!(read, layout);
    }
}

/// The output of another program for an archive; `None`, with a SKIPPED line, if the program is not installed.
fn skopeo(words: &[&str]) -> Option<String> {
    let ran = Command::new("skopeo")
        .arg("--insecure-policy")
        .args(words)
        .output();
    let output = match ran {
        Ok(output) => output,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let message = "SKIPPED: archives read by others, because skopeo is not installed\n";
            io::stderr().write_all(message.as_bytes()).unwrap();
            return None;
        }
        Err(error) => panic!("skopeo: {error}"),
    };
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{words:?}: {said}");
    Some(String::from_utf8(output.stdout).unwrap())
}

#[test]
fn others_can_read_the_archives() {
    let directory = tempfile::tempdir().unwrap();
    for recipe in RECIPES {
        let (layout, digest) = lay_out(recipe, &[ingredients()], "v1").unwrap();
        let path = directory.path().join(format!("{}.tar", recipe.name));
        super::write(&layout, &path).unwrap();
        let archive = format!("oci-archive:{}", path.display());
        let Some(manifest) = skopeo(&["inspect", "--raw", &archive]) else {
            return;
        };
        assert!(digest.matches(manifest.as_bytes()), "{}", recipe.name);
        assert!(manifest.contains("application/vnd.oci.image.manifest.v1+json"));
        assert!(manifest.contains("application/vnd.oci.image.layer.v1.tar+gzip"));
        let config = skopeo(&["inspect", "--config", &archive]).unwrap();
        let user = recipe.make(&ingredients()).unwrap().run.user;
        let user = format!("\"User\": \"{user}\"");
        for line in [user.as_str(), "\"WorkingDir\": \"/", "\"PATH="] {
            assert!(config.contains(line), "{}: {config}", recipe.name);
        }
        // A copy unpacks layers and compares them with the config.
        let copy = format!("docker-archive:{}.docker", path.display());
        skopeo(&["copy", "--quiet", &archive, &copy]).unwrap();
    }
}

#[test]
fn the_catalog_names_functions() {
    let root = crate::workspace_root();
    let catalog = std::fs::read_to_string(Path::new(&root).join("docs/catalog.md")).unwrap();
    let names = function_names(&catalog);
    assert!(names.len() > 20, "{names:?}");
    for name in [
        "apply-setters",
        "set-namespace",
        "starlark",
        "upsert-resource",
    ] {
        assert!(names.iter().any(|known| known == name), "{name}");
    }
}

#[test]
fn only_what_is_needed_is_built() {
    for recipe in RECIPES {
        let mut few = ingredients();
        few.programs
            .retain(|program, _| recipe.needs().contains(program));
        recipe.make(&few).unwrap();
        few.programs.clear();
        assert!(recipe.make(&few).is_err());
    }
}

#[test]
fn pushed_images_are_pinned_in_the_package_of_deploy() {
    let root = crate::workspace_root();
    let setters = std::fs::read_to_string(root.join("deploy/kubernetes/setters.yaml")).unwrap();
    let pushed = BTreeMap::from([
        (
            "function-runner",
            "example.com/function-runner:v1@sha256:1".to_owned(),
        ),
        (
            "wrapper-server",
            "example.com/wrapper-server:v1@sha256:2".to_owned(),
        ),
    ]);
    let pinned = super::push::pinned(&setters, &pushed).unwrap();
    let expected = setters
        .replace(
            "  runner-image: function-runner:latest\n",
            "  runner-image: example.com/function-runner:v1@sha256:1\n",
        )
        .replace(
            "  wrapper-image: wrapper-server:latest\n",
            "  wrapper-image: example.com/wrapper-server:v1@sha256:2\n",
        );
    assert_ne!(pinned, setters);
    assert_eq!(pinned, expected);
    assert!(super::push::pinned(&setters, &BTreeMap::new()).is_err());
    assert!(super::push::pinned("data: {}\n", &pushed).is_err());
}
