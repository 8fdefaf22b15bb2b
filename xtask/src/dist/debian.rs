//! A Debian package: an `ar` archive of a version, a control archive and a data archive.
//!
//! It has no scripts, so `dpkg` runs nothing of it, and it depends on nothing, because the programs are static. Packages that
//! only some commands need are recommended: git, and the CA certificates of registries.

use anyhow::Result;

use super::content::{APPARMOR, Extras};
use super::files::{PackedFiles, gzip};
use super::target::ReleaseTarget;

/// Packages must have this field. The domain is reserved: it reaches no mailbox.
const MAINTAINER: &str = "kiln maintainers <maintainers@kiln.invalid>";

/// The configuration of the service. dpkg keeps the administrator's changes of this file in upgrades.
const CONFIG: &str = "etc/function-runner/config.yaml";

/// The package with its programs and extras.
pub(super) fn package(
    target: &ReleaseTarget,
    version: &str,
    programs: &PackedFiles,
    extras: &Extras,
    time: u64,
) -> Result<Vec<u8>> {
    let data = data(programs, extras)?;
    let mut control = PackedFiles::default();
    control.add("./control", control_file(target, version, &data));
    control.add("./conffiles", format!("/{CONFIG}\n"));
    let members = [
        ("debian-binary", b"2.0\n".to_vec()),
        ("control.tar.gz", control.tar_gz(time)?),
        ("data.tar.gz", data.below(".").tar_gz(time)?),
    ];
    let mut package = b"!<arch>\n".to_vec();
    for (name, bytes) in members {
        add_member(&mut package, name, &bytes, time);
    }
    Ok(package)
}

/// The files, at the paths of Debian's policy.
fn data(programs: &PackedFiles, extras: &Extras) -> Result<PackedFiles> {
    let mut data = PackedFiles::default();
    for (name, file) in programs.iter() {
        data.add_program(format!("usr/bin/{name}"), file.bytes.clone());
    }
    for (name, page) in &extras.manual {
        data.add(format!("usr/share/man/man1/{name}.gz"), gzip(page)?);
    }
    let completions = [
        ("bash-completion/completions/kiln", &extras.bash),
        ("fish/vendor_completions.d/kiln.fish", &extras.fish),
        ("zsh/vendor-completions/_kiln", &extras.zsh),
    ];
    for (path, script) in completions {
        data.add(format!("usr/share/{path}"), script.clone());
    }
    data.add(format!("usr/share/{APPARMOR}"), extras.apparmor.clone());
    data.add("usr/share/doc/kiln/copyright", extras.licence.clone());
    data.add(
        "usr/share/doc/kiln/changelog.gz",
        gzip(extras.changelog.as_bytes())?,
    );
    let unit = extras.unit.replace("/usr/local/bin/", "/usr/bin/");
    data.add("usr/lib/systemd/system/function-runner.service", unit);
    data.add(CONFIG, extras.runner_config.as_str());
    Ok(data)
}

fn control_file(target: &ReleaseTarget, version: &str, data: &PackedFiles) -> String {
    let bytes: usize = data.iter().map(|(_, file)| file.bytes.len()).sum();
    format!(
        "Package: kiln\n\
         Version: {version}\n\
         Architecture: {}\n\
         Maintainer: {MAINTAINER}\n\
         Installed-Size: {}\n\
         Recommends: ca-certificates, git\n\
         Section: admin\n\
         Priority: optional\n\
         Description: run KRM functions on packages of Kubernetes resources\n\
         \x20kiln renders kpt packages without containers for the functions of the public\n\
         \x20catalog, and runs every other function image without Docker. function-runner is\n\
         \x20the gRPC service that Porch calls, wrapper-server runs in its function pods.\n",
        target.debian(),
        bytes.div_ceil(1024),
    )
}

/// A header of 60 characters, the bytes, and a newline if their number is odd.
fn add_member(package: &mut Vec<u8>, name: &str, bytes: &[u8], time: u64) {
    let header = format!(
        "{name:<16}{time:<12}{:<6}{:<6}{:<8}{:<10}`\n",
        0,
        0,
        "100644",
        bytes.len()
    );
    package.extend(header.as_bytes());
    package.extend(bytes);
    if bytes.len() % 2 == 1 {
        package.push(b'\n');
    }
}
