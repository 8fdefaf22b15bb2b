//! Command lines of the runner and of `kiln serve`.

use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Duration;

use kiln_go::Stop;
use kiln_sandbox::SandboxMode;
use kiln_server::ConnectionOptions;
use kiln_telemetry::LogLevel;

use super::{Flavour, RunnerFlags};
use crate::config::{EnabledEvaluators, RunnerConfig};
use crate::environment::Environment;

fn parse(flavour: Flavour, arguments: &[&str]) -> Result<RunnerConfig, Stop> {
    let variables = [("WRAPPER_SERVER_IMAGE", "wrapper:v1")];
    let environment = Environment {
        variables: variables
            .map(|(name, value)| (OsString::from(name), OsString::from(value)))
            .to_vec(),
        temporary: PathBuf::from("/tmp"),
        directory: PathBuf::from("/work"),
        ..Environment::default()
    };
    let arguments = arguments.iter().map(ToString::to_string);
    RunnerFlags::new(flavour).parse(arguments, &environment)
}

fn runner(arguments: &[&str]) -> RunnerConfig {
    parse(Flavour::FunctionRunner, arguments).expect("flags")
}

#[track_caller]
fn check_wrong(arguments: &[&str], wanted: &str) {
    let stop = parse(Flavour::FunctionRunner, arguments).expect_err("wrong flags");
    assert_eq!(stop.exit_code(), 2);
    assert_eq!(stop.text().lines().next(), Some(wanted));
    assert!(stop.text().contains("\nUsage of function-runner:\n"));
}

#[test]
fn defaults_are_those_of_porch() {
    let config = runner(&[]);
    assert_eq!(
        (config.address, config.port, config.log_level),
        (None, 9445, LogLevel::DEFAULT)
    );
    assert_eq!(config.functions, Path::new("/work/functions"));
    assert_eq!(config.config.as_deref(), Some(Path::new("./config.yaml")));
    assert!(config.config_is_optional && config.warnings.is_empty());
    assert_eq!(config.pods.kubeconfig, None);
    assert_eq!(config.max_message_size, 6_291_456);
    assert_eq!(
        config.default_image_prefix,
        "ghcr.io/kptdev/krm-functions-catalog"
    );
    let all = EnabledEvaluators {
        native: true,
        exec: true,
        image: true,
        wasm: true,
        pod: true,
    };
    assert_eq!(config.evaluators, all);
    let pods = config.pods;
    assert_eq!(
        pods.cache_config,
        Path::new("/pod-cache-config/pod-cache-config.yaml")
    );
    assert_eq!(pods.namespace, "porch-fn-system");
    assert_eq!(pods.ttl, Duration::from_secs(1800));
    assert_eq!(pods.scan_interval, Duration::from_secs(60));
    let numbers = (pods.max_waitlist_length.get(), pods.max_parallel_pods.get());
    assert_eq!(numbers, (2, 1));
    #[cfg(feature = "pods")]
    assert_eq!(pods.address_mode, kiln_pods::AddressMode::Dns);
    assert_eq!(pods.lease_period, Duration::from_secs(15));
    assert!(pods.warm_up && !pods.private_registries && !pods.private_registries_tls);
    assert_eq!(
        pods.registry_auth_path,
        Path::new("/var/tmp/config-secret/.dockerconfigjson")
    );
    assert_eq!(pods.registry_auth_name, "auth-secret");
    assert_eq!(pods.tls_secret_path, Path::new("/var/tmp/tls-secret/"));
    assert_eq!(pods.wrapper_server_image.as_deref(), Some("wrapper:v1"));
}

#[test]
fn connections_have_limits() {
    let connections = runner(&[]).connections;
    assert_eq!(connections, ConnectionOptions::default());
    let connections = runner(&[
        "--max-connections=7",
        "--connection-idle-timeout=1m",
        "--request-timeout=500ms",
    ])
    .connections;
    let expected = ConnectionOptions {
        max: NonZeroUsize::new(7).expect("a number"),
        idle_timeout: Duration::from_secs(60),
        request_timeout: Duration::from_millis(500),
    };
    assert_eq!(connections, expected);
    check_wrong(
        &["--request-timeout=0"],
        "--request-timeout 0s must be more than 0",
    );
    check_wrong(
        &["--connection-idle-timeout=-1s"],
        "--connection-idle-timeout -1s must be more than 0",
    );
    check_wrong(
        &["--max-connections=-1"],
        "--max-connections -1 must be from 0 to 1000000",
    );
}

