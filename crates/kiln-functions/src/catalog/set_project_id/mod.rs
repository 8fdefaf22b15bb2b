//! set-project-id: sets a project in the setters of Kptfiles and on Config Connector resources that have none.
//!
//! A Kptfile is decoded into the types of 2021: unknown fields are errors, and comments are lost, which kpt restores.

use std::collections::BTreeMap;

use kiln_krm::annotations::{FamilyError, LEGACY_PATH, PATH};
use kiln_krm::kptfile::{FormerFunction, FormerKptfile, KIND};
use kiln_krm::{DecodeError, Resource};
use kiln_yaml::{EditError, SequenceStyle, Style};

use crate::function::{Context, Ending, Function, FunctionList};
use crate::port::kyaml::{
    KyamlRelease, annotation_map, data_map, in_step, set_annotation_map, set_text_map,
};
use crate::registry::{FunctionInfo, FunctionVersion};
use crate::sdk::{ErrorsPrinted, ResultsForm, Sdk};

const SDK: Sdk = Sdk::Kyaml(ResultsForm::List, ErrorsPrinted::Twice);

/// v0.2.1 is left out: the image that it adds to a Kptfile is not known.
pub(crate) static INFO: FunctionInfo = FunctionInfo {
    name: "set-project-id",
    former_names: &[],
    summary: "Sets a Google Cloud project where it is missing",
    doc: include_str!("doc.md"),
    versions: &[
        FunctionVersion::new(
            &["v0.1.0"],
            SDK,
            &SetProjectId {
                apply_setters: "gcr.io/kpt-fn/apply-setters:v0.1",
                kyaml: KyamlRelease::V0_10,
            },
        ),
        FunctionVersion::new(
            &["v0.2.0"],
            SDK,
            &SetProjectId {
                apply_setters: "gcr.io/kpt-fn/apply-setters:v0.2",
                kyaml: KyamlRelease::V0_10,
            },
        ),
        FunctionVersion::new(
            &["unstable"],
            SDK,
            &SetProjectId {
                apply_setters: "gcr.io/kpt-fn/apply-setters:v0.2",
                kyaml: KyamlRelease::V0_13,
            },
        ),
        FunctionVersion::new(
            &["latest"],
            SDK,
            &SetProjectId {
                apply_setters: "ghcr.io/kptdev/krm-functions-catalog/apply-setters:v0.2",
                kyaml: KyamlRelease::V0_13,
            },
        ),
    ],
};

const SETTER: &str = "project-id";
const ANNOTATION: &str = "cnrm.cloud.google.com/project-id";

struct SetProjectId {
    /// The image of the apply-setters call that is added if there is none.
    apply_setters: &'static str,
    kyaml: KyamlRelease,
}

