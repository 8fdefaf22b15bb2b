//! The content of each image.
//!
//! Paths and users are those of Porch's images, so that these images work with its manifests and pods.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context as _, Result};
use bytes::Bytes;
use kiln_oci::{ImageSpec, LayerBuilder, Platform, RunConfig};

/// The user of Porch's images.
const USER: u64 = 10001;
/// The user of Argo CD's images, to which the sockets of plugins belong.
const ARGOCD_USER: u64 = 999;
const HOME: &str = "/home/nonroot";
const CERTIFICATES: &str = "/etc/ssl/certs/ca-certificates.crt";
const PATH: &str = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// A program that goes into images.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum ImageProgram {
    /// `wrapper-server`, which is also the probe and `cp`.
    Wrapper,
    /// `function-runner`, which is also every built-in function.
    Runner,
    /// The command line.
    Kiln,
    /// The functions that tests use.
    TestFunction,
}

/// The parts of images.
pub struct Ingredients {
    /// The platform of the programs.
    pub platform: Platform,
    pub programs: BTreeMap<ImageProgram, Vec<u8>>,
    /// The names of the built-in functions.
    pub functions: Vec<String>,
    /// The CA certificates that the runner trusts.
    pub certificates: Option<Vec<u8>>,
}

/// An image and its content.
#[derive(Clone, Copy, Debug)]
pub struct Recipe {
    /// The last part of its repository.
    pub name: &'static str,
    kind: ImageKind,
}

#[derive(Clone, Copy, Debug)]
enum ImageKind {
    Runner,
    Wrapper,
    /// The command line.
    Kiln,
    /// The sidecar of Argo CD's repository server. Argo CD mounts the entrypoint.
    ArgoCdPlugin,
    Native(&'static str),
    /// The program for tests, with these arguments.
    Test(&'static [&'static str]),
    /// The same without an entrypoint.
    NoEntrypoint,
}

/// All images.
pub const RECIPES: &[Recipe] = &[
    recipe("function-runner", ImageKind::Runner),
    recipe("wrapper-server", ImageKind::Wrapper),
    recipe("kiln", ImageKind::Kiln),
    recipe("kiln-argocd", ImageKind::ArgoCdPlugin),
    recipe("test-echo", ImageKind::Test(&["echo"])),
    recipe("test-slow", ImageKind::Test(&["slow", "1000"])),
    recipe("test-hang", ImageKind::Test(&["hang"])),
    recipe("test-crash", ImageKind::Test(&["crash"])),
    recipe("test-fail", ImageKind::Test(&["fail"])),
    recipe("test-large", ImageKind::Test(&["large", "8388608"])),
    recipe("test-garbage", ImageKind::Test(&["garbage"])),
    recipe("test-no-entrypoint", ImageKind::NoEntrypoint),
    recipe("test-set-namespace", ImageKind::Native("set-namespace")),
];

const fn recipe(name: &'static str, kind: ImageKind) -> Recipe {
    Recipe { name, kind }
}

impl Recipe {
    /// Whether the image is only of use in tests.
    pub(crate) fn is_for_tests(&self) -> bool {
        self.name.starts_with("test-")
    }

    /// The programs in the image.
    pub fn needs(&self) -> &'static [ImageProgram] {
        match self.kind {
            ImageKind::Runner | ImageKind::Native(_) => {
                &[ImageProgram::Runner, ImageProgram::Wrapper]
            }
            ImageKind::Wrapper => &[ImageProgram::Wrapper],
            ImageKind::Kiln | ImageKind::ArgoCdPlugin => &[ImageProgram::Kiln],
            ImageKind::Test(_) | ImageKind::NoEntrypoint => &[ImageProgram::TestFunction],
        }
    }

    pub fn make(&self, ingredients: &Ingredients) -> Result<ImageSpec> {
        let at_home = |path: &str| format!("{HOME}/{path}");
        let (entrypoint, arguments, working_dir): (_, &[&str], _) = match self.kind {
            ImageKind::Runner => (Some(at_home("server")), &[], HOME),
            ImageKind::Wrapper => (Some(at_home("wrapper-server/wrapper-server")), &[], HOME),
            ImageKind::Kiln => (Some("/usr/local/bin/kiln".to_owned()), &[], "/"),
            ImageKind::Native(name) => (Some(at_home(&format!("functions/{name}"))), &[], "/"),
            ImageKind::Test(arguments) => (Some("/function".to_owned()), arguments, "/"),
            ImageKind::NoEntrypoint | ImageKind::ArgoCdPlugin => (None, &[], "/"),
        };
        let layers = match self.kind {
            ImageKind::Runner | ImageKind::Native(_) => vec![base()?, runner_layer(ingredients)?],
            ImageKind::Wrapper => vec![base()?, wrapper_layer(ingredients)?],
            ImageKind::Kiln | ImageKind::ArgoCdPlugin => vec![base()?, kiln_layer(ingredients)?],
            ImageKind::Test(_) | ImageKind::NoEntrypoint => vec![function_layer(ingredients)?],
        };
        let user = match self.kind {
            ImageKind::ArgoCdPlugin => ARGOCD_USER,
            _ => USER,
        };
        Ok(ImageSpec {
            platform: ingredients.platform.clone(),
            run: RunConfig {
                user: format!("{user}:{user}"),
                env: vec![PATH.to_owned()],
                entrypoint: entrypoint.into_iter().collect(),
                cmd: arguments.iter().map(|text| (*text).to_owned()).collect(),
                working_dir: working_dir.to_owned(),
                ..RunConfig::default()
            },
            layers,
        })
    }
}