#[test]
fn the_flags_of_the_seed_are_taken() {
    let config = runner(&[
        "--port=9445",
        "--log-level=2",
        "--disable-runtimes=exec,pod",
        "--functions=./functions",
        "--config=./config.yaml",
        "--pod-cache-config=/pod-cache-config/pod-cache-config.yaml",
        "--warm-up-pod-cache=true",
        "--pod-namespace=porch-fn-system",
        "--pod-ttl=30m",
        "--scan-interval=1m",
        "--function-pod-template=",
        "--max-request-body-size=6291456",
        "--max-waitlist-length",
        "0",
        "-max-parallel-pods-per-function=-3",
        "--enable-private-registries=false",
        "--registry-auth-secret-path=/x",
        "--registry-auth-secret-name=y",
        "--enable-private-registries-tls",
        "--tls-secret-path=/z",
    ]);
    assert!(config.evaluators.native && !config.evaluators.exec && !config.evaluators.pod);
    assert_eq!(
        (
            config.pods.max_waitlist_length.get(),
            config.pods.max_parallel_pods.get()
        ),
        (2, 1)
    );
    assert!(config.pods.private_registries_tls && config.pods.template.is_none());
}

#[test]
fn kiln_serve_has_defaults_for_a_local_machine() {
    let config = parse(Flavour::Serve, &[]).expect("flags");
    assert_eq!(
        config.address.map(|address| address.to_string()).as_deref(),
        Some("127.0.0.1")
    );
    assert!(config.config_is_optional && !config.evaluators.pod);
    let config = parse(Flavour::Serve, &["--config=x", "--disable-runtimes="]).expect("flags");
    assert!(!config.config_is_optional && config.evaluators.pod);
}

#[test]
fn wrong_values_are_refused_before_anything_is_opened() {
    check_wrong(&["--nope"], "flag provided but not defined: -nope");
    check_wrong(&["--port=65536"], "--port 65536 must be from 0 to 65535");
    check_wrong(
        &["--pod-address-mode=ip"],
        "--pod-address-mode: \"ip\" is not an address mode; use \"dns\", \"clusterip\" or \"podip\"",
    );
    check_wrong(
        &["--pod-lease-period=1s"],
        "--pod-lease-period must be at least 3s",
    );
    check_wrong(
        &["--max-request-body-size=1000", "--max-held-bytes=999"],
        "--max-held-bytes 999 must be from 1000 to 9223372036854775807",
    );
    check_wrong(
        &["--listen-address=x"],
        "--listen-address \"x\" is not an IP address",
    );
    check_wrong(
        &["--tls-cert=x"],
        "--tls-cert and --tls-key must be used together",
    );
    check_wrong(
        &["--require-tls"],
        "--require-tls requires --tls-cert and --tls-key",
    );
    check_wrong(
        &["--tls-client-ca=x"],
        "--tls-client-ca requires --tls-cert and --tls-key",
    );
    check_wrong(
        &["--exec-sandbox=lax"],
        "--exec-sandbox \"lax\" must be one of: strict, off",
    );
}

/// A command line that starts Porch's runner starts this one, and `kiln serve`; returns the warnings.
#[track_caller]
fn check_accepted(arguments: &[&str], warning: &str) -> RunnerConfig {
    for flavour in [Flavour::FunctionRunner, Flavour::Serve] {
        let config = parse(flavour, arguments).expect("flags");
        assert_eq!(config.warnings, [warning]);
    }
    runner(arguments)
}

#[test]
fn what_porch_accepts_is_accepted_with_a_warning() {
    let config = check_accepted(
        &["--disable-runtimes=exec,podd"],
        "unknown evaluator \"podd\" in --disable-runtimes is ignored: the evaluators are native, exec, wasm, image and pod",
    );
    assert!(config.evaluators.native && !config.evaluators.exec && config.evaluators.pod);

    let config = check_accepted(
        &["--log-level=6"],
        "--log-level 6 is not from 0 to 5: 5 is used",
    );
    assert_eq!(config.log_level, LogLevel::clamped(5));
    let config = check_accepted(
        &["--log-level=-1"],
        "--log-level -1 is not from 0 to 5: 0 is used",
    );
    assert_eq!(config.log_level, LogLevel::clamped(0));

    let config = check_accepted(
        &["--config="],
        "--config is empty: the exec evaluator has no table",
    );
    assert_eq!(config.config, None);

    let config = check_accepted(
        &["--warm-up-pod-cache", "false", "--port=1"],
        "unexpected argument \"false\": it and the 1 after it are ignored (write booleans as --flag=false)",
    );
    assert!(config.pods.warm_up && config.port == 9445);
}

#[test]
fn sizes_and_times_that_mean_nothing_get_their_defaults() {
    for interval in ["0s", "-5s"] {
        let config = check_accepted(
            &[&format!("--scan-interval={interval}")],
            &format!("--scan-interval {interval} is not positive: the default of 1m0s is used"),
        );
        assert_eq!(config.pods.scan_interval, Duration::from_secs(60));
    }
    let config = check_accepted(&["--pod-ttl=-1s"], "--pod-ttl -1s is negative: 0s is used");
    assert_eq!(config.pods.ttl, Duration::ZERO);
    for size in ["0", "-1"] {
        let config = check_accepted(
            &[&format!("--max-request-body-size={size}")],
            &format!("--max-request-body-size {size} is not from 1 to 2147483647: 6291456 is used"),
        );
        assert_eq!(config.max_message_size, 6_291_456);
    }
    let config = check_accepted(
        &["--max-request-body-size=3000000000"],
        "--max-request-body-size 3000000000 is not from 1 to 2147483647: 2147483647 is used",
    );
    assert_eq!(config.max_message_size, 2_147_483_647);
    assert_eq!(config.max_held_bytes, 2_147_483_647, "one has to fit");
}

