//! Handles the updates of watches.

use super::Driver;
use super::cold_starts::StartStep;
use super::controller::reclaim_in;
use super::maintenance::unix_now;
use super::message::AnyUpdate;
use super::watch_health::{WatchState, WatchedKind};
use crate::config::function_config::FunctionConfig;
use crate::kube::pod_status::not_ready_reason;
use crate::kube::views::{EndpointSliceView, LeaseView, ObjectView, PodView, ServiceView};
use crate::kube::watch::WatchUpdate;
use crate::pool::PoolEvent;

impl Driver {
    pub(super) fn observe(&mut self, update: AnyUpdate) {
        match update {
            AnyUpdate::Pods(update) => self.observe_pods(update),
            AnyUpdate::Services(update) => self.observe_services(update),
            AnyUpdate::Slices(update) => self.observe_slices(update),
            AnyUpdate::Leases(update) => self.observe_leases(update),
            AnyUpdate::Configs(update) => self.observe_configs(update),
            AnyUpdate::ConfigMap(update) => self.observe_template(WatchedKind::ConfigMap, update),
            AnyUpdate::PodTemplate(update) => {
                self.observe_template(WatchedKind::PodTemplate, update)
            }
            AnyUpdate::ServiceTemplate(update) => {
                self.observe_template(WatchedKind::ServiceTemplate, update)
            }
        }
    }

    /// Reports to the state machine whether the cluster view is fresh, if that has changed.
    pub(super) fn update_watch_health(&mut self) {
        match self.watch_health.take_change() {
            Some(true) => {
                let now = self.now();
                let expired = self.controller.fresh(now, &mut self.tasks);
                self.delete_leases(expired);
                self.warm_up();
                // There may be no receiver.
                let _ = self.usable.send(true);
            }
            Some(false) => {
                tracing::warn!(
                    "the view of the cluster may be outdated: {}",
                    self.watch_health.problems()
                );
                let now = self.now();
                self.controller.stale(now, &mut self.tasks);
            }
            None => (),
        }
    }

    fn observe_pods(&mut self, update: WatchUpdate<PodView>) {
        self.record_health(WatchedKind::Pods, &update);
        self.check_annotations(&update);
        self.report_progress(&update);
        self.note_scheduled(&update);
        let notices = match update {
            WatchUpdate::Listed(pods) => self.controller.view.replace_pods(pods),
            WatchUpdate::Changed(pod) => self.controller.view.update_pod(pod),
            WatchUpdate::Deleted(pod) => self.controller.view.remove_pod(&pod.metadata.name),
            WatchUpdate::Interrupted(_) | WatchUpdate::Unavailable(_) => return,
        };
        self.handle_notices(notices);
    }

    /// Makes the state machine restore missing reclaim annotations.
    fn check_annotations(&mut self, update: &WatchUpdate<PodView>) {
        let pods = match update {
            WatchUpdate::Listed(pods) => pods.as_slice(),
            WatchUpdate::Changed(pod) => std::slice::from_ref(pod),
            _ => return,
        };
        let now = unix_now();
        let bare = pods
            .iter()
            .filter(|pod| reclaim_in(&pod.metadata, now).is_none());
        let ours = bare.filter_map(|pod| self.controller.view.own_pod_id(&pod.metadata.name));
        for pod in ours.collect::<Vec<_>>() {
            self.handle_event(PoolEvent::AnnotationMissing { pod });
        }
    }

    /// Reports to waiting requests why the pod is not ready yet, in case their deadline passes.
    fn report_progress(&self, update: &WatchUpdate<PodView>) {
        if let WatchUpdate::Changed(pod) = update
            && let Some(id) = self.controller.view.own_pod_id(&pod.metadata.name)
            && let Some(what) = not_ready_reason(pod)
        {
            let name = &pod.metadata.name;
            self.report_delay(id, format!("pod {name} is not ready: {what}").into());
        }
    }

    /// Notes when a new pod got its node.
    fn note_scheduled(&mut self, update: &WatchUpdate<PodView>) {
        if let WatchUpdate::Changed(pod) = update
            && pod.spec.node_name.is_some()
            && let Some(id) = self.controller.view.own_pod_id(&pod.metadata.name)
        {
            self.tasks.cold_starts.reached(id, StartStep::Scheduled);
        }
    }

    fn observe_services(&mut self, update: WatchUpdate<ServiceView>) {
        self.record_health(WatchedKind::Services, &update);
        let notices = match update {
            WatchUpdate::Listed(services) => self.controller.view.replace_services(services),
            WatchUpdate::Changed(service) => self.controller.view.update_service(service),
            WatchUpdate::Deleted(service) => {
                self.controller.view.remove_service(&service.metadata.name)
            }
            WatchUpdate::Interrupted(_) | WatchUpdate::Unavailable(_) => return,
        };
        self.handle_notices(notices);
    }

