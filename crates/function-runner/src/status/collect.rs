//! Collects the data of the status page.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use kiln_pages::VisibleText;
use kiln_pages::status::{
    BucketStatus, CallStatus, ClassCount, FailureStatus, FunctionStatus, LaneStatus, LimitStatus,
    PodsStatus, RunningStatus, STATUS_VERSION, ServiceHealth, SettingStatus, StatusModel,
    WindowStatus,
};
use kiln_proto::peer::MessageLimits;
use kiln_server::{AdmissionOptions, Lane, ServerMonitor};
use kiln_telemetry::{
    BuildInfo, CallHistory, CallWindow, EndedCall, FunctionCalls, HistorySnapshot, LaneLoad,
    UnfinishedCall, process_usage,
};

use super::{micros, millis};
use crate::config::RunnerConfig;
use crate::started_pods::PodsSource;

/// Running calls beyond this number are not listed; the lanes count all of them.
const MAX_RUNNING: usize = 1_000;

/// Reads the state of a runner for each page.
pub(crate) struct StatusCollector {
    pub(crate) program: &'static str,
    /// Where calls arrive.
    pub(crate) address: String,
    pub(crate) evaluators: Vec<String>,
    pub(crate) sandbox: Vec<String>,
    pub(crate) settings: Vec<SettingStatus>,
    pub(crate) limits: ConfiguredLimits,
    pub(crate) history: Arc<CallHistory>,
    pub(crate) monitor: ServerMonitor,
    /// `None` if functions do not run in pods.
    pub(crate) pods: Option<PodsSource>,
}

/// The limits of flags.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ConfiguredLimits {
    admission: AdmissionOptions,
    held_bytes: usize,
    messages: MessageLimits,
    connections: usize,
}

impl ConfiguredLimits {
    pub(crate) fn of(config: &RunnerConfig) -> ConfiguredLimits {
        ConfiguredLimits {
            admission: config.admission,
            held_bytes: config.max_held_bytes,
            messages: MessageLimits::new(config.max_message_size).within(config.max_held_bytes),
            connections: config.connections.max.get(),
        }
    }
}

/// The flags of a runner, in the order of their names.
pub(crate) fn settings(config: &RunnerConfig) -> Vec<SettingStatus> {
    let flags = config.flags.iter();
    let mut settings: Vec<SettingStatus> = flags
        .map(|(name, value, default)| SettingStatus {
            flag: (*name).to_owned(),
            value: value.as_str().into(),
            default: default.as_str().into(),
        })
        .collect();
    settings.sort_by(|a, b| a.flag.cmp(&b.flag));
    settings
}

impl StatusCollector {
    /// The state now. Waits for the pods, but not long.
    pub(crate) async fn collect(&self) -> StatusModel {
        let pods = match &self.pods {
            Some(source) => source().await,
            None => PodsStatus::Disabled,
        };
        let snapshot = self.history.snapshot();
        let clock = Clock::of(&snapshot);
        let build = BuildInfo::this();
        let functions = snapshot.functions.into_iter();
        let mut functions: Vec<FunctionStatus> = functions
            .map(|known| function_status(known, &clock))
            .collect();
        functions.sort_by(|a, b| (&a.image, &a.evaluator).cmp(&(&b.image, &b.evaluator)));
        let unfinished = snapshot.unfinished.into_iter().take(MAX_RUNNING);
        StatusModel {
            version: STATUS_VERSION,
            program: self.program.to_owned(),
            build: format!("{} ({})", build.version, build.commit),
            address: self.address.clone(),
            as_of: clock.text(snapshot.now),
            started: clock.text(Duration::ZERO),
            uptime_ms: millis(snapshot.now),
            health: self.health(),
            evaluators: self.evaluators.clone(),
            sandbox: self.sandbox.clone(),
            lanes: snapshot.lanes.iter().map(|load| self.lane(*load)).collect(),
            windows: snapshot.windows.into_iter().map(window_status).collect(),
            functions,
            running: unfinished
                .map(|open| running_status(open, &clock))
                .collect(),
            recent: snapshot
                .recent
                .into_iter()
                .map(|ended| call_status(ended, &clock))
                .collect(),
            shows_messages: self.history.keeps_messages(),
            limits: self.limits(),
            pods,
            settings: self.settings.clone(),
        }
    }

    fn health(&self) -> ServiceHealth {
        match (self.monitor.is_draining(), self.monitor.can_evaluate()) {
            (true, _) => ServiceHealth::Draining,
            (false, true) => ServiceHealth::Serving,
            (false, false) => ServiceHealth::NotReady,
        }
    }

    fn lane(&self, load: LaneLoad) -> LaneStatus {
        let admission = self.limits.admission;
        let slots = match load.lane {
            Lane::Processes => admission.processes,
            Lane::Small | Lane::Large => admission.native,
            Lane::Slow => admission.slow,
            Lane::Forwarded => admission.forwarded,
        };
        LaneStatus {
            name: load.lane.name().to_owned(),
            running: load.running,
            slots: slots.get() as u64,
            waiting: load.waiting,
            max_waiting: admission.queue as u64,
        }
    }

