//! What follows from what watches see.

use super::Driver;
use super::house::reclaim_in;
use super::message::AnySeen;
use super::sight::{Kind, View};
use crate::function_config::FunctionConfig;
use crate::state::Event;
use crate::stuck::waits_for;
use crate::views::{EndpointSliceView, LeaseView, ObjectView, PodView, ServiceView};
use crate::watch::Seen;

impl Driver {
    pub(super) fn observe(&mut self, seen: AnySeen) {
        match seen {
            AnySeen::Pods(seen) => self.observe_pods(seen),
            AnySeen::Services(seen) => self.observe_services(seen),
            AnySeen::Slices(seen) => self.observe_slices(seen),
            AnySeen::Leases(seen) => self.observe_leases(seen),
            AnySeen::Configs(seen) => self.observe_configs(seen),
            AnySeen::ConfigMap(seen) => self.observe_template(Kind::ConfigMap, seen),
            AnySeen::PodTemplate(seen) => self.observe_template(Kind::PodTemplate, seen),
            AnySeen::ServiceTemplate(seen) => self.observe_template(Kind::ServiceTemplate, seen),
        }
    }

    /// Says whether what is known is all there is, if that has changed.
    pub(super) fn judge_sight(&mut self) {
        match self.sight.turned() {
            Some(true) => {
                self.replicas.pardon(self.now());
                // Before anything is done to pods: others may have taken them while nobody could look.
                for pod in self.world.moved() {
                    self.judge_moved(pod);
                }
                self.tell(Event::Fresh);
                self.judge_all();
                self.warm_up();
                // Whether anybody looks is their business.
                let _ = self.usable.send(true);
            }
            Some(false) => {
                tracing::warn!(
                    "what is known of the cluster may be old: {}",
                    self.sight.complaint()
                );
                self.tell(Event::Stale);
            }
            None => (),
        }
    }

    fn observe_pods(&mut self, seen: Seen<PodView>) {
        self.look_with(Kind::Pods, &seen);
        self.look_at_annotations(&seen);
        self.tell_progress(&seen);
        let notices = match seen {
            Seen::All(pods) => self.world.see_pods(pods),
            Seen::Is(pod) => self.world.see_pod(pod),
            Seen::Gone(pod) => self.world.lose_pod(&pod.metadata.name),
            Seen::Blind(_) | Seen::Absent(_) => return,
        };
        self.follow(notices);
    }

    /// Pods of ours say how long they may stay, whoever takes that away.
    fn look_at_annotations(&mut self, seen: &Seen<PodView>) {
        let pods = match seen {
            Seen::All(pods) => pods.as_slice(),
            Seen::Is(pod) => std::slice::from_ref(pod),
            _ => return,
        };
        let bare = pods
            .iter()
            .filter(|pod| reclaim_in(&pod.metadata).is_none());
        let ours = bare.filter_map(|pod| self.world.ours(&pod.metadata.name));
        for pod in ours.collect::<Vec<_>>() {
            self.tell(Event::Unannotated { pod });
        }
    }

    /// Those who wait know what for, in case their time is up before the pod is ready.
    fn tell_progress(&self, seen: &Seen<PodView>) {
        if let Seen::Is(pod) = seen
            && let Some(id) = self.world.ours(&pod.metadata.name)
            && let Some(what) = waits_for(pod)
        {
            let name = &pod.metadata.name;
            self.tell_waiters(id, format!("pod {name} is not ready: {what}").into());
        }
    }

    fn observe_services(&mut self, seen: Seen<ServiceView>) {
        self.look_with(Kind::Services, &seen);
        let notices = match seen {
            Seen::All(services) => self.world.see_services(services),
            Seen::Is(service) => self.world.see_service(service),
            Seen::Gone(service) => self.world.lose_service(&service.metadata.name),
            Seen::Blind(_) | Seen::Absent(_) => return,
        };
        self.follow(notices);
    }