#[test]
fn a_kubeconfig_can_be_named() {
    let config = runner(&["--kubeconfig=/etc/kube"]);
    assert_eq!(
        config.pods.kubeconfig.as_deref(),
        Some(Path::new("/etc/kube"))
    );
    assert_eq!(runner(&["--kubeconfig="]).pods.kubeconfig, None);
}

#[test]
fn security_flags_are_used() {
    let config = runner(&[
        "--require-tls",
        "--tls-cert=c",
        "--tls-key=k",
        "--tls-client-ca=a",
        "--auth-token-file=t",
        "--exec-sandbox=strict",
        "--evaluation-timeout=0",
        "--drain-timeout=1.5s",
        "--max-concurrent-evaluations=3",
        "--max-queued-evaluations=0",
    ]);
    let tls = config.tls.expect("TLS");
    assert_eq!(tls.client_ca.as_deref(), Some(Path::new("a")));
    assert_eq!(config.token_file.as_deref(), Some(Path::new("t")));
    assert_eq!(config.sandbox, Some(SandboxMode::Strict));
    assert_eq!(config.evaluation_timeout, None);
    assert_eq!(config.drain_timeout, Duration::from_millis(1500));
    assert_eq!(
        (config.admission.processes.get(), config.admission.queue),
        (3, 0)
    );
}

#[test]
fn images_have_a_store_and_a_policy() {
    let config = runner(&[
        "--image-store=/var/lib/kiln",
        "--image-pull-policy=never",
        "--image-store-size=1000000",
        "--image-store-age=1h",
        "--disable-runtimes=pod",
    ]);
    assert!(config.evaluators.image);
    assert_eq!(
        config.image.store.as_deref(),
        Some(Path::new("/var/lib/kiln"))
    );
    assert_eq!(config.image.pull_policy, kiln_oci::PullPolicy::Never);
    let limits = config.image.collect;
    assert_eq!(
        (limits.size, limits.age),
        (1_000_000, Duration::from_secs(3600))
    );
    assert_eq!(
        runner(&[]).image.collect,
        kiln_store::CollectLimits::default()
    );
    check_wrong(
        &["--image-store-age=-1s"],
        "--image-store-age -1s must not be negative",
    );
    assert!(!runner(&["--disable-runtimes=image"]).evaluators.image);
    check_wrong(
        &["--image-pull-policy=sometimes"],
        "--image-pull-policy \"sometimes\" must be one of: Always, IfNotPresent, Never",
    );
}

#[test]
fn functions_in_webassembly_have_a_memory_limit() {
    assert_eq!(runner(&[]).wasm.memory, 1 << 30);
    let config = runner(&["--wasm-memory-limit=268435456"]);
    assert_eq!(config.wasm.memory, 256 << 20);
    check_wrong(
        &["--wasm-memory-limit=-1"],
        "--wasm-memory-limit -1 must be from 0 to 9223372036854775807",
    );
}

#[test]
fn the_status_page_is_on_for_local_use_only() {
    assert_eq!(runner(&[]).status, None);
    let local = parse(Flavour::Serve, &[]).expect("flags").status;
    let local = local.expect("a status page");
    assert_eq!(local.address.to_string(), "127.0.0.1:9447");
    assert!(local.shows_messages && !local.is_chosen);
    let off = parse(Flavour::Serve, &["--status-address="]).expect("flags");
    assert_eq!(off.status, None);
    let chosen = runner(&["--status-address=[::1]:0"]).status;
    let chosen = chosen.expect("a status page");
    assert_eq!(chosen.address.to_string(), "[::1]:0");
    assert!(chosen.is_chosen && !chosen.shows_messages);
    for (given, address) in [
        ("localhost:9447", "127.0.0.1:9447"),
        ("LocalHost:0", "127.0.0.1:0"),
        (":9447", "0.0.0.0:9447"),
    ] {
        let chosen = runner(&[&format!("--status-address={given}")]).status;
        let chosen = chosen.expect("a status page");
        assert_eq!(chosen.address.to_string(), address);
    }
    for wrong in [
        "9447",
        "localhost",
        "example.org:9447",
        "127.0.0.1",
        ":x",
        ":65536",
    ] {
        let flag = format!("--status-address={wrong}");
        check_wrong(
            &[&flag],
            &format!(
                "--status-address {wrong:?} is not an IP address and a port, such as 127.0.0.1:9447"
            ),
        );
    }
}

#[test]
fn the_status_page_lists_flags_with_their_values() {
    let flags = runner(&["--port=1"]).flags;
    let port = ("port", "1".to_owned(), "9445".to_owned());
    assert!(flags.contains(&port), "{flags:?}");
    let local = parse(Flavour::Serve, &[]).expect("flags").flags;
    assert!(
        !local.iter().any(|(name, _, _)| *name == "pod-ttl"),
        "hidden"
    );
}
