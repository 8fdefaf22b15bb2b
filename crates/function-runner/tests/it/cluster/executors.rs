//! FunctionConfigs that have images run by programs and built-in functions of the runner, without a pod.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::Value;

use super::machine::Machine;
use super::runner::Caller;
use super::space::Space;
use crate::program::LIST;

const CONFIG: &str = "\
apiVersion: config.porch.kpt.dev/v1alpha1
kind: FunctionConfig
metadata:
  name: NAME
  namespace: porch-fn-system
spec:
  image: NAME
  prefixes: [REGISTRY/no-such]
  EXECUTOR
";

impl Space {
    fn apply_config(&self, name: &str, executor: &str) {
        let config = CONFIG.replace("NAME", name).replace("EXECUTOR", executor);
        let config = config.replace("REGISTRY", &self.machine.registry);
        self.machine.apply(&self.in_here(&config));
    }

    /// Waits until the newest version of an object has been observed, and returns the error in its status.
    fn until_seen(&self, name: &str, pleases: impl Fn(&str) -> bool) {
        self.until("functionconfigs", "seen and pleasing", |configs| {
            let Some(config) = configs.get(name) else {
                return false;
            };
            let status = &config["status"];
            let seen = &status["functionRunnerObservedGeneration"];
            let error = status["error"].as_str().unwrap_or_default();
            *seen == config["metadata"]["generation"] && pleases(error)
        });
    }

    fn function(&self, name: &str, script: &str) {
        let path = self.file(
            &format!("functions/{name}"),
            &format!("#!/bin/sh\n{script}\n"),
        );
        // Programs in the sandbox may have another user.
        for path in [
            self.directory.path(),
            &self.directory.path().join("functions"),
            &path,
        ] {
            let all = std::fs::Permissions::from_mode(0o755);
            std::fs::set_permissions(path, all).expect("rights");
        }
    }
}

async fn answer(caller: &Caller, image: &str) -> String {
    let answer = caller.evaluate(image, LIST).await.expect("an answer");
    String::from_utf8_lossy(&answer.resource_list).into_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn programs_and_built_in_functions_run_what_objects_say() {
    let Some(machine) = Machine::get() else {
        return;
    };
    let space = Space::new(&machine, "executors");
    space.function("one", "sed s/there/one/");
    space.function("two", "sed s/there/two/");
    let runner = space.start(&["--scan-interval=2s"]).await;
    // No registry has them, so no pod can run them.
    let prefix = format!("{}/no-such", machine.registry);
    let image = &format!("{prefix}/labels:v1");

    // Objects come, change and go, and so does what runs an image.
    space.apply_config("labels", "binaryExecutor: {tags: [v1], path: one}");
    space.until_seen("labels", str::is_empty);
    assert!(
        answer(&runner.caller, image)
            .await
            .contains("namespace: one")
    );
    space.apply_config("labels", "binaryExecutor: {tags: [v1, v2], path: two}");
    space.until_seen("labels", str::is_empty);
    assert!(
        answer(&runner.caller, image)
            .await
            .contains("namespace: two")
    );

    // Errors are reported, and removed when they are resolved.
    space.apply_config("labels", "binaryExecutor: {tags: [v1], path: three}");
    space.until_seen("labels", |error| {
        error.contains("functions/three does not exist")
    });
    space.function("three", "sed s/there/three/");
    space.until_seen("labels", str::is_empty);
    assert!(
        answer(&runner.caller, image)
            .await
            .contains("namespace: three")
    );

    let builtin = "goExecutor: {id: set-namespace, tags: [v0.4.1, v99]}";
    space.apply_config("spaces", builtin);
    space.until_seen("spaces", |error| {
        error.contains("not built in: set-namespace:v99")
    });
    let built_in = answer(&runner.caller, &format!("{prefix}/spaces:v0.4.1")).await;
    assert!(built_in.contains("\n    namespace: there\n"), "{built_in}");

    // Porch's own objects have ranges, and pods for functions that are built in here: these get none.
    let ranges = "podExecutor: {tags: [v0.4.1]}\n  goExecutor: {id: set-namespace, tags: ['~0.4 != v0.4.0', v0.3.4]}";
    space.apply_config("ranges", ranges);
    space.until_seen("ranges", str::is_empty);
    for tag in ["v0.4.1", "v0.4.5", "v0.3.4"] {
        let answer = answer(&runner.caller, &format!("{prefix}/ranges:{tag}")).await;
        assert!(
            answer.contains("\n    namespace: there\n"),
            "{tag}: {answer}"
        );
    }
    space.apply_config("range", "podExecutor: {tags: ['~0.1 != v0.1.4', v0.1.5]}");
    space.until_seen("range", str::is_empty);

    for name in ["labels", "spaces", "ranges", "range"] {
        space
            .machine
            .kubectl(&["-n", &space.pods, "delete", "functionconfig", name]);
    }
    let nobody = runner.caller.evaluate(image, LIST).await;
    let status = nobody.expect_err("nobody runs it any more");
    assert_eq!(status.code(), tonic::Code::NotFound, "{status}");
    assert_eq!(space.objects("pods").len(), 0, "no pod was ever needed");
    let of = |value: &Value| value["metadata"]["name"].as_str().map(str::to_owned);
    let left: Vec<_> = space
        .objects("functionconfigs")
        .values()
        .filter_map(of)
        .collect();
    assert_eq!(left, Vec::<String>::new());
}
