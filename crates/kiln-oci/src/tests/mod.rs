//! The client against in-memory registries with scripted responses.

mod authentication;
mod caching;
mod fixtures;
mod network;
mod proxies;
mod pushing;
mod reading;
mod redirects;
mod retries;
mod security;
mod signatures;
mod tags;
