//! The Deployment of Porch's documentation, unchanged, with our own images under the names in it.

use super::images;
use super::machine::Machine;
use super::runner::{Caller, list};

/// Nothing in it may be changed: this is what users have.
const DEPLOYMENT: &str = r#"
apiVersion: apps/v1
kind: Deployment
metadata:
  name: function-runner
  namespace: porch-system
spec:
  replicas: 1
  selector:
    matchLabels:
      app: function-runner
  template:
    metadata:
      labels:
        app: function-runner
    spec:
      containers:
      - name: function-runner
        image: function-runner:latest
        args:
        - --port=9445
        - --log-level=2
        - --pod-namespace=porch-fn-system
        - --pod-ttl=30m
        - --scan-interval=1m
        - --warm-up-pod-cache=true
        - --max-request-body-size=6291456
        env:
        - name: WRAPPER_SERVER_IMAGE
          value: "wrapper-server:latest"
        ports:
        - containerPort: 9445
          protocol: TCP
        resources:
          requests:
            memory: "512Mi"
            cpu: "200m"
          limits:
            memory: "1Gi"
            cpu: "1000m"
        livenessProbe:
          grpc:
            port: 9445
          initialDelaySeconds: 30
          periodSeconds: 10
        readinessProbe:
          grpc:
            port: 9445
          initialDelaySeconds: 5
          periodSeconds: 5
"#;

/// The rights of `deploy/` for the default account.
const RIGHTS: &str = r"
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: default-account, namespace: porch-fn-system}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: porch-function-executor}
subjects: [{kind: ServiceAccount, name: default, namespace: porch-system}]
";

#[tokio::test(flavor = "multi_thread")]
async fn the_deployment_of_the_documentation_starts_unchanged() {
    let Some(machine) = Machine::get() else {
        return;
    };
    images::push_ours(&machine);
    let _cleared = Namespaces(&machine);
    machine.apply(include_str!(
        "../../../../../deploy/kubernetes/namespaces.yaml"
    ));
    machine.apply(DEPLOYMENT);
    let rollout = ["-n", "porch-system", "rollout", "status", "--timeout=180s"];
    machine.kubectl(&[&rollout[..], &["deployment/function-runner"]].concat());

    let pods = machine.list("porch-system", "pods");
    let address = pods[0]["status"]["podIP"].as_str().expect("an address");
    let caller = Caller::connect(&format!("{address}:9445")).await;
    let built_in = "gcr.io/kpt-fn/set-namespace:v0.4.1";
    let input = list("item", &[("namespace", "there")]);
    let answer = caller.evaluate(built_in, &input).await;
    let answer = answer.expect("an answer");
    let answer = String::from_utf8_lossy(&answer.resource_list).into_owned();
    assert!(answer.contains("namespace: there\n"), "{answer}");

    // It has no rights. It runs, logs that, and works as soon as it gets them.
    let image = images::function_for_pods(&machine, "documented");
    let refused = caller.call(&image, &[]).await.expect_err("no rights");
    assert!(refused.message().contains("forbidden"), "{refused:?}");
    machine.apply(include_str!("../../../../../deploy/kubernetes/rbac.yaml"));
    machine.apply(RIGHTS);
    caller.call(&image, &[]).await.expect("an answer");
}

/// The namespaces in the documentation; deleted when dropped.
struct Namespaces<'a>(&'a Machine);

impl Drop for Namespaces<'_> {
    #[expect(clippy::print_stderr, reason = "what there was explains a failure")]
    fn drop(&mut self) {
        if std::thread::panicking() {
            let about = ["-n", "porch-system", "describe", "pods"];
            let log = ["-n", "porch-system", "logs", "deployment/function-runner"];
            for command in [&about[..], &log] {
                let output = self.0.try_kubectl(command);
                eprintln!("{}", String::from_utf8_lossy(&output.stdout));
            }
        }
        // Waits, because the next test uses the same names.
        let both = ["delete", "namespace", "porch-system", "porch-fn-system"];
        self.0.try_kubectl(&both);
    }
}
