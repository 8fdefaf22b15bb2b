//! A fixed status, so that pages can be compared with golden files.

use kiln_pages::status::{
    BucketStatus, CallStatus, ClassCount, ColdStartStatus, ColdStartStep, FailureStatus,
    FunctionStatus, KnownPods, LaneStatus, LimitStatus, PodRow, PodsStatus, PoolStatus,
    ReplicaStatus, RunningStatus, STATUS_VERSION, ServiceHealth, SettingStatus, StatusModel,
    WatchStatus, WindowStatus,
};

pub(crate) const IMAGE: &str = "example.com/functions/set-image:v1";

/// A runner in a cluster, with a function that fails and a call that waits.
pub(crate) fn status() -> StatusModel {
    StatusModel {
        program: "function-runner".to_owned(),
        address: "10.0.0.7:9445".to_owned(),
        sandbox: vec!["files: in force: Landlock".to_owned()],
        lanes: vec![lane("processes", 1, 0), lane("forwarded", 0, 1)],
        windows: vec![window(1, 60, 2), window(5, 300, 2), window(60, 3_000, 5)],
        functions: vec![function(IMAGE), function("example.com/other:v2")],
        running: vec![running(7)],
        recent: vec![call(6, "INTERNAL"), call(5, "OK")],
        pods: PodsStatus::Known(known_pods()),
        settings: vec![
            setting("status-address", "127.0.0.1:9447", ""),
            setting("port", "9445", "9445"),
        ],
        ..idle()
    }
}

/// A runner without calls and without pods.
pub(crate) fn idle() -> StatusModel {
    StatusModel {
        version: STATUS_VERSION,
        program: "kiln serve".to_owned(),
        build: "0.0.0 (unknown)".to_owned(),
        address: "127.0.0.1:9445".to_owned(),
        as_of: "2026-01-02T04:04:05Z".to_owned(),
        started: "2026-01-02T03:04:05Z".to_owned(),
        uptime_ms: 3_600_000,
        health: ServiceHealth::Serving,
        evaluators: vec!["native".to_owned(), "exec".to_owned()],
        sandbox: Vec::new(),
        lanes: vec![lane("processes", 0, 0)],
        windows: vec![WindowStatus {
            p50_us: None,
            p95_us: None,
            p99_us: None,
            max_us: None,
            ..window(1, 0, 0)
        }],
        functions: Vec::new(),
        running: Vec::new(),
        recent: Vec::new(),
        shows_messages: true,
        limits: vec![
            LimitStatus {
                name: "requests and responses in memory".to_owned(),
                used: Some(3 << 20),
                max: Some(512 << 20),
                is_bytes: true,
                flag: Some("max-held-bytes".to_owned()),
            },
            LimitStatus {
                name: "open files".to_owned(),
                used: Some(25),
                max: None,
                is_bytes: false,
                flag: None,
            },
        ],
        pods: PodsStatus::Disabled,
        settings: Vec::new(),
    }
}

fn lane(name: &str, running: u64, waiting: u64) -> LaneStatus {
    LaneStatus {
        name: name.to_owned(),
        running,
        slots: 8,
        waiting,
        max_waiting: 1_000,
    }
}

fn window(minutes: u64, calls: u64, failures: u64) -> WindowStatus {
    WindowStatus {
        minutes,
        calls,
        failures,
        p50_us: Some(240),
        p95_us: Some(1_900),
        p99_us: Some(45_000),
        max_us: Some(2_345_678),
    }
}

pub(crate) fn function(image: &str) -> FunctionStatus {
    let bucket = |up_to_us: Option<u64>, calls: u64| BucketStatus { up_to_us, calls };
    FunctionStatus {
        image: image.into(),
        evaluator: "exec".to_owned(),
        windows: vec![window(1, 30, 1), window(60, 1_500, 3)],
        buckets: vec![
            bucket(Some(200), 700),
            bucket(Some(300), 780),
            bucket(Some(400), 0),
            bucket(None, 20),
        ],
        failed: vec![
            ClassCount {
                class: "function".to_owned(),
                calls: 2,
            },
            ClassCount {
                class: "deadline".to_owned(),
                calls: 1,
            },
        ],
        calls: 1_500,
        last_call_ms_ago: 1_234,
        last_failures: vec![FailureStatus {
            call: 6,
            ended: "2026-01-02T04:04:00Z".to_owned(),
            ms_ago: 5_000,
            code: "INTERNAL".to_owned(),
            class: "function".to_owned(),
            exit_code: Some(3),
            message: Some("the image has no tag\n".into()),
        }],
    }
}

