//! Depth-first: packages below come first, and a package's functions see all that is below it.

use kiln_krm::Resource;
use kiln_krm::package::ReadSet;

use crate::error::{Raised, Trace};
use crate::package::Package;
use crate::pipeline::{Progress, Runner, Stopped, paths_of};

/// What a render has come to, over all packages.
pub(crate) struct State {
    pub(crate) progress: Progress,
    pub(crate) read: ReadSet,
    pub(crate) packages: usize,
}

/// Why a package could not be rendered.
pub(crate) struct Unhydrated {
    pub(crate) trace: Trace,
    /// What the package has to save, with what came from below.
    pub(crate) resources: Option<Vec<Resource>>,
    /// What it hands to the package around it to be saved. Nothing after a failure further down, as in kpt.
    returned: Option<Vec<Resource>>,
}

const OPERATION: &str = "pkg.render";

/// Renders a package and those below it. Goes as deep as directories do.
pub(crate) fn hydrate(
    runner: &Runner<'_>,
    package: &Package,
    state: &mut State,
) -> Result<Vec<Resource>, Unhydrated> {
    let root = runner.options.root;
    let failed = |path: &str, raised: Raised| Unhydrated {
        trace: Trace::new(OPERATION, path, raised),
        resources: None,
        returned: None,
    };
    state.packages += 1;
    let mut input = package
        .read(runner.files)
        .map_err(|trace| failed(&package.path, trace.into()))?;
    state.read.add(&input);
    let own_paths = paths_of(&input);
    let below = package
        .below(runner.files, root)
        .map_err(|raised| failed(&package.path, raised))?;
    for directory in below {
        let path = kiln_krm::paths::join(&[root, &directory]);
        let inner = Package::open(runner.files, root, &directory, Some(&package.name))
            .map_err(|trace| failed(&path, trace.into()))?;
        match hydrate(runner, &inner, state) {
            Ok(resources) => input.extend(resources),
            Err(unhydrated) => {
                let resources = unhydrated.returned.map(|returned| {
                    input.extend(returned);
                    input
                });
                return Err(Unhydrated {
                    trace: Trace::new(OPERATION, &path, unhydrated.trace),
                    resources,
                    returned: None,
                });
            }
        }
    }
    match runner.run(package, input, &own_paths, &mut state.progress) {
        Ok(finished) => Ok(finished.resources),
        Err(Stopped { raised, resources }) => {
            let trace = Trace::new(OPERATION, &package.path, raised);
            // Needed once: by the root itself, or by the package around this one.
            let is_root = package.directory.is_empty();
            let (resources, returned) = match is_root {
                true => (Some(resources), None),
                false => (None, Some(resources)),
            };
            Err(Unhydrated {
                trace,
                resources,
                returned,
            })
        }
    }
}
