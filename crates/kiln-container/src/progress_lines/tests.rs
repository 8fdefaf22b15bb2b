//! Progress lines as the engines print them, mixed with output of functions.

use super::*;

#[track_caller]
fn check(engine: Engine, stderr: &str, expected: &str) {
    let left = without_progress_lines(engine, stderr.as_bytes());
    assert_eq!(String::from_utf8(left).unwrap(), expected);
}

const DIGEST: &str = "17ce4f65660717ba0afbd143578dfd1c5b9822bd3ad3945c10d6878e057265f1";

#[test]
fn docker_prints_layers() {
    let stderr = "\
Unable to find image 'example.com/set-x:v0.3' locally
v0.3: Pulling from set-x
4e9f2cdf4387: Already exists
aafbf7df3ddf: Pulling fs layer
aafbf7df3ddf: Verifying Checksum
aafbf7df3ddf: Download complete
6b759ab96cb2: Waiting
first: a real line
aafbf7df3ddf: Pull complete
Digest: sha256:c347e28606fa1a608e8e02e03541a5a46e4a0152005df4a11e44f6c4ab1edd9a
Status: Downloaded newer image for example.com/set-x:v0.3
Status: Image is up to date for example.com/set-x:v0.3
second line
";
    check(Engine::Docker, stderr, "first: a real line\nsecond line");
}

#[test]
fn podman_prints_blobs_and_a_digest() {
    let stderr = format!(
        "Trying to pull example.com/x:v1...\nGetting image source signatures\n\
         Copying blob sha256:{DIGEST}\nCopying config sha256:{DIGEST}\n\
         Writing manifest to image destination\nStoring signatures\n{DIGEST}\noops {DIGEST}\n"
    );
    check(Engine::Podman, &stderr, &format!("oops {DIGEST}"));
}

#[test]
fn nerdctl_draws_bars() {
    let bar = "+".repeat(38);
    let no_bar = "-".repeat(38);
    let stderr = format!(
        "example.com/x:v1:  resolving |{no_bar}|\nexample.com/x:v1: resolved |{bar}|\n\
         index-sha256:{DIGEST}: done\nmanifest-sha256:{DIGEST}: done\nconfig-sha256:{DIGEST}: done\n\
         layer-sha256:{DIGEST}: done\nelapsed: 2.4 s   total: 4.4 Ki\n{DIGEST}\noops\n"
    );
    check(Engine::Nerdctl, &stderr, "oops");
}

#[test]
fn one_engine_does_not_filter_the_lines_of_another() {
    check(Engine::Docker, DIGEST, DIGEST);
    check(Engine::Docker, "Storing signatures", "Storing signatures");
    check(Engine::Podman, "a: Pull complete", "a: Pull complete");
}

#[test]
fn lines_lose_their_last_break_only() {
    check(Engine::Docker, "", "");
    check(Engine::Docker, "a\r\n\nb\n\n", "a\n\nb\n");
    check(Engine::Docker, "a: Waiting\n", "");
}
