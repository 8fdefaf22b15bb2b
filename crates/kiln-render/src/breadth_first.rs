//! Breadth-first: all packages are read, then their functions run from the root down. The functions of a package get its
//! resources and those of all packages in it; what they return goes back to the packages it belongs to.

use std::collections::{HashMap, VecDeque};

use kiln_krm::Resource;
use kiln_krm::annotations::PACKAGE_PATH;
use kiln_krm::package::FileSource;

use crate::error::{Raised, Trace};
use crate::hydrate::{HydrateError, OPERATION, RenderState};
use crate::log::Log;
use crate::options::{RenderCompat, RenderOptions};
use crate::package::Package;
use crate::pipeline::{PipelineRun, PipelineStopped, paths_of};
use crate::task::TaskContext;

/// A package with its current resources.
struct PackageNode {
    package: Package,
    resources: Vec<Resource>,
    own_paths: Vec<String>,
    children: Vec<usize>,
}

/// Renders all packages, always in sequence: what functions return may belong to any package, so each package depends on
/// all earlier ones.
pub(crate) fn hydrate(
    files: &dyn FileSource,
    options: &RenderOptions<'_>,
    log: &dyn Log,
    root: Package,
) -> (Result<Vec<Resource>, HydrateError>, RenderState) {
    let context = TaskContext {
        log,
        cancel: &options.functions.cancel,
        await_turn: None,
    };
    let mut state = RenderState::default();
    let root_path = root.path.clone();
    let nodes = match discover(files, options, root, &mut state) {
        Ok(nodes) => nodes,
        Err(raised) => {
            let error = HydrateError {
                trace: Trace::new(OPERATION, &root_path, raised),
                resources: None,
            };
            return (Err(error), state);
        }
    };
    let hydrated = run_all(files, options, &context, nodes, &mut state);
    let hydrated = hydrated.map_err(|stopped| HydrateError {
        trace: Trace::new(OPERATION, &root_path, *stopped.raised),
        resources: Some(stopped.resources),
    });
    (hydrated, state)
}

fn run_all(
    files: &dyn FileSource,
    options: &RenderOptions<'_>,
    context: &TaskContext<'_>,
    mut nodes: Vec<PackageNode>,
    state: &mut RenderState,
) -> Result<Vec<Resource>, PipelineStopped> {
    let compat = options.functions.compat;
    for index in 0..nodes.len() {
        let (input, owners) = gather(&mut nodes, index);
        let previous = match compat {
            RenderCompat::Kiln => Some(input.clone()),
            RenderCompat::Kpt => None,
        };
        let Some(node) = nodes.get(index) else {
            break;
        };
        let pipeline = PipelineRun {
            files,
            options,
            context,
            package: &node.package,
            keeps_consumed: compat == RenderCompat::Kpt,
        };
        match pipeline.run(input, &node.own_paths, &mut state.progress) {
            Ok(finished) => {
                let mut consumed = finished.consumed;
                if let Some(previous) = previous {
                    consumed = previous.into_iter().enumerate().collect();
                }
                distribute(&mut nodes, index, finished.resources, compat);
                keep_undeletable(&mut nodes, index, &owners, consumed);
            }
            Err(PipelineStopped { raised, resources }) => {
                distribute(&mut nodes, index, resources, compat);
                let resources = all(nodes);
                return Err(PipelineStopped { raised, resources });
            }
        }
    }
    Ok(all(nodes))
}

fn discover(
    files: &dyn FileSource,
    options: &RenderOptions<'_>,
    root: Package,
    state: &mut RenderState,
) -> Result<Vec<PackageNode>, Raised> {
    let mut nodes: Vec<PackageNode> = Vec::new();
    // A package and the index of its parent.
    let mut queue = VecDeque::from([(root, None::<usize>)]);
    while let Some((package, parent)) = queue.pop_front() {
        let index = nodes.len();
        if let Some(parent) = parent.and_then(|parent| nodes.get_mut(parent)) {
            parent.children.push(index);
        }
        state.packages += 1;
        let resources = package.read(files, &options.functions)?;
        state.read.add(&resources);
        for directory in package.sub_packages(files, options)? {
            let name = Some(package.name.as_str());
            let inner = Package::open(files, options, &directory, name)?;
            queue.push_back((inner, Some(index)));
        }
        nodes.push(PackageNode {
            package,
            own_paths: paths_of(&resources),
            resources,
            children: Vec::new(),
        });
    }
    Ok(nodes)
}

/// The input of a package's functions: its own resources, then those of all packages in it, depth first; and the index
/// of the package that owns each.
fn gather(nodes: &mut [PackageNode], index: usize) -> (Vec<Resource>, Vec<usize>) {
    let mut input = Vec::new();
    let mut owners = Vec::new();
    let mut pending = vec![index];
    while let Some(index) = pending.pop() {
        if let Some(node) = nodes.get_mut(index) {
            owners.extend(std::iter::repeat_n(index, node.resources.len()));
            input.append(&mut node.resources);
            pending.extend(node.children.iter().rev());
        }
    }
    (input, owners)
}

/// Distributes the output of a package's functions to the packages that own it.
fn distribute(
    nodes: &mut [PackageNode],
    current: usize,
    output: Vec<Resource>,
    compat: RenderCompat,
) {
    let by_path: HashMap<String, usize> = nodes
        .iter()
        .enumerate()
        .map(|(index, node)| (node.package.path.clone(), index))
        .collect();
    let mut received: HashMap<usize, Vec<Resource>> = HashMap::new();
    for resource in output {
        let target = match resource.annotation(PACKAGE_PATH).unwrap_or_default() {
            "" => Some(current),
            path => by_path.get(path).copied(),
        };
        // kpt drops resources that belong to no package.
        let target = match compat {
            RenderCompat::Kiln => Some(target.unwrap_or(current)),
            RenderCompat::Kpt => target,
        };
        if let Some(target) = target {
            received.entry(target).or_default().push(resource);
        }
    }
    for (index, resources) in received {
        if let Some(node) = nodes.get_mut(index) {
            node.resources = resources;
        }
    }
}

/// A sub-package that got nothing back keeps its resources, as in kpt: a parent cannot delete the last one.
fn keep_undeletable(
    nodes: &mut [PackageNode],
    current: usize,
    owners: &[usize],
    mut consumed: HashMap<usize, Resource>,
) {
    let empty: Vec<bool> = nodes.iter().map(|node| node.resources.is_empty()).collect();
    for (index, owner) in owners.iter().enumerate() {
        if *owner != current
            && empty.get(*owner) == Some(&true)
            && let (Some(node), Some(resource)) = (nodes.get_mut(*owner), consumed.remove(&index))
        {
            node.resources.push(resource);
        }
    }
}

fn all(nodes: Vec<PackageNode>) -> Vec<Resource> {
    nodes.into_iter().flat_map(|node| node.resources).collect()
}
