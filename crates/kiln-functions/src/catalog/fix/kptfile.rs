//! Converts Kptfiles of v1alpha1 and v1alpha2 to v1.

use std::collections::BTreeMap;

use kiln_krm::Resource;
use kiln_krm::annotations::LEGACY_PATH;
use kiln_krm::declaration::declared_function;
use kiln_krm::kptfile::alpha::{
    AlphaKptfile, AlphaMetadata, FirstFunction, FirstInfo, FirstKptfile, FirstPipeline,
};
use kiln_krm::kptfile::{API_VERSION, FormerLock, Git, GitLock, Inventory, Upstream};
use kiln_krm::paths::{base, directory, join};
use kiln_yaml::{Document, NodeRef, SequenceStyle};

use super::packages::Packages;
use super::{Fix, FixError, FixRelease, FixReport, path, setters};
use crate::budget::is_stopped;
use crate::function::FunctionList;
use crate::port::kyaml::{KyamlRelease, annotation_map, set_annotation_map};

impl Fix {
    fn setters_file(&self) -> &'static str {
        match self.release {
            FixRelease::V0_2_0 => "setters-config.yaml",
            FixRelease::V0_2_1 => "setters.yaml",
        }
    }

    /// Takes the functions that resources of a package declare. The resources become plain configuration, each in its
    /// own file.
    pub(super) fn take_functions(
        &self,
        list: &mut FunctionList,
        packages: &Packages,
        package: &str,
    ) -> Vec<FirstFunction> {
        let mut functions = Vec::new();
        for resource in &mut list.items {
            if is_stopped() {
                break;
            }
            if packages.of_file(path(resource)) != Some(package) {
                continue;
            }
            let Some(declared) = declared_function(resource) else {
                continue;
            };
            if let Some(problem) = declared.problem {
                list.stderr.push_str(&format!("{problem}\n"));
            }
            let file = match self.release {
                FixRelease::V0_2_0 => base(path(resource)).to_owned(),
                FixRelease::V0_2_1 => format!("{}.yaml", resource.name()),
            };
            functions.push(FirstFunction {
                image: declared.declaration.container.image,
                config_path: file.clone(),
                ..FirstFunction::default()
            });
            let mut annotations = annotation_map(resource);
            annotations.insert(LEGACY_PATH.to_owned(), join(&[package, &file]));
            for key in ["config.kubernetes.io/function", "config.k8s.io/function"] {
                annotations.remove(key);
            }
            let document = resource.document_mut();
            if set_annotation_map(document, &annotations, KyamlRelease::V0_10).is_err() {
                break;
            }
        }
        functions
    }

    /// Replaces a Kptfile with one of v1.
    pub(super) fn fix_kptfile(
        &self,
        list: &mut FunctionList,
        place: usize,
        functions: Vec<FirstFunction>,
        report: &mut FixReport,
    ) -> Result<(), FixError> {
        let Some(resource) = list.items.get_mut(place) else {
            return Ok(());
        };
        let annotations = annotation_map(resource);
        let new = if resource.api_version().contains("v1alpha2") {
            self.upgrade_second_alpha(resource, report)?
        } else if resource.api_version() == API_VERSION {
            let note = format!(
                "This package is already fixed as it is on latest apiVersion {API_VERSION}"
            );
            report.note(path(resource), note);
            return Ok(());
        } else {
            self.upgrade_first_alpha(resource, functions, report)?
        };
        let mut document = new.into_document();
        let set = set_annotation_map(&mut document, &annotations, KyamlRelease::V0_10);
        set.map_err(|error| FixError::Setters(error.to_string()))?;
        *resource = Resource::new(document).with_origin(resource.origin().cloned());
        Ok(())
    }

    fn upgrade_second_alpha(
        &self,
        resource: &mut Resource,
        report: &mut FixReport,
    ) -> Result<FirstKptfile, FixError> {
        let file = path(resource).to_owned();
        let note = format!("Updated apiVersion to {API_VERSION}");
        report.note(&file, note);
        let mut root = resource.document_mut().root_mut();
        root.set_string(&["apiVersion"], API_VERSION)
            .map_err(|error| FixError::Setters(error.to_string()))?;
        let invalid = |error: String| FixError::Kptfile("v1", error);
        let document = read_again(resource).map_err(invalid)?;
        let mut kptfile = FirstKptfile::decode(&document).map_err(|it| invalid(it.to_string()))?;
        let setters_path = join(&[&directory(&file), self.setters_file()]);
        let mutators = kptfile.pipeline.as_mut().map(|it| &mut it.mutators);
        let mutators = mutators.map(Vec::as_mut_slice).unwrap_or_default();
        for at in 0..mutators.len() {
            if is_stopped() {
                break;
            }
            // The original takes the setters of the first mutator, whatever its image is.
            let first = mutators.first().map(|it| it.config_map.clone());
            let Some(function) = mutators.get_mut(at) else {
                break;
            };
            if !function.image.contains(self.moved) || function.config_map.is_empty() {
                continue;
            }
            let first = first.unwrap_or_default();
            let created = setters::resource(&first, &setters_path, self.release)?;
            report.created.push(created);
            function.config_map = BTreeMap::new();
            self.setters_file().clone_into(&mut function.config_path);
            let note = "Moved setters from configMap to configPath".to_owned();
            report.note(&setters_path, note);
        }
        Ok(kptfile)
    }

    fn upgrade_first_alpha(
        &self,
        resource: &Resource,
        functions: Vec<FirstFunction>,
        report: &mut FixReport,
    ) -> Result<FirstKptfile, FixError> {
        let file = path(resource).to_owned();
        let invalid = |error: String| FixError::Kptfile("v1alpha1", error);
        let document = read_again(resource).map_err(invalid)?;
        let old = AlphaKptfile::decode(&document).map_err(|it| invalid(it.to_string()))?;
        let mut note = |text: String| report.note(&file, text);
        let mut new = FirstKptfile {
            api_version: API_VERSION.to_owned(),
            kind: resource.kind().to_owned(),
            metadata: metadata(resource),
            ..FirstKptfile::default()
        };
        if let Some(info) = old.package_metadata {
            new.info = Some(FirstInfo {
                site: info.url,
                emails: Some(info.email)
                    .into_iter()
                    .filter(|it| !it.is_empty())
                    .collect(),
                license: info.license,
                description: info.short_description,
                keywords: info.tags,
                man: info.man,
                ..FirstInfo::default()
            });
            note("Transformed \"packageMetadata\" to \"info\"".to_owned());
        }
        if let Some(upstream) = old.upstream {
            let git = upstream.git;
            new.upstream = Some(Upstream {
                kind: upstream.kind.clone(),
                git: Some(Git {
                    repo: git.repo.clone(),
                    directory: git.directory.clone(),
                    git_ref: git.git_ref.clone(),
                }),
                update_strategy: "resource-merge".to_owned(),
            });
            new.upstream_lock = Some(FormerLock {
                kind: upstream.kind,
                git: Some(GitLock {
                    repo: git.repo,
                    directory: git.directory,
                    git_ref: git.git_ref,
                    commit: git.commit,
                }),
            });
            note("Transformed \"upstream\" to \"upstream\" and \"upstreamLock\"".to_owned());
        }
        let values = setters::values(resource.root())?;
        for function in &functions {
            let image = kiln_go::quote(&function.image);
            note(format!(
                "Added {image} to mutators list, please move it to validators section if it is a validator function"
            ));
        }
        let mut pipeline = FirstPipeline::default();
        if !values.is_empty() {
            let setters_path = join(&[&directory(&file), self.setters_file()]);
            let created = setters::resource(&values, &setters_path, self.release)?;
            report.created.push(created);
            pipeline.mutators.push(FirstFunction {
                image: self.apply_setters.to_owned(),
                config_path: self.setters_file().to_owned(),
                ..FirstFunction::default()
            });
            let text = "Transformed \"openAPI\" definitions to \"apply-setters\" function";
            report.note(&file, text.to_owned());
        }
        pipeline.mutators.extend(functions);
        new.pipeline = Some(pipeline);
        new.inventory = old.inventory.map(|old| Inventory {
            namespace: old.namespace,
            name: old.name,
            inventory_id: old.inventory_id,
            labels: old.labels,
            annotations: old.annotations,
        });
        Ok(new)
    }
}

/// Parses a resource again from its own text, because messages contain its line numbers.
fn read_again(resource: &Resource) -> Result<Document, String> {
    let text = kiln_yaml::to_string(resource.document(), SequenceStyle::Compact);
    let document = kiln_yaml::parse(&text).map_err(|error| error.to_string())?;
    Ok(document.unwrap_or_else(Document::new_mapping))
}

fn metadata(resource: &Resource) -> AlphaMetadata {
    let labels = resource.root().get_path(&["metadata", "labels"]);
    let labels = labels.into_iter().flat_map(NodeRef::entries);
    AlphaMetadata {
        name: resource.name().to_owned(),
        namespace: resource.meta().namespace.to_owned(),
        labels: labels
            .map(|(key, value)| {
                (
                    key.value().to_owned(),
                    value.as_text().unwrap_or_default().to_owned(),
                )
            })
            .collect(),
        annotations: annotation_map(resource),
    }
}