    fn limits(&self) -> Vec<LimitStatus> {
        let usage = process_usage();
        let limit =
            |name: &str, used: Option<u64>, max: Option<usize>, flag: Option<&str>| LimitStatus {
                name: name.to_owned(),
                used,
                max: max.map(|max| max as u64),
                is_bytes: true,
                flag: flag.map(str::to_owned),
            };
        let message = |name: &str, max| limit(name, None, max, Some("max-request-body-size"));
        let count = |limit: LimitStatus| LimitStatus {
            is_bytes: false,
            ..limit
        };
        let (held, connections) = (self.monitor.held_bytes(), self.monitor.connections());
        let limits = &self.limits;
        vec![
            limit(
                "requests and responses in memory",
                Some(held as u64),
                Some(limits.held_bytes),
                Some("max-held-bytes"),
            ),
            message("size of a message", Some(limits.messages.porch)),
            message(
                "size of a message of kiln's programs",
                Some(limits.messages.kiln),
            ),
            message(
                "size of a list in parts of kiln's programs",
                Some(limits.messages.streamed().unwrap_or(limits.messages.kiln)),
            ),
            count(limit(
                "connections",
                Some(connections as u64),
                Some(limits.connections),
                Some("max-connections"),
            )),
            limit("memory of the process", usage.resident_bytes, None, None),
            count(limit("open files", usage.open_files, None, None)),
        ]
    }
}

/// Turns times since the start into times of day and ages.
struct Clock {
    began_at: SystemTime,
    now: Duration,
}

impl Clock {
    fn of(snapshot: &HistorySnapshot) -> Clock {
        Clock {
            began_at: snapshot.began_at,
            now: snapshot.now,
        }
    }

    /// RFC 3339 in seconds; empty for a time that no calendar has.
    fn text(&self, at: Duration) -> String {
        let at = self.began_at.checked_add(at);
        let at = at.and_then(|at| jiff::Timestamp::try_from(at).ok());
        at.map_or_else(String::new, |at| format!("{at:.0}"))
    }

    fn ago(&self, at: Duration) -> Duration {
        self.now.saturating_sub(at)
    }
}

fn window_status(window: CallWindow) -> WindowStatus {
    WindowStatus {
        minutes: window.minutes,
        calls: window.calls,
        failures: window.failures,
        p50_us: window.p50_us,
        p95_us: window.p95_us,
        p99_us: window.p99_us,
        max_us: window.max_us,
    }
}

fn function_status(known: FunctionCalls, clock: &Clock) -> FunctionStatus {
    FunctionStatus {
        image: (&*known.image).into(),
        evaluator: known.evaluator.to_owned(),
        windows: known.windows.into_iter().map(window_status).collect(),
        buckets: known
            .buckets
            .into_iter()
            .map(|bucket| BucketStatus {
                up_to_us: bucket.up_to_us,
                calls: bucket.calls,
            })
            .collect(),
        failed: known
            .failed
            .into_iter()
            .map(|(class, calls)| ClassCount {
                class: class.to_owned(),
                calls,
            })
            .collect(),
        calls: known.calls,
        last_call_ms_ago: millis(clock.ago(known.last_call)),
        last_failures: known
            .last_failures
            .into_iter()
            .map(|failure| FailureStatus {
                call: failure.call,
                ended: clock.text(failure.ended),
                ms_ago: millis(clock.ago(failure.ended)),
                code: failure.code.to_owned(),
                class: failure.class.to_owned(),
                exit_code: failure.exit_code,
                message: failure.message.map(|message| VisibleText::from(&*message)),
            })
            .collect(),
    }
}

fn running_status(open: UnfinishedCall, clock: &Clock) -> RunningStatus {
    RunningStatus {
        id: open.call,
        request_id: (&*open.request_id).into(),
        trace_id: open.trace_id.map(String::from),
        image: (&*open.image).into(),
        evaluator: open.with.map(|(evaluator, _)| evaluator.to_owned()),
        lane: open.with.map(|(_, lane)| lane.name().to_owned()),
        is_running: open.is_running,
        age_us: micros(clock.ago(open.arrived)),
        in_state_us: micros(clock.ago(open.since)),
        request_bytes: open.request_bytes as u64,
    }
}

fn call_status(ended: EndedCall, clock: &Clock) -> CallStatus {
    CallStatus {
        id: ended.call,
        request_id: (&*ended.request_id).into(),
        trace_id: ended.trace_id.map(String::from),
        image: (&*ended.image).into(),
        evaluator: ended.evaluator.map(str::to_owned),
        ended: clock.text(ended.ended),
        ms_ago: millis(clock.ago(ended.ended)),
        code: ended.code.to_owned(),
        class: ended.class.map(str::to_owned),
        exit_code: ended.exit_code,
        queue_us: micros(ended.queue),
        execution_us: ended.execution.map(micros),
        total_us: micros(ended.total),
        request_bytes: ended.request_bytes as u64,
        response_bytes: ended.response_bytes as u64,
    }
}
