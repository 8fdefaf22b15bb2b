//! Pods that are ready for Kubernetes but cannot be called.

use super::images;
use super::machine::Machine;
use super::space::Space;

/// A service with a port without a listener.
const ASTRAY: &str = "\
apiVersion: config.porch.kpt.dev/v1alpha1
kind: ServiceTemplate
metadata:
  name: base-service-template
  namespace: porch-fn-system
template:
  spec:
    ports:
    - {port: 9446, protocol: TCP, targetPort: 1}
    type: ClusterIP
";

#[tokio::test(flavor = "multi_thread")]
async fn a_pod_that_cannot_be_called_is_reported_with_its_address() {
    let Some(machine) = Machine::get() else {
        return;
    };
    let space = Space::new(&machine, "astray");
    let image = images::function(&machine, "astray");
    machine.apply(&space.in_here(ASTRAY));
    let runner = space.start(&[]).await;
    let error = runner.caller.call(&image, &[]).await;
    let error = error.expect_err("nobody can be reached");
    for part in ["Unreachable", "astray-v1-", "cannot connect to ", ":9446: "] {
        assert!(error.message().contains(part), "no {part:?}: {error:?}");
    }

    let template = ["delete", "servicetemplate", "base-service-template"];
    machine.kubectl(&[&["-n", &space.pods][..], &template].concat());
    runner.caller.call(&image, &[]).await.expect("an answer");
}