/// The programs of some images, without duplicates.
pub(super) fn needs(recipes: &[Recipe]) -> BTreeSet<ImageProgram> {
    recipes.iter().flat_map(Recipe::needs).copied().collect()
}

impl Ingredients {
    fn program(&self, program: ImageProgram) -> Result<&[u8]> {
        let found = self.programs.get(&program);
        let found = found.with_context(|| format!("{program:?} has not been built"))?;
        Ok(found)
    }
}

/// Users, a directory for temporary files, and the user's home.
fn base() -> Result<Bytes> {
    let passwd = format!(
        "root:x:0:0:root:/root:/sbin/nologin\n\
         nobody:x:65534:65534:nobody:/:/sbin/nologin\n\
         nonroot:x:{USER}:{USER}:nonroot:{HOME}:/sbin/nologin\n\
         argocd:x:{ARGOCD_USER}:{ARGOCD_USER}:argocd:/tmp:/sbin/nologin\n"
    );
    let group = format!("root:x:0:\nnobody:x:65534:\nnonroot:x:{USER}:\nargocd:x:{ARGOCD_USER}:\n");
    let layer = LayerBuilder::default()
        .directory("/tmp", 0o1777)?
        .file("/etc/passwd", 0o644, passwd.as_bytes())?
        .file("/etc/group", 0o644, group.as_bytes())?
        .directory(HOME, 0o755)?;
    Ok(layer.finish()?)
}

/// The runner under its name in Porch's image, and in its working directory the files that its default flags name.
fn runner_layer(ingredients: &Ingredients) -> Result<Bytes> {
    // Native functions need no entry: the runner knows their images.
    let config = "# Which programs of functions/ run which images. Images of the catalog need no entry.\n\
                  functions: []\n";
    let runner = ingredients.program(ImageProgram::Runner)?;
    let probe = ingredients.program(ImageProgram::Wrapper)?;
    let mut layer = LayerBuilder::default()
        .file(&format!("{HOME}/server"), 0o555, runner)?
        .link("/usr/local/bin/function-runner", &format!("{HOME}/server"))?
        .file(&format!("{HOME}/grpc-health-probe"), 0o555, probe)?
        .file(&format!("{HOME}/config.yaml"), 0o444, config.as_bytes())?
        .directory(&format!("{HOME}/functions"), 0o755)?;
    for name in &ingredients.functions {
        layer = layer.link(&format!("{HOME}/functions/{name}"), "../server")?;
    }
    if let Some(certificates) = &ingredients.certificates {
        layer = layer.file(CERTIFICATES, 0o444, certificates)?;
    }
    Ok(layer.finish()?)
}

/// The files that pods copy, and `cp`.
fn wrapper_layer(ingredients: &Ingredients) -> Result<Bytes> {
    let directory = format!("{HOME}/wrapper-server");
    let program = format!("{directory}/wrapper-server");
    let layer = LayerBuilder::default()
        .file(&program, 0o555, ingredients.program(ImageProgram::Wrapper)?)?
        .link(&format!("{directory}/grpc-health-probe"), "wrapper-server")?
        .link("/bin/cp", &program)?;
    Ok(layer.finish()?)
}

/// kiln on the PATH, and as `docker` in a directory that is not on it, for plugins that run kustomize.
fn kiln_layer(ingredients: &Ingredients) -> Result<Bytes> {
    let program = "/usr/local/bin/kiln";
    let mut layer = LayerBuilder::default()
        .file(program, 0o555, ingredients.program(ImageProgram::Kiln)?)?
        .link("/usr/local/lib/kiln/engine/docker", program)?;
    if let Some(certificates) = &ingredients.certificates {
        layer = layer.file(CERTIFICATES, 0o444, certificates)?;
    }
    Ok(layer.finish()?)
}

fn function_layer(ingredients: &Ingredients) -> Result<Bytes> {
    let function = ingredients.program(ImageProgram::TestFunction)?;
    let layer = LayerBuilder::default().file("/function", 0o555, function)?;
    Ok(layer.finish()?)
}

/// The names of the built-in functions in `docs/catalog.md`, which is generated and therefore complete.
pub(crate) fn function_names(catalog: &str) -> Vec<String> {
    let headings = catalog.lines().filter_map(|line| line.strip_prefix("## "));
    headings.map(str::to_owned).collect()
}
