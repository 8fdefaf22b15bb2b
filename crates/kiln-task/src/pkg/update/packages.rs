//! Merges a package and the remote sub-packages that its upstream brings along, each by itself.

use std::collections::BTreeSet;

use kiln_krm::kptfile::{FILE_NAME, KptfileError};

use super::like_kpt::{kept_directory, merge_packages, merge_with_upstream};
use super::{Update, UpdateError, UpstreamVersions, strategy_of};
use crate::contents::{Contents, ContentsError, PackagePath};
use crate::merge::{
    Conflict, FileSides, MergeError, UpstreamFields, Versions, has_other_upstream, join_path,
    merge_as, reencode_all,
};
use crate::pkg::PkgRules;
use crate::pkg::event::PkgEvent;
use crate::pkg::kptfile::merged;
use crate::pkg::subpackages::{
    SubpackageKind, below, direct_subpackages, is_package, is_unfetched, outer_remote,
    replace_below, updated_subpackages, without,
};
use crate::task::Strategy;

/// The files of a package on three sides.
struct Sides {
    local: Contents,
    updated: Contents,
    origin: Contents,
}

impl Update<'_, '_> {
    /// Merges the package in a directory and its remote sub-packages.
    pub(super) fn merge_all(
        &mut self,
        directory: &str,
        versions: &UpstreamVersions,
    ) -> Result<(), UpdateError> {
        // Relative to the package, the next one last.
        let mut pending = vec![String::new()];
        while let Some(relative) = pending.pop() {
            let path = join_path(directory, &relative);
            let sides = Sides {
                local: below(&self.updated.contents, &path),
                updated: below(&versions.new.contents, &relative),
                origin: below(&versions.old, &relative),
            };
            self.merge_one(&path, &relative, sides)?;
            let rules = self.sources.rules;
            let mut inner = updated_subpackages(&self.updated.contents, &path, rules);
            for contents in [&versions.new.contents, &versions.old] {
                inner.extend(updated_subpackages(contents, &relative, rules));
            }
            pending.extend(inner.iter().map(|one| join_path(&relative, one)));
        }
        Ok(())
    }

    /// Decides by which sides have the package. The package itself counts as present everywhere.
    fn merge_one(&mut self, path: &str, relative: &str, sides: Sides) -> Result<(), UpdateError> {
        let is_root = relative.is_empty();
        let has = |contents: &Contents| is_root || is_package(contents, "");
        let name = match path.rsplit('/').next() {
            Some("") | None => self.request.name.clone(),
            Some(name) => name.to_owned(),
        };
        let present = [
            has(&sides.origin),
            is_package(&sides.local, ""),
            has(&sides.updated),
        ];
        match present {
            [false, true, true] => {
                self.sources.event(PkgEvent::AddedInBoth(name));
                Err(MergeError::AddedInBoth(relative.to_owned()).into())
            }
            [false, false, true] => {
                self.sources.event(PkgEvent::AddingFromUpstream(name));
                let inner = direct_subpackages(&sides.updated, "", SubpackageKind::All);
                let own = without(&sides.updated, &inner);
                Ok(replace_below(&mut self.updated.contents, path, &own)?)
            }
            [true, false, true] => {
                self.sources.event(PkgEvent::IgnoringDeleted(name));
                Ok(())
            }
            [true, true, false] => {
                if sides.local == sides.origin {
                    self.sources.event(PkgEvent::Deleting(name));
                    let nothing = Contents::new();
                    return Ok(replace_below(&mut self.updated.contents, path, &nothing)?);
                }
                self.sources.event(PkgEvent::KeepingChanged(name));
                Ok(())
            }
            [true, true, true] => self.merge_package(path, &name, is_root, sides),
            [_, _, false] => Ok(()),
        }
    }

