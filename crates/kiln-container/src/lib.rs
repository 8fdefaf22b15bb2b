//! Functions that are images, run by docker, podman or nerdctl.
