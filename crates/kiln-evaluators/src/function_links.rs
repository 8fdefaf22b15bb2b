//! Links that run a built-in function.
//!
//! A link has the name of a function, and the program behind it is kiln or the function runner: `kiln function install` makes
//! such links, and images have them. A link stands for all versions, so the image that is mapped to it decides which one runs.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use kiln_functions::registry::Registry;
use kiln_krm::image::ImageRef;

/// The names of our programs; the last one is that of images.
const PROGRAMS: [&str; 3] = ["kiln", "function-runner", "server"];

/// `NAME:TAG` of the built-in function that a link has to run for an image. `None` for any other program, for a link to one
/// version, and for a tag that is not built in: then the program runs as it is.
pub(crate) fn linked_function(
    link: &Path,
    image: &str,
    own_program: Option<&Path>,
) -> Option<String> {
    let name = link.file_name()?.to_str()?;
    let function = Registry::builtin().function(name)?;
    let tag = ImageRef::parse(image).ok()?.tag?;
    function.version(&tag)?;
    is_ours(link, own_program).then(|| format!("{name}:{tag}"))
}

fn is_ours(link: &Path, own_program: Option<&Path>) -> bool {
    let file = |path: &Path| {
        let metadata = std::fs::metadata(path).ok()?;
        Some((metadata.dev(), metadata.ino()))
    };
    let own = own_program.and_then(file);
    let is_own = own.is_some() && file(link) == own;
    is_own
        || link.is_symlink()
            && link
                .canonicalize()
                .is_ok_and(|program| has_our_name(&program))
}

fn has_our_name(program: &Path) -> bool {
    let name = program.file_name().and_then(|name| name.to_str());
    name.is_some_and(|name| PROGRAMS.contains(&name))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_to_our_programs_run_the_version_of_the_image() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        for program in ["kiln", "renamed", "other"] {
            std::fs::write(path(program), "").unwrap();
        }
        for directory in ["links", "own", "others"] {
            std::fs::create_dir(path(directory)).unwrap();
        }
        for (target, link) in [
            ("../kiln", "links/starlark"),
            ("../kiln", "links/starlark:v0.4.3"),
            ("../kiln", "links/no-function"),
            ("../renamed", "own/starlark"),
            ("../other", "others/starlark"),
        ] {
            symlink(target, path(link)).unwrap();
        }
        let own = path("renamed");
        let run = |link: &str, image: &str| linked_function(&path(link), image, Some(&own));
        for link in ["links/starlark", "own/starlark"] {
            for (image, expected) in [
                ("gcr.io/kpt-fn/starlark:v0.4.0", Some("starlark:v0.4.0")),
                ("starlark:v0.5", Some("starlark:v0.5")),
                ("example.org/mine:v0.4.3", Some("starlark:v0.4.3")),
                ("gcr.io/kpt-fn/starlark:v9.9.9", None),
                ("gcr.io/kpt-fn/starlark", None),
            ] {
                assert_eq!(run(link, image).as_deref(), expected, "{link} {image}");
            }
        }
        for link in [
            "links/starlark:v0.4.3",
            "links/no-function",
            "others/starlark",
            "kiln",
            "missing",
        ] {
            assert_eq!(run(link, "gcr.io/kpt-fn/starlark:v0.4.0"), None, "{link}");
        }
        assert_eq!(
            linked_function(&path("own/starlark"), "starlark:v0.4.0", None),
            None
        );
    }
}
