//! kiln-oci against Debian's `docker-registry`, with and without password and TLS.

mod daemon;
mod docker_registry;
mod program;
