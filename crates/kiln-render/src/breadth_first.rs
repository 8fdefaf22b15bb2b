//! Breadth-first: all packages are read, then their functions run from the root down; each package's functions see it
//! and all that is below it, and what they return goes back to the packages it belongs to.

use std::collections::{HashMap, VecDeque};

use kiln_krm::Resource;
use kiln_krm::annotations::PACKAGE_PATH;
use kiln_krm::package::FileSource;

use crate::error::Trace;
use crate::hydrate::{OPERATION, State, Unhydrated};
use crate::lane::Lane;
use crate::log::Log;
use crate::options::{Behaviour, RenderOptions};
use crate::package::Package;
use crate::pipeline::{Runner, Stopped, paths_of};

/// A package and what it holds at the moment.
struct Node {
    package: Package,
    resources: Vec<Resource>,
    own_paths: Vec<String>,
    children: Vec<usize>,
}

/// Renders all packages.
///
/// One after the other, however much may be done at the same time: what a package's functions return may belong to any
/// package, so that each depends on all that come before it.
pub(crate) fn hydrate(
    files: &dyn FileSource,
    options: &RenderOptions<'_>,
    log: &dyn Log,
    root: Package,
) -> (Result<Vec<Resource>, Unhydrated>, State) {
    let lane = Lane::Direct {
        log,
        cancel: options.functions.cancel.clone(),
    };
    let runner = Runner {
        files,
        options,
        lane: &lane,
        keeps_consumed: options.functions.behaviour == Behaviour::Kpt,
    };
    let mut state = State::default();
    let hydrated = run_all(&runner, root, &mut state);
    (hydrated, state)
}

fn run_all(
    runner: &Runner<'_>,
    root: Package,
    state: &mut State,
) -> Result<Vec<Resource>, Unhydrated> {
    let root_path = root.path.clone();
    let mut nodes = discover(runner, root, state).map_err(|raised| Unhydrated {
        trace: Trace::new(OPERATION, &root_path, raised),
        resources: None,
    })?;
    for place in 0..nodes.len() {
        let (input, owners) = gather(&mut nodes, place);
        let previous = match runner.options.functions.behaviour {
            Behaviour::Kiln => Some(input.clone()),
            Behaviour::Kpt => None,
        };
        let Some(node) = nodes.get(place) else {
            break;
        };
        let ran = runner.run(&node.package, input, &node.own_paths, &mut state.progress);
        match ran {
            Ok(finished) => {
                let mut consumed = finished.consumed;
                if let Some(previous) = previous {
                    consumed = previous.into_iter().enumerate().collect();
                }
                distribute(&mut nodes, place, finished.resources, runner);
                keep_undeletable(&mut nodes, place, &owners, consumed);
            }
            Err(Stopped { raised, resources }) => {
                distribute(&mut nodes, place, resources, runner);
                return Err(Unhydrated {
                    trace: Trace::new(OPERATION, &root_path, raised),
                    resources: Some(all(nodes)),
                });
            }
        }
    }
    Ok(all(nodes))
}

fn discover(
    runner: &Runner<'_>,
    root: Package,
    state: &mut State,
) -> Result<Vec<Node>, crate::error::Raised> {
    let mut nodes: Vec<Node> = Vec::new();
    // A package and the place of the one around it.
    let mut queue = VecDeque::from([(root, None::<usize>)]);
    while let Some((package, parent)) = queue.pop_front() {
        let place = nodes.len();
        if let Some(parent) = parent.and_then(|parent| nodes.get_mut(parent)) {
            parent.children.push(place);
        }
        state.packages += 1;
        let resources = package.read(runner.files, &runner.options.functions)?;
        state.read.add(&resources);
        for directory in package.below(runner.files, runner.options)? {
            let name = Some(package.name.as_str());
            let inner = Package::open(runner.files, runner.options, &directory, name)?;
            queue.push_back((inner, Some(place)));
        }
        nodes.push(Node {
            package,
            own_paths: paths_of(&resources),
            resources,
            children: Vec::new(),
        });
    }
    Ok(nodes)
}

/// What a package's functions see: its own resources, then, depth first, those of all below it; and whose each is.
fn gather(nodes: &mut [Node], place: usize) -> (Vec<Resource>, Vec<usize>) {
    let mut input = Vec::new();
    let mut owners = Vec::new();
    let mut pending = vec![place];
    while let Some(place) = pending.pop() {
        if let Some(node) = nodes.get_mut(place) {
            owners.extend(std::iter::repeat_n(place, node.resources.len()));
            input.append(&mut node.resources);
            pending.extend(node.children.iter().rev());
        }
    }
    (input, owners)
}

/// Gives the output of a package's functions to the packages it belongs to.
fn distribute(nodes: &mut [Node], current: usize, output: Vec<Resource>, runner: &Runner<'_>) {
    let by_path: HashMap<String, usize> = nodes
        .iter()
        .enumerate()
        .map(|(place, node)| (node.package.path.clone(), place))
        .collect();
    let mut received: HashMap<usize, Vec<Resource>> = HashMap::new();
    for resource in output {
        let target = match resource.annotation(PACKAGE_PATH).unwrap_or_default() {
            "" => Some(current),
            path => by_path.get(path).copied(),
        };
        // kpt loses what belongs to no package.
        let target = match runner.options.functions.behaviour {
            Behaviour::Kiln => Some(target.unwrap_or(current)),
            Behaviour::Kpt => target,
        };
        if let Some(target) = target {
            received.entry(target).or_default().push(resource);
        }
    }
    for (place, resources) in received {
        if let Some(node) = nodes.get_mut(place) {
            node.resources = resources;
        }
    }
}

/// A package below that got nothing back keeps what it had, as in kpt: its last resource cannot be deleted from above.
fn keep_undeletable(
    nodes: &mut [Node],
    current: usize,
    owners: &[usize],
    mut consumed: HashMap<usize, Resource>,
) {
    let empty: Vec<bool> = nodes.iter().map(|node| node.resources.is_empty()).collect();
    for (place, owner) in owners.iter().enumerate() {
        if *owner != current
            && empty.get(*owner) == Some(&true)
            && let (Some(node), Some(resource)) = (nodes.get_mut(*owner), consumed.remove(&place))
        {
            node.resources.push(resource);
        }
    }
}

fn all(nodes: Vec<Node>) -> Vec<Resource> {
    nodes.into_iter().flat_map(|node| node.resources).collect()
}
