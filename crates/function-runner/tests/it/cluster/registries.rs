//! Registries that require a password, with a certificate that only we trust.

use base64::Engine as _;

use super::images;
use super::machine::Machine;
use super::space::Space;

/// The flags of private registries.
fn arguments(space: &Space, login: &str) -> [String; 4] {
    let machine = &space.machine;
    let authority = std::fs::read_to_string(machine.registry_authority()).expect("a certificate");
    let tls = space.file("tls/ca.crt", &authority);
    let tls = tls.parent().expect("a directory");
    let auth = space.file(
        "auth/.dockerconfigjson",
        &images::docker_config(machine, login),
    );
    [
        "--enable-private-registries".to_owned(),
        "--enable-private-registries-tls".to_owned(),
        format!("--registry-auth-secret-path={}", auth.display()),
        format!("--tls-secret-path={}", tls.display()),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn images_behind_a_password_and_an_authority_of_our_own() {
    let Some(machine) = Machine::get() else {
        return;
    };
    let space = Space::new(&machine, "private");
    let image = images::private_function(&machine, "private");
    let arguments = arguments(&space, &machine.private_login);
    let runner = space.start(&arguments.each_ref().map(String::as_str)).await;
    runner.caller.call(&image, &[]).await.expect("an answer");
    let pods = space.until_ready(1);
    let pod = pods.values().next().expect("a pod");
    let secrets = pod["spec"]["imagePullSecrets"].to_string();
    assert_eq!(secrets, r#"[{"name":"auth-secret"}]"#);

    // The copy follows the file.
    let other = images::docker_config(&machine, "another:user");
    space.file("auth/.dockerconfigjson", &other);
    let wanted = base64::engine::general_purpose::STANDARD.encode(&other);
    let _ = runner.caller.call(&format!("{image}-other"), &[]).await;
    space.until("secrets", "the new secret", |secrets| {
        secrets.get("auth-secret").is_some_and(|secret| {
            secret["type"] == "kubernetes.io/dockerconfigjson"
                && secret["data"][".dockerconfigjson"] == wanted.as_str()
        })
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_password_is_reported() {
    let Some(machine) = Machine::get() else {
        return;
    };
    let space = Space::new(&machine, "wrong");
    let image = images::private_function(&machine, "wrong");
    let arguments = arguments(&space, "kiln:wrong");
    let runner = space.start(&arguments.each_ref().map(String::as_str)).await;
    let denied = runner.caller.call(&image, &[]).await.expect_err("denied");
    let message = denied.message().to_lowercase();
    assert!(message.contains(&machine.private_registry), "{denied:?}");
    assert!(
        message.contains("401") || message.contains("unauthorized") || message.contains("denied"),
        "{denied:?}"
    );
    assert!(
        !runner.log().contains("kiln:wrong"),
        "the log has a password"
    );
    space.until("pods", "without pods", |pods| pods.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_last_replica_deletes_the_unused_secret() {
    let Some(machine) = Machine::get() else {
        return;
    };
    let space = Space::new(&machine, "last");
    let image = images::private_function(&machine, "last");
    let arguments = arguments(&space, &machine.private_login);
    let start = async || space.start(&arguments.each_ref().map(String::as_str)).await;
    let runner = start().await;
    runner.caller.call(&image, &[]).await.expect("an answer");
    let pods = space.until_ready(1);
    runner.terminate();
    // The pod is left to the next replica, and the secret with it.
    assert_eq!(space.objects("secrets").len(), 1);

    let runner = start().await;
    runner.caller.call(&image, &[]).await.expect("an answer");
    for pod in pods.keys() {
        space.delete("pods", pod);
    }
    space.until("pods", "no pods", |pods| pods.is_empty());
    runner.terminate();
    space.until_empty();
}
