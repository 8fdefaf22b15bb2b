//! Cutting a package down while it still fails the same check.

use anyhow::Result;

use super::judge::{Difference, PackageCheck, judge};
use super::known::Known;
use super::package::Package;
use super::peers::Peers;

/// The smallest package that was found in so many tries, and how it differs. Each try renders four times.
pub(super) fn shrink(
    package: &Package,
    check: PackageCheck,
    max_tries: usize,
    peers: &Peers,
    known: &Known,
) -> Result<(Package, Difference)> {
    let mut difference = Difference {
        check,
        text: "not seen again: rendering depends on more than the package".to_owned(),
    };
    let small = cut_down(package, max_tries, |candidate| {
        let found = judge(candidate, peers)?;
        // A smaller package must not fail in a way that is known instead.
        let found = found
            .into_iter()
            .find(|found| found.check == check && known.reason(candidate, found).is_none());
        Ok(found.is_some_and(|found| {
            difference = found;
            true
        }))
    })?;
    Ok((small, difference))
}

/// Takes away steps, files and lines as long as `fails` holds; nothing at all is taken away if it does not hold at first.
pub(super) fn cut_down(
    package: &Package,
    max_tries: usize,
    mut fails: impl FnMut(&Package) -> Result<bool>,
) -> Result<Package> {
    let mut best = package.clone();
    if !fails(&best)? {
        return Ok(best);
    }
    let mut tries = 0;
    'smaller: loop {
        for candidate in candidates(&best) {
            tries += 1;
            if tries > max_tries {
                return Ok(best);
            }
            if fails(&candidate)? {
                best = candidate;
                continue 'smaller;
            }
        }
        return Ok(best);
    }
}

/// Smaller packages, the smallest first.
fn candidates(package: &Package) -> Vec<Package> {
    let mut all = Vec::new();
    for index in 0..package.pipeline.len() {
        let mut smaller = package.clone();
        let step = smaller.pipeline.remove(index);
        if let Some((path, _)) = &step.file {
            smaller.files.remove(path);
        }
        all.push(smaller);
    }
    let is_config = |path: &str| {
        let mut files = package
            .pipeline
            .iter()
            .filter_map(|step| step.file.as_ref());
        files.any(|(config, _)| config == path)
    };
    let paths: Vec<&String> = package
        .files
        .keys()
        .filter(|path| !is_config(path))
        .collect();
    for path in &paths {
        let mut smaller = package.clone();
        smaller.files.remove(*path);
        all.push(smaller);
    }
    for path in paths {
        let lines: Vec<&str> = package.files[path].split_inclusive('\n').collect();
        let mut length = lines.len().div_ceil(2);
        while length > 0 && lines.len() > 1 {
            for start in (0..lines.len()).step_by(length) {
                let end = (start + length).min(lines.len());
                let text = [lines[..start].concat(), lines[end..].concat()].concat();
                let mut smaller = package.clone();
                smaller.files.insert(path.clone(), text);
                all.push(smaller);
            }
            length /= 2;
        }
    }
    all
}
