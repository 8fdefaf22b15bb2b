//! Pod templates in a ConfigMap, and Porch's own objects.

use serde_json::Value;

use super::images;
use super::load::Load;
use super::machine::Machine;
use super::space::{Space, is_ready};

/// The templates of `deploy/`, with a label on the pod.
fn template(space: &Space, flavour: &str) -> String {
    let manifest = include_str!("../../../../../deploy/kubernetes/config.yaml");
    let label =
        format!("    metadata:\n      labels:\n        flavour: {flavour}\n      annotations:\n");
    space.in_here(&manifest.replace("    metadata:\n      annotations:\n", &label))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_template_replaces_pods_under_load() {
    let Some(machine) = Machine::get() else {
        return;
    };
    let space = Space::new(&machine, "template");
    let image = images::function(&machine, "template");
    machine.apply(&template(&space, "old"));
    let runner = space
        .start(&["--function-pod-template=kpt-function-eval-pod-template"])
        .await;
    runner.caller.call(&image, &[]).await.expect("an answer");
    let has = |flavour: &'static str| {
        move |pod: &Value| is_ready(pod) && pod["metadata"]["labels"]["flavour"] == flavour
    };
    space.until("pods", "one old pod", |pods| {
        pods.len() == 1 && pods.values().all(has("old"))
    });

    let load = Load::start(&runner.caller, &image, 2);
    load.answers(20).await;
    machine.apply(&template(&space, "new"));
    space.until("pods", "one new pod", |pods| {
        pods.len() == 1 && pods.values().all(has("new"))
    });
    load.answers(20).await;
    load.stop_without_failures().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_template_that_cannot_be_used_is_named() {
    let Some(machine) = Machine::get() else {
        return;
    };
    let space = Space::new(&machine, "broken");
    let image = images::function(&machine, "broken");
    let broken = space.in_here(
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: kpt-function-eval-pod-template\n  \
         namespace: porch-system\ndata:\n  template: |\n    spec:\n      containers:\n      - name: other\n  \
         serviceTemplate: |\n    spec: {}\n",
    );
    machine.apply(&broken);
    let runner = space
        .start(&["--function-pod-template=kpt-function-eval-pod-template"])
        .await;
    let error = runner
        .caller
        .call(&image, &[])
        .await
        .expect_err("no template");
    assert!(
        error.message().contains("kpt-function-eval-pod-template"),
        "{error:?}"
    );
    assert!(error.message().contains("\"function\""), "{error:?}");
    machine.apply(&template(&space, "good"));
    runner.caller.call(&image, &[]).await.expect("an answer");
}

/// Objects in the form of Porch's own deployment.
const PORCH: &str = r"
apiVersion: v1
kind: PodTemplate
metadata:
  name: base-pod-template
  namespace: porch-fn-system
template:
  metadata:
    labels:
      flavour: base
  spec:
    initContainers:
    - name: copy-wrapper-server
      image: WRAPPER
      command: [cp, -a, /home/nonroot/wrapper-server/., /wrapper-server-tools]
      volumeMounts:
      - {name: wrapper-server-tools, mountPath: /wrapper-server-tools}
      imagePullPolicy: IfNotPresent
    containers:
    - name: function
      image: image-replaced-by-kpt-func-image
      command: [/wrapper-server-tools/wrapper-server]
      env:
      - {name: OTEL_METRICS_EXPORTER, value: none}
      readinessProbe:
        exec:
          command: [/wrapper-server-tools/grpc-health-probe, -addr, 'localhost:9446']
      livenessProbe:
        exec:
          command: [/wrapper-server-tools/grpc-health-probe, -addr, 'localhost:9446']
      volumeMounts:
      - {name: wrapper-server-tools, mountPath: /wrapper-server-tools}
      imagePullPolicy: IfNotPresent
    volumes:
    - name: wrapper-server-tools
      emptyDir: {}
---
apiVersion: config.porch.kpt.dev/v1alpha1
kind: ServiceTemplate
metadata:
  name: base-service-template
  namespace: porch-fn-system
template:
  spec:
    ports:
    - {port: 9446, protocol: TCP, targetPort: 9446}
    selector:
      fn.kpt.dev/image: to-be-replaced
    type: ClusterIP
---
apiVersion: config.porch.kpt.dev/v1alpha1
kind: FunctionConfig
metadata:
  name: porch-function
  namespace: porch-fn-system
spec:
  image: porch-function
  prefixes: ['REGISTRY/kiln']
  podExecutor:
    tags: [v1]
    timeToLive: 10m
    maxParallelExecutions: 2
    preferredMaxQueueLength: 1
    templateOverrides:
      container:
        resources:
          limits: {memory: 200Mi}
        env:
        - {name: FLAVOUR, value: porch}
";

#[tokio::test(flavor = "multi_thread")]
async fn objects_of_porch_are_used_unchanged() {
    let Some(machine) = Machine::get() else {
        return;
    };
    let space = Space::new(&machine, "porch");
    let image = images::function(&machine, "porch-function");
    let objects = space.in_here(PORCH).replace("REGISTRY", &machine.registry);
    machine.apply(&objects.replace("WRAPPER", images::wrapper(&machine)));
    let runner = space.start(&[]).await;
    let configs = space.until("functionconfigs", "an observed generation", |configs| {
        configs.values().all(|config| {
            config["status"]["functionRunnerObservedGeneration"] == config["metadata"]["generation"]
        })
    });
    let config = &configs["porch-function"];
    let finalizers = config["metadata"]["finalizers"].to_string();
    assert!(
        finalizers.contains("config.porch.kpt.dev/functionconfig-function-runner"),
        "{config}"
    );

    runner.caller.call(&image, &[]).await.expect("an answer");
    let pods = space.until_ready(1);
    let pod = pods.values().next().expect("a pod");
    assert_eq!(pod["metadata"]["labels"]["flavour"], "base");
    let function = &pod["spec"]["containers"][0];
    assert_eq!(function["resources"]["limits"]["memory"], "200Mi");
    assert!(
        function["env"].to_string().contains("FLAVOUR"),
        "{function}"
    );

    space.machine.kubectl(&[
        "-n",
        &space.pods,
        "delete",
        "functionconfig",
        "porch-function",
        "--wait=false",
    ]);
    space.until("functionconfigs", "without configurations", |configs| {
        configs.is_empty()
    });
}