#[derive(Debug, thiserror::Error)]
enum ProjectError {
    #[error("{0}")]
    NoKptfile(String),
    #[error(
        "failed to set project-id setter: error updating Kptfile: failed to find setter file: file {0} doesn't exist, \
         please ensure the file specified in \"configPath\" exists and retry"
    )]
    NoSetters(String),
    #[error(
        "failed to set project-id setter: error updating Kptfile: unable to find `ConfigMap` or `configPath` as the \
         `functionConfig` for apply-setters"
    )]
    NoConfig,
    #[error("failed to set project-id annotation: failed to set project-id annotation: {0}")]
    Annotation(EditError),
    #[error(transparent)]
    Edit(#[from] EditError),
    #[error(transparent)]
    Families(#[from] FamilyError),
}

impl Function for SetProjectId {
    fn run(&self, list: &mut FunctionList, ctx: &Context<'_>) -> Ending {
        match self.run_on(list, ctx) {
            Ok(ending) => ending,
            Err(error) => Ending::Error(error.to_string()),
        }
    }
}

impl SetProjectId {
    fn run_on(&self, list: &mut FunctionList, ctx: &Context<'_>) -> Result<Ending, ProjectError> {
        let data = data_map(list.config.as_ref());
        let project = data.into_iter().find(|(key, _)| key == SETTER);
        let project = project.map(|(_, project)| project).unwrap_or_default();
        let work = |list: &mut FunctionList| match self.set_setters(list, &project, ctx)? {
            Ending::Success => self.set_annotations(list, &project, ctx),
            stopped => Ok(stopped),
        };
        match self.kyaml {
            KyamlRelease::V0_10 | KyamlRelease::V0_12 => work(list),
            KyamlRelease::V0_13 => in_step(list, work),
        }
    }

    fn set_setters(
        &self,
        list: &mut FunctionList,
        project: &str,
        ctx: &Context<'_>,
    ) -> Result<Ending, ProjectError> {
        let mut kptfiles = Vec::new();
        for resource in list.items.iter().filter(|item| item.kind() == KIND) {
            kptfiles.push(self.read(resource)?);
        }
        if kptfiles.is_empty() {
            let hint = "please include --include-meta-resources flag if a Kptfile is present";
            return Err(self.not_found(&format!("unable to find Kptfile, {hint}")));
        }
        for kptfile in kptfiles {
            if let Err(stopped) = ctx.check() {
                return Ok(stopped.into());
            }
            self.set_setter(list, kptfile, project)?;
        }
        Ok(Ending::Success)
    }

    fn not_found(&self, why: &str) -> ProjectError {
        let failed = match self.kyaml {
            KyamlRelease::V0_10 => "faild",
            KyamlRelease::V0_12 | KyamlRelease::V0_13 => "failed",
        };
        let text = format!("failed to set project-id setter: {failed} to find Kptfile: {why}");
        ProjectError::NoKptfile(text)
    }

    /// Parses a Kptfile from its own text, because messages contain its line numbers.
    fn read(&self, resource: &Resource) -> Result<FormerKptfile, ProjectError> {
        let failure = |error: String| {
            self.not_found(&format!(
                "failed to read Kptfile: invalid 'v1' Kptfile: {error}"
            ))
        };
        let text = kiln_yaml::to_string(resource.document(), SequenceStyle::Compact);
        let document = kiln_yaml::parse(&text).map_err(|error| failure(error.to_string()))?;
        let document = document.unwrap_or_else(kiln_yaml::Document::new_mapping);
        let kptfile = FormerKptfile::decode(&document);
        kptfile.map_err(|error: DecodeError| failure(error.to_string()))
    }

    fn set_setter(
        &self,
        list: &mut FunctionList,
        mut kptfile: FormerKptfile,
        project: &str,
    ) -> Result<(), ProjectError> {
        let mutators = &mut kptfile.pipeline.get_or_insert_default().mutators;
        let setters = mutators
            .iter_mut()
            .find(|function| function.image.contains("apply-setters"));
        match setters {
            Some(FormerFunction {
                config_map: Some(map),
                ..
            }) => {
                let value = map.entry(SETTER.to_owned()).or_default();
                if value.is_empty() {
                    project.clone_into(value);
                }
            }
            Some(function) if function.config_path.is_empty() => {
                return Err(ProjectError::NoConfig);
            }
            Some(function) => return self.set_in_file(list, &function.config_path, project),
            None => mutators.push(FormerFunction {
                image: self.apply_setters.to_owned(),
                config_map: Some(BTreeMap::from([(SETTER.to_owned(), project.to_owned())])),
                ..FormerFunction::default()
            }),
        }
        self.replace(list, kptfile)
    }

    fn path_key(&self) -> &'static str {
        match self.kyaml {
            KyamlRelease::V0_10 => LEGACY_PATH,
            KyamlRelease::V0_12 | KyamlRelease::V0_13 => PATH,
        }
    }

    fn find(&self, items: &[Resource], path: &str) -> Option<usize> {
        let path_of =
            |item: &Resource| item.annotation(self.path_key()).unwrap_or_default() == path;
        items.iter().position(path_of)
    }

    fn set_in_file(
        &self,
        list: &mut FunctionList,
        path: &str,
        project: &str,
    ) -> Result<(), ProjectError> {
        let missing = || ProjectError::NoSetters(path.to_owned());
        let place = self.find(&list.items, path).ok_or_else(missing)?;
        let resource = list.items.get_mut(place).ok_or_else(missing)?;
        let mut data: BTreeMap<String, String> =
            data_map(Some(resource.document())).into_iter().collect();
        let value = data.entry(SETTER.to_owned()).or_default();
        if !value.is_empty() {
            return Ok(());
        }
        project.clone_into(value);
        let document = resource.document_mut();
        let root = document.root().id();
        set_text_map(document, root, ("data", &data), self.kyaml)?;
        let values = document.node(root).get("data").map(|data| data.entries());
        let of_lines: Vec<_> = values
            .into_iter()
            .flatten()
            .filter(|(_, value)| value.value().contains('\n'))
            .map(|(_, value)| value.id())
            .collect();
        for value in of_lines {
            document.set_style(value, Style::LITERAL);
        }
        list.unsettled.push(place);
        Ok(())
    }

    /// Replaces the first resource of the same file with a Kptfile.
    fn replace(&self, list: &mut FunctionList, kptfile: FormerKptfile) -> Result<(), ProjectError> {
        let annotations = &kptfile.metadata.annotations;
        let path = annotations.get(self.path_key()).cloned();
        let Some(place) = self.find(&list.items, &path.unwrap_or_default()) else {
            return Ok(());
        };
        if let Some(old) = list.items.get_mut(place) {
            let new = Resource::new(kptfile.into_document());
            *old = new.with_origin(old.origin().cloned());
            list.unsettled.push(place);
        }
        Ok(())
    }

    fn set_annotations(
        &self,
        list: &mut FunctionList,
        project: &str,
        ctx: &Context<'_>,
    ) -> Result<Ending, ProjectError> {
        for (place, resource) in list.items.iter_mut().enumerate() {
            if let Err(stopped) = ctx.check() {
                return Ok(stopped.into());
            }
            if !is_of_config_connector(resource.api_version()) {
                continue;
            }
            let mut annotations = annotation_map(resource);
            if annotations.contains_key(ANNOTATION) {
                continue;
            }
            annotations.insert(ANNOTATION.to_owned(), project.to_owned());
            set_annotation_map(resource.document_mut(), &annotations, self.kyaml)
                .map_err(ProjectError::Annotation)?;
            list.unsettled.push(place);
        }
        Ok(Ending::Success)
    }
}

/// Whether a type belongs to a service of Config Connector; Config Connector's own settings do not.
fn is_of_config_connector(api_version: &str) -> bool {
    let is_word = |text: &str| {
        let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        !text.is_empty() && text.bytes().all(is_letter)
    };
    let parts = api_version.split_once(".cnrm.cloud.google.com/");
    parts
        .is_some_and(|(service, version)| is_word(service) && is_word(version) && service != "core")
}
