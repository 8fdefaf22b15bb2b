//! Making a pod: what the image is, the pod, its service.

use std::sync::Arc;

use tokio::sync::oneshot;
use tokio::time::Instant;

use super::hands::Hands;
use super::house::unix_now;
use super::message::Message;
use crate::api::{ApiError, retry_and_tell};
use crate::error::IMAGE_NOT_FOUND;
use crate::images::{ImageError, by_digest};
use crate::names::pod_name;
use crate::objects::{self, PodPlan};
use crate::plans::Recipe;
use crate::state::{Event, Fault, ImageKey, Lasts, PodId, Settings, Version};
use crate::views::PodView;

/// Makes a pod and says so, or why not. Stopped, it deletes what it has made.
pub(super) async fn create(
    hands: Arc<Hands>,
    pod: PodId,
    image: ImageKey,
    recipe: Recipe,
    settings: Settings,
    stopped: oneshot::Receiver<()>,
) {
    let mut name = None;
    let outcome = tokio::select! {
        made = make(&hands, pod, &image, &recipe, settings, &mut name) => Some(made),
        Ok(()) = stopped => None,
    };
    match (outcome, name) {
        (Some(Ok(())), _) => (),
        (Some(Err(fault)), _) => hands.tell(Event::Failed { pod, fault }),
        (None, None) => hands.tell(Event::Gone { pod }),
        (None, Some(name)) => hands.delete_pod(pod, &name, None).await,
    }
}

async fn make(
    hands: &Hands,
    pod: PodId,
    image: &ImageKey,
    recipe: &Recipe,
    settings: Settings,
    chosen_name: &mut Option<String>,
) -> Result<(), Fault> {
    // Before the pod is given up because it is not ready, so that the reason is told.
    let until = Instant::now() + settings.start_timeout * 9 / 10;
    let info = hands
        .images
        .resolve(image.as_str())
        .await
        .map_err(image_fault)?;
    if info.command.is_empty() {
        return Err(Fault {
            reason: "NoEntrypoint".into(),
            message: format!("image {image} has neither an entrypoint nor a command").into(),
            lasts: Lasts::Yes,
        });
    }
    if recipe.pull_secret.is_some()
        && let Some(copy) = &hands.pull_secret
    {
        let copied = copy.ensure(&hands.api).await;
        copied.map_err(|error| Fault {
            reason: "PullSecret".into(),
            message: error.to_string().into(),
            lasts: Lasts::No,
        })?;
    }
    let name = pod_name(image.as_str(), &info.digest, pod.number(), &hands.me);
    let plan = PodPlan {
        name: &name,
        replica: &hands.me,
        function: image.as_str(),
        image: &by_digest(image.as_str(), &info.digest),
        digest: &info.digest,
        command: &info.command,
        overrides: &recipe.overrides,
        pull_secret: recipe.pull_secret.as_deref(),
        reclaim_after: unix_now().saturating_add(settings.ttl.as_secs()),
    };
    let object = objects::pod(&recipe.templates, &hands.settings, &plan);
    *chosen_name = Some(name.clone());
    hands.send(Message::Named {
        pod,
        name: name.clone(),
    });
    let fault = |error: &ApiError| error.fault("unable to apply the pod");
    let tell = |error: &ApiError| {
        let trouble = format!("pod {name}: {}", fault(error));
        hands.send(Message::Trouble { pod, trouble });
    };
    let created = retry_and_tell(until, tell, || create_pod(hands, &name, &object));
    let view = created.await.map_err(|error| fault(&error))?;
    tracing::info!(pod = name, "created a pod for {image}");
    hands.send(Message::Created {
        pod,
        image: image.clone(),
        version: Version {
            template: Arc::clone(&recipe.version),
            digest: Some(info.digest.as_str().into()),
        },
    });
    let service = hands.create_service(&recipe.templates, &name, &view.metadata.uid);
    service
        .await
        .map_err(|error| error.fault("unable to create the service of the pod"))
}

/// A name is never used twice: what is there already is what an earlier attempt has made.
async fn create_pod(
    hands: &Hands,
    name: &str,
    object: &serde_json::Value,
) -> Result<PodView, ApiError> {
    match hands.api.create(&hands.pods, object).await {
        Err(error) if error.is_already_there() => hands.api.get(&hands.pods, name).await,
        created => created,
    }
}

fn image_fault(error: ImageError) -> Fault {
    let (reason, lasts) = match &error {
        ImageError::NotFound(_) => (IMAGE_NOT_FOUND, Lasts::Yes),
        ImageError::Denied(_) => ("ImageDenied", Lasts::Yes),
        ImageError::Unavailable(_) => ("RegistryUnavailable", Lasts::Yes),
    };
    Fault {
        reason: reason.into(),
        message: error.to_string().into(),
        lasts,
    }
}
