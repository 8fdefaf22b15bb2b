//! The process of an image: from its configuration and the function's to arguments, variables, user and mounts, as
//! container engines do it for kpt.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use kiln_oci::RunConfig;
use kiln_runtime::{FunctionSpec, Mount, Network};
use kiln_sandbox::{FileRights, ImageMount, ImageNetwork, ImageProcess, MountAccess};
use kiln_store::{ExecutableFormat, ImageKind, ImageProgram, StoredImage, find_program};

use crate::error::ImageRunError;
use crate::image_files::{Users, is_empty_directory};
use crate::options::ImageOptions;

/// What to run of an image.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Arguments {
    /// The default command.
    Default,
    /// The entrypoint with `--help`.
    Help,
}

/// A process that is ready to run, and the program that it runs.
pub(crate) struct PreparedImage {
    pub(crate) process: ImageProcess,
    pub(crate) program: ImageProgram,
    /// Keeps the image in the store.
    pub(crate) image: StoredImage,
}

/// The user of images that do not have the user `nobody`.
const NOBODY: u32 = 65_534;

const DEFAULT_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Directories for temporary files. They are writable and empty, whatever the image has in them, unless the run needs it.
const TEMPORARY: [&str; 2] = ["/tmp", "/var/tmp"];

/// The most writable directories of an image: each takes time at every start.
const MOST_WRITABLE: usize = 32;

/// The files that name the hosts of the network.
const NETWORK_FILES: [&str; 2] = ["/etc/resolv.conf", "/etc/hosts"];

pub(crate) fn prepare(
    image: StoredImage,
    function: &FunctionSpec,
    arguments: Arguments,
    options: &ImageOptions,
) -> Result<PreparedImage, ImageRunError> {
    let name = || function.name().to_owned();
    let meta = image.meta();
    if meta.kind == ImageKind::Artifact {
        return Err(ImageRunError::Artifact { image: name() });
    }
    let words = words(&meta.run, arguments);
    let Some(command) = words.first() else {
        return Err(ImageRunError::NoCommand { image: name() });
    };
    let found = match (arguments, &meta.program) {
        (Arguments::Default, Some(program)) => Ok(Some(program.clone())),
        _ => find_program(image.root(), &meta.run, command),
    };
    let failed = |path| {
        move |source| ImageRunError::Read {
            image: function.name().to_owned(),
            path,
            source,
        }
    };
    let found = found.map_err(failed("the program"))?;
    let program = found.ok_or_else(|| ImageRunError::NoProgram {
        image: name(),
        program: command.clone(),
    })?;
    let users = Users::read(image.root()).map_err(failed("/etc/passwd"))?;
    let user = user(&users, options.user.as_deref())?;
    let network = match function.network {
        Network::None => ImageNetwork::Loopback,
        Network::Host => ImageNetwork::Host,
    };
    let mut writable = writable(&image, &needed_paths(&image, &program, &words));
    let mut mounts = network_files(network);
    for mount in &options.mounts {
        match mount.kind.as_str() {
            "bind" => mounts.push(bind(mount)),
            "tmpfs" => writable.push(mount.target.clone()),
            kind => {
                let kind = kind.to_owned();
                return Err(ImageRunError::MountKind { kind });
            }
        }
    }
    let directory = match meta.run.working_dir.as_str() {
        "" => "/".to_owned(),
        directory if directory.starts_with('/') => directory.to_owned(),
        directory => format!("/{directory}"),
    };
    if image.resolve_file(&directory).is_ok() {
        return Err(ImageRunError::WorkingDirectory {
            image: name(),
            directory,
        });
    }
    let process = ImageProcess {
        root: image.root_path().to_owned(),
        program: PathBuf::from(&program.path),
        words: words.into_iter().map(OsString::from).collect(),
        environment: environment(&meta.run, function, options, &users, user.0),
        directory: directory.into(),
        user,
        // The user asks for its own rights with its own user.
        rights: match options.user {
            Some(_) => FileRights::Ours,
            None => FileRights::Least,
        },
        writable: writable.into_iter().map(PathBuf::from).collect(),
        mounts,
        network,
    };
    Ok(PreparedImage {
        process,
        program,
        image,
    })
}

/// Docker's rule: the entrypoint, then the command or what replaces it.
fn words(run: &RunConfig, arguments: Arguments) -> Vec<String> {
    let help = ["--help".to_owned()];
    let rest: &[String] = match arguments {
        Arguments::Default => &run.cmd,
        Arguments::Help => &help,
    };
    run.entrypoint.iter().chain(rest).cloned().collect()
}

/// The user that the options name by numbers, or else `nobody`.
fn user(users: &Users, named: Option<&str>) -> Result<(u32, u32), ImageRunError> {
    let Some(named) = named else {
        return Ok(users.ids("nobody").unwrap_or((NOBODY, NOBODY)));
    };
    let (user, group) = named.split_once(':').unwrap_or((named, named));
    match (user.parse(), group.parse()) {
        (Ok(user), Ok(group)) => Ok((user, group)),
        _ => Err(ImageRunError::User {
            user: named.to_owned(),
        }),
    }
}

