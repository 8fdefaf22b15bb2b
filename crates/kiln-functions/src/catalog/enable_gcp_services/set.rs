//! A declared set of services, and the resources that are generated from it.

use std::collections::BTreeMap;

use kiln_krm::annotations::{
    INDEX, LEGACY_INDEX, LEGACY_PATH, LOCAL_CONFIG, MIGRATION_ID, PATH, mirror,
};
use kiln_krm::record::{Reader, UnknownKeys, to_document};
use kiln_krm::{Resource, paths, records};
use kiln_yaml::{Document, EditError, NodeRef, SequenceStyle};

use super::{EnableError, Words};
use crate::budget::is_stopped;
use crate::function::Stopped;
use crate::port::kyaml::AnnotationFamilies;

/// The annotation that names the set that a service was generated for.
pub(super) const OWNER: &str = "blueprints.cloud.google.com/ownerReference";

const GROUP: &str = "blueprints.cloud.google.com";
const API_VERSION: &str = "blueprints.cloud.google.com/v1alpha1";
const KIND: &str = "ProjectServiceSet";

/// Annotations that are not copied to the services of a set.
const OWN_ANNOTATIONS: [&str; 5] = [PATH, LEGACY_PATH, INDEX, LEGACY_INDEX, LOCAL_CONFIG];

records! {
    pub(super) struct ServiceSet = "gcpservices.ProjectServiceSet" {
        api_version: String = "apiVersion",
        kind: String = "kind",
        metadata: ServiceMetadata = "metadata",
        spec: SetSpec = "spec",
    }

    pub(super) struct ServiceMetadata = "yaml.ObjectMeta" {
        name: String = "name",
        namespace: String = "namespace",
        labels: BTreeMap<String, String> = "labels",
        annotations: BTreeMap<String, String> = "annotations",
    }

    pub(super) struct SetSpec = "gcpservices.projectServiceSetSpec" {
        services: Vec<String> = "services",
        project_id: String = "projectID",
    }

    struct Service = "gcpservices.Service" {
        api_version: String = "apiVersion",
        kind: String = "kind",
        metadata: ServiceMetadata = "metadata",
        spec: ServiceSpec = "spec",
    }

    struct ServiceSpec = "gcpservices.serviceSpec" {
        resource_id: String = "resourceID" [always],
        project_ref: ProjectRef = "projectRef",
    }

    struct ProjectRef = "gcpservices.projectRef" {
        external: String = "external",
    }
}

pub(super) fn is_set(resource: &Resource) -> bool {
    resource.api_version() == API_VERSION && resource.kind() == KIND
}

impl ServiceSet {
    pub(super) fn read(resource: &Resource) -> Result<ServiceSet, EnableError> {
        ServiceSet::read_text(resource).or_else(|_| {
            // Error messages contain line numbers, and the framework adds lines.
            let mut counted = resource.clone();
            counted.set_annotation(MIGRATION_ID, "0")?;
            mirror(&mut counted)?;
            ServiceSet::read_text(&counted)
        })
    }

    fn read_text(resource: &Resource) -> Result<ServiceSet, EnableError> {
        let text = kiln_yaml::to_string(resource.document(), SequenceStyle::Compact);
        let document = kiln_yaml::parse(&text)?.unwrap_or_else(Document::new_mapping);
        Ok(Reader::document(&document, UnknownKeys::Ignore)?)
    }

    pub(super) fn lists_something(&self) -> bool {
        !self.spec.services.is_empty()
    }

    /// The value of [`OWNER`] for the services of the set.
    pub(super) fn owner(&self) -> String {
        paths::join(&[GROUP, KIND, &self.metadata.name])
    }

    /// A resource for each service, with the path of its file.
    pub(super) fn services(
        &self,
        families: AnnotationFamilies,
        words: Words,
    ) -> Result<Vec<(Resource, String)>, EnableError> {
        for service in &self.spec.services {
            if service.split('.').count() < 3 {
                return Err(EnableError::InvalidService(service.clone()));
            }
        }
        let services = self.spec.services.iter();
        services
            .map(|service| self.resource(service, families, words))
            .collect()
    }

    fn resource(
        &self,
        service: &str,
        families: AnnotationFamilies,
        words: Words,
    ) -> Result<(Resource, String), EnableError> {
        if is_stopped() {
            return Err(EnableError::Stopped(Stopped));
        }
        let mut resource = Resource::new(to_document(&self.service(service)));
        for (key, value) in &self.metadata.annotations {
            if is_stopped() {
                break;
            }
            if !OWN_ANNOTATIONS.contains(&key.as_str()) {
                resource.set_annotation(key, value)?;
            }
        }
        resource.set_annotation(OWNER, &self.owner())?;
        self.set_namespace(resource.document_mut(), words)?;
        let directory = paths::directory(self.annotation(PATH, LEGACY_PATH));
        let path = paths::default_path(&directory, resource.root());
        resource.set_annotation(PATH, &path)?;
        mirror(&mut resource)?;
        if !self.annotation(INDEX, LEGACY_INDEX).is_empty() {
            // The resource has all annotations of the set, so the framework takes it for the set and assumes that its
            // index was removed.
            resource.set_annotation(LEGACY_INDEX, "")?;
        }
        families.adapt(&mut resource)?;
        Ok((resource, path))
    }

    fn set_namespace(&self, document: &mut Document, words: Words) -> Result<(), EditError> {
        let namespace = &self.metadata.namespace;
        let metadata = document.root().get("metadata").map(NodeRef::id);
        match (metadata, words) {
            _ if namespace.is_empty() => {}
            (Some(metadata), Words::AsTheyAre) => {
                let key = document.new_scalar("namespace", "");
                let value = document.new_string(namespace);
                document.push_entry(metadata, key, value);
            }
            _ => {
                document.root_mut().set_namespace(namespace)?;
            }
        }
        Ok(())
    }

    fn service(&self, service: &str) -> Service {
        let short_name = service.split('.').next().unwrap_or_default();
        Service {
            api_version: "serviceusage.cnrm.cloud.google.com/v1beta1".to_owned(),
            kind: "Service".to_owned(),
            metadata: ServiceMetadata {
                name: format!("{}-{short_name}", self.metadata.name),
                ..ServiceMetadata::default()
            },
            spec: ServiceSpec {
                resource_id: service.to_owned(),
                project_ref: ProjectRef {
                    external: self.spec.project_id.clone(),
                },
            },
        }
    }

    fn annotation(&self, key: &str, legacy_key: &str) -> &str {
        let value = |key| self.metadata.annotations.get(key).map(String::as_str);
        value(key).or_else(|| value(legacy_key)).unwrap_or_default()
    }
}
