//! Tests of reports and of the status page: golden files, the structure of pages, hostile names and secrets.

mod declared;
mod github;
mod golden;
mod hostile;
mod lines;
mod model;
mod page;
mod problems;
mod review;
mod sample;
mod schemas;
mod secrets;
mod status;
mod status_sample;
mod texts;