/// The image's variables, then the function's. Nothing of this program's environment unless the function asks for it.
fn environment(
    run: &RunConfig,
    function: &FunctionSpec,
    options: &ImageOptions,
    users: &Users,
    user: u32,
) -> Vec<(OsString, OsString)> {
    let mut variables: BTreeMap<OsString, OsString> = BTreeMap::new();
    variables.insert("PATH".into(), DEFAULT_PATH.into());
    variables.insert("HOME".into(), users.home(user).unwrap_or("/").into());
    for variable in &run.env {
        // Engines drop a variable without a value.
        if let Some((name, value)) = variable.split_once('=') {
            variables.insert(name.into(), value.into());
        }
    }
    for (name, value) in &options.variables {
        variables.insert(name.into(), value.into());
    }
    let (given, named): (Vec<&String>, Vec<&String>) = function
        .env
        .iter()
        .partition(|variable| variable.contains('='));
    for (name, value) in given.iter().filter_map(|variable| variable.split_once('=')) {
        variables.insert(name.into(), value.into());
    }
    for name in named {
        let ours = options
            .environment
            .iter()
            .find(|(ours, _)| ours == name.as_str());
        if let Some((_, value)) = ours {
            variables.insert(name.into(), value.clone());
        }
    }
    variables.into_iter().collect()
}

/// Paths of the image that a run cannot do without, without links: the program and what loads it, arguments that are files, and
/// a working directory with files.
fn needed_paths(image: &StoredImage, program: &ImageProgram, words: &[String]) -> Vec<PathBuf> {
    let loader = match &program.format {
        ExecutableFormat::Elf { interpreter, .. } => interpreter.as_ref(),
        ExecutableFormat::Script { interpreter, .. } => Some(interpreter),
        ExecutableFormat::Other => None,
    };
    let files = words.iter().skip(1).filter(|word| word.starts_with('/'));
    let files = files.chain([&program.path]).chain(loader);
    let files = files.filter_map(|file| image.resolve_file(file).ok());
    let mut needed: Vec<PathBuf> = files.map(|file| Path::new("/").join(file)).collect();
    let directory = Path::new("/").join(&image.meta().run.working_dir);
    let is_temporary = TEMPORARY
        .iter()
        .any(|temporary| directory == Path::new(temporary));
    let is_empty = || is_empty_directory(image.root(), &directory.to_string_lossy(), &|_| false);
    if !is_temporary && !is_empty() {
        needed.push(directory);
    }
    needed
}

/// The directories that the image lets every user write to. Those with files stay as they are, read-only: an empty
/// directory in their place would hide the files. Directories for temporary files stay only if the run needs a file in them.
/// Those of the kernel (`/dev/shm`) come with the run.
fn writable(image: &StoredImage, needed: &[PathBuf]) -> Vec<String> {
    let meta = image.meta();
    let mut found: Vec<String> = Vec::new();
    let temporary = [TEMPORARY[0].to_owned()];
    let listed = meta.writable_directories.iter();
    let listed = listed.filter(|path| !of_kernel(path));
    let volumes = || meta.run.volumes.iter().filter(|path| !of_kernel(path));
    // A volume in a writable directory is made in it.
    let leads_to_volume = |path: &str| volumes().any(|volume| Path::new(volume).starts_with(path));
    let wanted = temporary.iter().chain(listed).chain(volumes());
    for path in wanted.filter(|path| path.starts_with('/')) {
        if found.len() == MOST_WRITABLE {
            break;
        }
        let can_hide = match TEMPORARY.contains(&path.as_str()) {
            true => !needed.iter().any(|needed| needed.starts_with(path)),
            false => is_empty_directory(image.root(), path, &leads_to_volume),
        };
        if can_hide && !found.contains(path) {
            found.push(path.clone());
        }
    }
    found
}

fn of_kernel(path: &str) -> bool {
    ["/proc/", "/sys/", "/dev/"]
        .iter()
        .any(|directory| format!("{path}/").starts_with(directory))
}

fn bind(mount: &Mount) -> ImageMount {
    ImageMount {
        source: PathBuf::from(&mount.source),
        target: PathBuf::from(&mount.target),
        access: match mount.writable {
            true => MountAccess::ReadWrite,
            false => MountAccess::ReadOnly,
        },
    }
}

/// The names of hosts come from this machine, with its network.
fn network_files(network: ImageNetwork) -> Vec<ImageMount> {
    let ImageNetwork::Host = network else {
        return Vec::new();
    };
    let files = NETWORK_FILES.into_iter().map(PathBuf::from);
    let files = files.filter(|path| path.is_file());
    let mounts = files.map(|path| ImageMount {
        source: path.clone(),
        target: path,
        access: MountAccess::ReadOnly,
    });
    mounts.collect()
}

#[cfg(test)]
mod tests;
