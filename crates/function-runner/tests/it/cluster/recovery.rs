//! Temporary obstacles to creating pods: they are reported at once, and forgotten when they are over.

use std::time::Duration;

use tonic::Code;

use super::images;
use super::machine::Machine;
use super::space::Space;

const QUOTA: &str = "\
apiVersion: v1
kind: ResourceQuota
metadata:
  name: none
  namespace: porch-fn-system
spec:
  hard: {pods: \"0\"}
";

#[tokio::test(flavor = "multi_thread")]
async fn a_used_up_quota_is_reported_and_may_be_raised() {
    let Some(machine) = Machine::get() else {
        return;
    };
    let space = Space::new(&machine, "quota");
    let image = images::function(&machine, "quota");
    machine.apply(&space.in_here(QUOTA));
    // It is in force when the quota controller has counted.
    space.until("resourcequotas", "counted", |quotas| {
        quotas
            .values()
            .all(|quota| quota["status"]["used"]["pods"] == "0")
    });
    let runner = space.start(&[]).await;
    let error = runner.caller.call(&image, &[]).await;
    let error = error.expect_err("no pod may be made");
    assert_eq!(error.code(), Code::Unavailable, "{error:?}");
    assert!(
        error.message().contains("exceeded quota: none"),
        "{error:?}"
    );
    machine.kubectl(&["-n", &space.pods, "delete", "resourcequota", "none"]);
    runner.caller.call(&image, &[]).await.expect("an answer");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_image_may_come_later() {
    let Some(machine) = Machine::get() else {
        return;
    };
    let space = Space::new(&machine, "later");
    let runner = space.start(&[]).await;
    let name = format!("later-{}", space.own);
    let image = format!("{}/kiln/{name}:v1", machine.registry);
    let error = runner.caller.call(&image, &[]).await;
    assert_eq!(error.expect_err("no image").code(), Code::NotFound);
    images::function(&machine, &name);
    runner.caller.call(&image, &[]).await.expect("an answer");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_takes_no_pods_is_reported_and_may_come_back() {
    let Some(machine) = Machine::get_alone() else {
        return;
    };
    let space = Space::new(&machine, "cordon");
    let image = images::function(&machine, "cordon");
    let runner = space.start(&[]).await;
    let nodes = machine.kubectl(&["get", "nodes", "-o", "name"]);
    let node = nodes.trim().trim_start_matches("node/");
    machine.kubectl(&["cordon", node]);
    let error = runner.caller.call(&image, &[]).await;
    machine.kubectl(&["uncordon", node]);
    let error = error.expect_err("no node takes it");
    assert_eq!(error.code(), Code::Unavailable, "{error:?}");
    assert!(error.message().contains("Unschedulable"), "{error:?}");
    // The scheduler learns later that the node takes pods again.
    let answered = async {
        while let Err(error) = runner.caller.call(&image, &[]).await {
            assert!(error.message().contains("Unschedulable"), "{error:?}");
        }
    };
    let limit = Duration::from_secs(60);
    let answered = tokio::time::timeout(limit, answered).await;
    answered.expect("the node takes pods again");
}