    fn observe_slices(&mut self, seen: Seen<EndpointSliceView>) {
        self.look_with(Kind::Slices, &seen);
        let notices = match seen {
            Seen::All(slices) => self.world.see_slices(&slices),
            Seen::Is(slice) => self.world.see_slice(&slice),
            Seen::Gone(slice) => self.world.lose_slice(&slice),
            Seen::Blind(_) | Seen::Absent(_) => return,
        };
        self.follow(notices);
    }

    fn observe_leases(&mut self, seen: Seen<LeaseView>) {
        self.look_with(Kind::Leases, &seen);
        let now = self.now();
        match seen {
            Seen::All(leases) => self.replicas.see_all(&leases, now),
            Seen::Is(lease) => self.replicas.see(&lease, now),
            Seen::Gone(lease) => self.replicas.forget(&lease),
            Seen::Blind(_) | Seen::Absent(_) => (),
        }
    }

    fn observe_configs(&mut self, seen: Seen<FunctionConfig>) {
        self.look_with(Kind::Configs, &seen);
        match seen {
            Seen::All(configs) => {
                configs.iter().for_each(|config| self.acknowledge(config));
                let stay = |config: &FunctionConfig| config.metadata.deletion_timestamp.is_none();
                self.plans
                    .set_configs(configs.into_iter().filter(stay).collect());
            }
            Seen::Is(config) => {
                self.acknowledge(&config);
                self.plans.set_config(config);
            }
            Seen::Gone(config) => {
                self.hands.forget_config(&config.metadata.name);
                self.plans.remove_config(&config.metadata.name);
            }
            Seen::Blind(_) => return,
            Seen::Absent(_) => self.plans.set_configs(Vec::new()),
        }
        self.hands
            .local
            .set(self.plans.configs().cloned().collect());
        self.renew_plans();
        self.warm_up();
    }

    /// What can be done here may have changed since FunctionConfigs were seen.
    pub(super) fn acknowledge_again(&mut self) {
        let configs: Vec<FunctionConfig> = self.plans.configs().cloned().collect();
        configs.iter().for_each(|config| self.acknowledge(config));
    }

    /// Writes into a FunctionConfig what was seen of it.
    fn acknowledge(&mut self, config: &FunctionConfig) {
        let name = config.metadata.name.clone();
        let finalizer = config
            .with_finalizer()
            .or_else(|| config.without_finalizer());
        let is_leaving = config.metadata.deletion_timestamp.is_some();
        let complaint = self.hands.local.complaint(config);
        let status = config.status_patch(complaint).filter(|_| !is_leaving);
        if finalizer.is_some() || status.is_some() {
            self.spawn(|hands| async move { hands.acknowledge(&name, finalizer, status).await });
        }
    }

    fn observe_template(&mut self, kind: Kind, seen: Seen<ObjectView>) {
        self.look_with(kind, &seen);
        let object = match seen {
            Seen::Absent(error) if kind == Kind::ConfigMap => {
                self.plans.templates.set_unreadable(&error.to_string());
                return self.renew_plans();
            }
            Seen::All(mut objects) => objects.pop(),
            Seen::Is(object) => Some(object),
            Seen::Gone(_) | Seen::Absent(_) => None,
            Seen::Blind(_) => return,
        };
        let templates = &mut self.plans.templates;
        let outcome = match kind {
            Kind::ConfigMap => templates.set_config_map(object.as_ref()),
            Kind::PodTemplate => templates.set_pod_template(object),
            _ => templates.set_service_template(object),
        };
        if let Err(reason) = outcome {
            tracing::error!("templates cannot be used, those before stay in force: {reason}");
        }
        self.renew_plans();
        self.warm_up();
    }

    fn look_with<T>(&mut self, kind: Kind, seen: &Seen<T>) {
        let view = match seen {
            Seen::All(_) | Seen::Is(_) | Seen::Gone(_) => View::Clear,
            Seen::Blind(error) => View::Blind(error.to_string()),
            Seen::Absent(error) => {
                if kind.is_optional() {
                    View::Absent
                } else {
                    View::Blind(error.to_string())
                }
            }
        };
        self.sight.set(kind, view);
    }
}