    fn merge_package(
        &mut self,
        path: &str,
        name: &str,
        is_root: bool,
        mut sides: Sides,
    ) -> Result<(), UpdateError> {
        let rules = self.sources.rules;
        if rules == PkgRules::Kpt {
            reencode_all([&mut sides.local, &mut sides.updated, &mut sides.origin]);
            replace_below(&mut self.updated.contents, path, &sides.local)?;
        }
        match (is_unfetched(&sides.updated), is_unfetched(&sides.origin)) {
            (true, _) => return self.merge_kptfile_only(path, &sides),
            (false, true) => return Err(UpdateError::NoOrigin),
            (false, false) => {}
        }
        let kptfile = self.kptfile(path)?;
        let strategy = strategy_of(&kptfile, rules).map_err(|named| {
            let requested = self.request.strategy.clone();
            UpdateError::Strategy(requested.unwrap_or(named))
        })?;
        self.sources.event(PkgEvent::Updating {
            package: name.to_owned(),
            strategy: strategy.to_string(),
        });
        // kpt copies the remote sub-packages of the upstream too.
        let copies_all = rules == PkgRules::Kpt && strategy == Strategy::CopyMerge;
        let mut remote = BTreeSet::new();
        for contents in [&sides.local, &sides.updated, &sides.origin] {
            if !copies_all {
                remote.extend(outer_remote(contents, ""));
            }
        }
        let [local, updated, origin] =
            [&sides.local, &sides.updated, &sides.origin].map(|side| without(side, &remote));
        let versions = Versions {
            origin: &origin,
            updated: &updated,
            local: &local,
        };
        if !is_root && strategy == Strategy::ResourceMerge {
            let (local, origin) = (local.bytes(FILE_NAME), origin.bytes(FILE_NAME));
            // Its upstream was changed here, so it is updated independently.
            if has_other_upstream(local, origin) {
                return Ok(());
            }
        }
        let upstream = match is_root {
            true => UpstreamFields::Keep,
            false => UpstreamFields::Copy,
        };
        let shown = self.shown(path);
        let merged = match (rules, strategy) {
            (PkgRules::Kpt, Strategy::ResourceMerge) => merge_packages(versions, upstream, &shown)?,
            (PkgRules::Kpt, strategy) => merge_with_upstream(versions, strategy, &shown)?,
            (PkgRules::Kiln, strategy) => {
                let merged = merge_as(versions, strategy, upstream)?;
                self.add_conflicts(path, merged.conflicts);
                merged.contents
            }
        };
        let kept = copies_all.then(|| kept_directory(&merged, &updated, &origin));
        self.put_back(path, &sides.local, &remote, merged)?;
        match kept.flatten() {
            Some(kept) => Err(UpdateError::NotEmpty(join_path(&shown, &kept))),
            None => Ok(()),
        }
    }

    /// Replaces a package by its merged files and its untouched remote sub-packages.
    fn put_back(
        &mut self,
        path: &str,
        local: &Contents,
        remote: &BTreeSet<String>,
        merged: Contents,
    ) -> Result<(), UpdateError> {
        let mut whole = merged;
        for directory in remote {
            for (inner, file) in below(local, directory).iter() {
                let inner = PackagePath::new(join_path(directory, inner.as_str()));
                whole.insert(inner.map_err(ContentsError::from)?, file.clone())?;
            }
        }
        Ok(replace_below(&mut self.updated.contents, path, &whole)?)
    }

    /// A package that the new upstream has not fetched can differ only in its Kptfile.
    fn merge_kptfile_only(&mut self, path: &str, sides: &Sides) -> Result<(), UpdateError> {
        let file = join_path(path, FILE_NAME);
        let texts = FileSides {
            local: sides.local.bytes(FILE_NAME),
            origin: sides.origin.bytes(FILE_NAME),
            updated: sides.updated.bytes(FILE_NAME),
        };
        let mut conflicts = Vec::new();
        let rules = self.sources.rules;
        let text = merged(&file, texts, UpstreamFields::Copy, rules, &mut conflicts);
        let text = text.map_err(|problem| KptfileError {
            path: self.shown(path),
            problem,
        })?;
        self.updated.conflicts.extend(conflicts);
        let file = PackagePath::new(file).map_err(ContentsError::from)?;
        Ok(self.updated.contents.write(file, &text)?)
    }

    fn add_conflicts(&mut self, directory: &str, conflicts: Vec<Conflict>) {
        let conflicts = conflicts.into_iter().map(|conflict| Conflict {
            path: join_path(directory, &conflict.path),
            ..conflict
        });
        self.updated.conflicts.extend(conflicts);
    }
}
