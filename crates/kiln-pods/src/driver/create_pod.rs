//! Creates a pod: resolves the image, creates the pod and its service.

use std::sync::Arc;

use kiln_krm::image::with_digest;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::cluster_writer::ClusterWriter;
use super::maintenance::unix_now;
use super::message::Message;
use crate::config::pool_specs::EffectiveTemplate;
use crate::error::IMAGE_NOT_FOUND;
use crate::images::ImageResolveError;
use crate::kube::api::{ApiError, retry_with};
use crate::kube::names::pod_name;
use crate::kube::objects::{self, PodParams};
use crate::kube::views::PodView;
use crate::pool::{FaultScope, ImageKey, PodFault, PodId, PodVersion, PoolEvent, PoolSettings};

/// Creates a pod and reports the result. If it is cancelled, it deletes what it has created.
pub(super) async fn create_pod(
    writer: Arc<ClusterWriter>,
    pod: PodId,
    image: ImageKey,
    template: EffectiveTemplate,
    settings: PoolSettings,
    stopped: oneshot::Receiver<()>,
) {
    let mut name = None;
    let outcome = tokio::select! {
        created = apply_pod(&writer, pod, &image, &template, settings, &mut name) => Some(created),
        Ok(()) = stopped => None,
    };
    match (outcome, name) {
        (Some(Ok(())), _) => (),
        (Some(Err(fault)), _) => writer.send_event(PoolEvent::Failed { pod, fault }),
        (None, None) => writer.send_event(PoolEvent::Gone { pod }),
        (None, Some(name)) => writer.delete_pod(pod, &name, None).await,
    }
}

async fn apply_pod(
    writer: &ClusterWriter,
    pod: PodId,
    image: &ImageKey,
    template: &EffectiveTemplate,
    settings: PoolSettings,
    chosen_name: &mut Option<String>,
) -> Result<(), PodFault> {
    // Ends before the start timeout of the pod, so that the caller gets this reason.
    let until = Instant::now() + settings.start_timeout * 9 / 10;
    let info = writer
        .images
        .resolve(image.as_str())
        .await
        .map_err(image_fault)?;
    if info.command.is_empty() {
        return Err(PodFault {
            reason: "NoEntrypoint".into(),
            message: format!("image {image} has neither an entrypoint nor a command").into(),
            scope: FaultScope::Image,
        });
    }
    if template.pull_secret.is_some()
        && let Some(copy) = &writer.pull_secret
    {
        let copied = copy.ensure(&writer.api).await;
        copied.map_err(|error| PodFault {
            reason: "PullSecret".into(),
            message: error.to_string().into(),
            scope: FaultScope::Pod,
        })?;
    }
    let name = pod_name(image.as_str(), &info.digest, pod.number(), &writer.replica);
    let spec = PodParams {
        name: &name,
        replica: &writer.replica,
        function: image.as_str(),
        image: &with_digest(image.as_str(), &info.digest),
        digest: &info.digest,
        command: &info.command,
        overrides: &template.overrides,
        pull_secret: template.pull_secret.as_deref(),
        reclaim_after: unix_now().saturating_add(settings.ttl.as_secs()),
    };
    let object = objects::pod(&template.templates, &writer.settings, &spec);
    *chosen_name = Some(name.clone());
    writer.send(Message::PodNamed {
        pod,
        name: name.clone(),
    });
    let fault = |error: &ApiError| error.fault("unable to apply the pod");
    let on_error = |error: &ApiError| {
        let reason = format!("pod {name}: {}", fault(error));
        writer.send(Message::PodDelayed { pod, reason });
    };
    let created = retry_with(until, on_error, || create_or_get(writer, &name, &object));
    let view = created.await.map_err(|error| fault(&error))?;
    tracing::info!(pod = name, "created pod for image {image}");
    writer.send(Message::Created {
        pod,
        image: image.clone(),
        version: PodVersion {
            template: Arc::clone(&template.version),
            digest: Some(info.digest.as_str().into()),
        },
    });
    let service = writer.create_service(&template.templates, &name, &view.metadata.uid);
    service
        .await
        .map_err(|error| error.fault("unable to create the service of the pod"))
}

/// Names are never reused: an existing pod was created by an earlier attempt.
async fn create_or_get(
    writer: &ClusterWriter,
    name: &str,
    object: &serde_json::Value,
) -> Result<PodView, ApiError> {
    match writer.api.create(&writer.pods, object).await {
        Err(error) if error.is_already_exists() => writer.api.get(&writer.pods, name).await,
        created => created,
    }
}

fn image_fault(error: ImageResolveError) -> PodFault {
    let (reason, scope) = match &error {
        ImageResolveError::NotFound(_) => (IMAGE_NOT_FOUND, FaultScope::Image),
        ImageResolveError::Denied(_) => ("ImageDenied", FaultScope::Image),
        ImageResolveError::Unavailable(_) => ("RegistryUnavailable", FaultScope::Image),
    };
    PodFault {
        reason: reason.into(),
        message: error.to_string().into(),
        scope,
    }
}