    fn observe_slices(&mut self, update: WatchUpdate<EndpointSliceView>) {
        self.record_health(WatchedKind::Slices, &update);
        let notices = match update {
            WatchUpdate::Listed(slices) => self.controller.view.replace_slices(&slices),
            WatchUpdate::Changed(slice) => self.controller.view.update_slice(&slice),
            WatchUpdate::Deleted(slice) => self.controller.view.remove_slice(&slice),
            WatchUpdate::Interrupted(_) | WatchUpdate::Unavailable(_) => return,
        };
        self.handle_notices(notices);
    }

    fn observe_leases(&mut self, update: WatchUpdate<LeaseView>) {
        self.record_health(WatchedKind::Leases, &update);
        let now = self.now();
        match update {
            WatchUpdate::Listed(leases) => self.controller.replicas.replace(&leases, now),
            WatchUpdate::Changed(lease) => self.controller.replicas.update(&lease, now),
            WatchUpdate::Deleted(lease) => self.controller.replicas.forget(&lease),
            WatchUpdate::Interrupted(_) | WatchUpdate::Unavailable(_) => (),
        }
    }

    fn observe_configs(&mut self, update: WatchUpdate<FunctionConfig>) {
        self.record_health(WatchedKind::Configs, &update);
        match update {
            WatchUpdate::Listed(configs) => {
                configs.iter().for_each(|config| self.acknowledge(config));
                let stay = |config: &FunctionConfig| config.metadata.deletion_timestamp.is_none();
                self.tasks
                    .specs
                    .set_configs(configs.into_iter().filter(stay).collect());
            }
            WatchUpdate::Changed(config) => {
                self.acknowledge(&config);
                self.tasks.specs.set_config(config);
            }
            WatchUpdate::Deleted(config) => {
                self.tasks.writer.forget_config(&config.metadata.name);
                self.tasks.specs.remove_config(&config.metadata.name);
            }
            WatchUpdate::Interrupted(_) => return,
            WatchUpdate::Unavailable(_) => self.tasks.specs.set_configs(Vec::new()),
        }
        self.tasks
            .writer
            .local_executors
            .set(self.tasks.specs.configs().cloned().collect());
        self.refresh_specs();
        self.warm_up();
    }

    /// What this process supports may have changed since the FunctionConfigs were reported.
    pub(super) fn acknowledge_all(&mut self) {
        let configs: Vec<FunctionConfig> = self.tasks.specs.configs().cloned().collect();
        configs.iter().for_each(|config| self.acknowledge(config));
    }

    /// Writes the finalizer and the status of a FunctionConfig.
    fn acknowledge(&mut self, config: &FunctionConfig) {
        let name = config.metadata.name.clone();
        let finalizer = config
            .with_finalizer()
            .or_else(|| config.without_finalizer());
        let is_leaving = config.metadata.deletion_timestamp.is_some();
        let unsupported = self.tasks.writer.local_executors.unsupported(config);
        let status = config.status_patch(unsupported).filter(|_| !is_leaving);
        if finalizer.is_some() || status.is_some() {
            self.tasks
                .spawn(|writer| async move { writer.acknowledge(&name, finalizer, status).await });
        }
    }

    fn observe_template(&mut self, kind: WatchedKind, update: WatchUpdate<ObjectView>) {
        self.record_health(kind, &update);
        let object = match update {
            WatchUpdate::Unavailable(error) if kind == WatchedKind::ConfigMap => {
                self.tasks
                    .specs
                    .templates
                    .set_unreadable(&error.to_string());
                return self.refresh_specs();
            }
            WatchUpdate::Listed(mut objects) => objects.pop(),
            WatchUpdate::Changed(object) => Some(object),
            WatchUpdate::Deleted(_) | WatchUpdate::Unavailable(_) => None,
            WatchUpdate::Interrupted(_) => return,
        };
        let templates = &mut self.tasks.specs.templates;
        let outcome = match kind {
            WatchedKind::ConfigMap => templates.set_config_map(object.as_ref()),
            WatchedKind::PodTemplate => templates.set_pod_template(object),
            _ => templates.set_service_template(object),
        };
        if let Err(reason) = outcome {
            tracing::error!("invalid template, the previous one stays in force: {reason}");
        }
        self.refresh_specs();
        self.warm_up();
    }

    fn record_health<T>(&mut self, kind: WatchedKind, update: &WatchUpdate<T>) {
        let state = match update {
            WatchUpdate::Listed(_) | WatchUpdate::Changed(_) | WatchUpdate::Deleted(_) => {
                WatchState::Synced
            }
            WatchUpdate::Interrupted(error) => WatchState::Interrupted(error.to_string()),
            WatchUpdate::Unavailable(error) => {
                if kind.is_optional() {
                    WatchState::Unavailable
                } else {
                    WatchState::Interrupted(error.to_string())
                }
            }
        };
        self.watch_health.set(kind, state);
    }
}
