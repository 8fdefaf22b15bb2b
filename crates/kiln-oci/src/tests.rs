//! All of it against registries in memory, which do what scripts say.

mod access;
mod caching;
mod mirrors;
mod patience;
mod proxies;
mod pushing;
mod reading;
mod redirects;
mod security;
mod store;
mod tags;
mod world;