pub(crate) fn running(id: u64) -> RunningStatus {
    RunningStatus {
        id,
        request_id: "porch-7".into(),
        trace_id: Some("4bf92f3577b34da6a3ce929d0e0e4736".to_owned()),
        image: IMAGE.into(),
        evaluator: Some("pod".to_owned()),
        lane: Some("forwarded".to_owned()),
        is_running: false,
        age_us: 1_500_000,
        in_state_us: 1_400_000,
        request_bytes: 123_456,
    }
}

pub(crate) fn call(id: u64, code: &str) -> CallStatus {
    CallStatus {
        id,
        request_id: format!("porch-{id}").as_str().into(),
        trace_id: None,
        image: IMAGE.into(),
        evaluator: Some("exec".to_owned()),
        ended: "2026-01-02T04:04:00Z".to_owned(),
        ms_ago: 5_000,
        code: code.to_owned(),
        class: (code != "OK").then(|| "function".to_owned()),
        exit_code: Some(3),
        queue_us: 12,
        execution_us: Some(2_300),
        total_us: 2_400,
        request_bytes: 1_000,
        response_bytes: 0,
    }
}

fn known_pods() -> KnownPods {
    let step = |name: &str, at_us: u64| ColdStartStep {
        name: name.to_owned(),
        at_us,
    };
    KnownPods {
        replica: "runner-a".to_owned(),
        is_synced: false,
        watches: vec![WatchStatus {
            kind: "Pods".to_owned(),
            is_healthy: false,
            state: "interrupted: connection refused".into(),
        }],
        pools: vec![PoolStatus {
            image: IMAGE.into(),
            digest: Some("sha256:0123".into()),
            waiting: 1,
            pods: 1,
            max_pods: 2,
            last_cold_start: Some(ColdStartStatus {
                pod: "set-image-1".into(),
                ms_ago: 60_000,
                steps: vec![
                    step("resolve the image", 120_000),
                    step("create the pod", 150_000),
                    step("schedule", 200_000),
                    step("pull, initialize and become ready", 2_100_000),
                ],
            }),
        }],
        pods: vec![
            pod("set-image-1", true),
            PodRow {
                state: "another replica's".to_owned(),
                reason: None,
                ..pod("set-image-2", false)
            },
        ],
        pods_left_out: 0,
        replicas: vec![replica("runner-a", true), replica("runner-b", false)],
    }
}

pub(crate) fn pod(name: &str, is_own: bool) -> PodRow {
    PodRow {
        name: name.into(),
        image: IMAGE.into(),
        state: "pending".to_owned(),
        reason: Some("container function: ImagePullBackOff".into()),
        node: Some("node-1".into()),
        created: Some("2026-01-02T04:03:00Z".into()),
        age_ms: Some(125_000),
        running: 0,
        idle_ms: Some(60_000),
        expires_in_ms: is_own.then_some(1_740_000),
        owner: match is_own {
            true => "runner-a".into(),
            false => "runner-b".into(),
        },
        is_own,
    }
}

fn replica(name: &str, is_this: bool) -> ReplicaStatus {
    ReplicaStatus {
        name: name.into(),
        is_this,
        is_alive: is_this,
        lease_age_ms: is_this.then_some(2_000),
        lease_period_ms: Some(15_000),
        pods: 1,
    }
}

fn setting(flag: &str, value: &str, default: &str) -> SettingStatus {
    SettingStatus {
        flag: flag.to_owned(),
        value: value.into(),
        default: default.into(),
    }
}
