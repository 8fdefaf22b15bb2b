//! `log-export.tf`: log sinks and their destinations.

use super::{Export, Spot, TemplateError};
use crate::catalog::export_terraform::graph::Id;
use crate::catalog::export_terraform::hcl::{Layout, layout};
use crate::port::kustomize::shortest;

const FILE: &str = "log-export.tf";
const ORGANIZATION: Spot = Spot {
    file: FILE,
    place: "8:36",
    expression: "$logsink.GetOrganization.GetTerraformId",
};
const TABLE_EXPIRATION: Spot = Spot {
    file: FILE,
    place: "20:37",
    expression: "msToDays",
};
const RETENTION: Spot = Spot {
    file: FILE,
    place: "44:84",
    expression: "sToDays",
};

/// The attributes of all destinations but buckets.
const ATTRIBUTES: Layout = layout(2, 24);
const BUCKET_ATTRIBUTES: Layout = layout(2, 27);

/// The position where the name of a project is evaluated.
const fn project_at(place: &'static str) -> Spot {
    Spot {
        file: FILE,
        place,
        expression: ".Parent.GetResourceName",
    }
}

/// Kinds of destinations, in lookup order.
const DESTINATIONS: [&str; 4] = [
    "BigQueryDataset",
    "PubSubTopic",
    "StorageBucket",
    "LoggingLogBucket",
];

impl Export<'_, '_> {
    pub(super) fn log_export(&mut self) -> Result<(), TemplateError> {
        for sink in self.graph.of_kind("LoggingLogSink") {
            if self.graph.entry(*sink).object.is_some() {
                self.sink(*sink)?;
            }
            let identity = format!("module.logsink-{}.writer_identity", self.graph.name(*sink));
            for kind in DESTINATIONS {
                let Some(destination) = self.graph.reference(*sink, kind) else {
                    continue;
                };
                match kind {
                    "BigQueryDataset" => self.dataset(destination, &identity)?,
                    "PubSubTopic" => self.topic(destination, &identity)?,
                    "StorageBucket" => self.bucket(destination, &identity)?,
                    _ => self.log_bucket(destination, &identity)?,
                }
            }
        }
        Ok(())
    }

    fn sink(&mut self, sink: Id) -> Result<(), TemplateError> {
        let graph = self.graph;
        let organization = self.organization(sink, ORGANIZATION)?;
        let mut destinations = DESTINATIONS.iter();
        let destination = destinations.find_map(|kind| graph.reference(sink, kind));
        let destination = destination.map(|destination| graph.name(destination));
        let destination = destination.unwrap_or_default();
        let attributes = layout(2, 20);
        let hcl = &mut self.hcl;
        let name = format!("logsink-{}", graph.name(sink));
        hcl.module(2, name, ("log-export/google", "~> 7.3.0"));
        let uri = format!("module.{destination}-destination.destination_uri");
        hcl.attribute(attributes, "destination_uri", uri);
        hcl.text(attributes, "log_sink_name", graph.display_name(sink));
        let organization = graph.bare_id(organization);
        hcl.attribute(attributes, "parent_resource_id", organization);
        hcl.text(attributes, "parent_resource_type", "organization");
        hcl.attribute(attributes, "include_children", true);
        hcl.end();
        Ok(())
    }

    fn destination(
        &mut self,
        id: Id,
        (module, version): (&str, &str),
        attributes: Layout,
        project: Spot,
    ) -> Result<String, TemplateError> {
        let name = self.graph.name(id);
        let project = self.project(id, project)?;
        let hcl = &mut self.hcl;
        let source = format!("log-export/google//modules/{module}");
        hcl.module(2, format_args!("{name}-destination"), (&source, version));
        hcl.attribute(attributes, "project_id", project);
        Ok(name)
    }

    fn dataset(&mut self, id: Id, identity: &str) -> Result<(), TemplateError> {
        let module = ("bigquery", "~> 7.3.0");
        let name = self.destination(id, module, ATTRIBUTES, project_at("17:46"))?;
        self.hcl.text(ATTRIBUTES, "dataset_name", name);
        self.hcl
            .attribute(ATTRIBUTES, "log_sink_writer_identity", identity);
        let expiration = self.integer(id, &["spec", "defaultTableExpirationMs"]);
        if expiration != 0 {
            let days = days(expiration).map_err(|why| TABLE_EXPIRATION.error("msToDays", why))?;
            self.hcl.text(ATTRIBUTES, "expiration_days", days);
        }
        let location = self.text(id, &["spec", "location"]);
        self.hcl.text_if_any(ATTRIBUTES, "location", location);
        self.hcl.end();
        Ok(())
    }

    fn topic(&mut self, id: Id, identity: &str) -> Result<(), TemplateError> {
        let module = ("pubsub", "~> 7.3.0");
        let name = self.destination(id, module, ATTRIBUTES, project_at("28:46"))?;
        self.hcl.text(ATTRIBUTES, "topic_name", name);
        self.hcl
            .attribute(ATTRIBUTES, "log_sink_writer_identity", identity);
        self.hcl.end();
        Ok(())
    }

    fn bucket(&mut self, id: Id, identity: &str) -> Result<(), TemplateError> {
        let attributes = BUCKET_ATTRIBUTES;
        let module = ("storage", "~> 7.3.0");
        let name = self.destination(id, module, attributes, project_at("37:49"))?;
        let is_uniform = self.flag(id, &["spec", "uniformBucketLevelAccess"]);
        let location = self.text(id, &["spec", "location"]);
        let class = self.text(id, &["spec", "storageClass"]);
        let period = self.integer(id, &["spec", "retentionPolicy", "retentionPeriod"]);
        let is_locked = self.flag(id, &["spec", "retentionPolicy", "isLocked"]);
        let hcl = &mut self.hcl;
        hcl.text(attributes, "storage_bucket_name", name);
        hcl.attribute(attributes, "log_sink_writer_identity", identity);
        hcl.attribute(attributes, "uniform_bucket_level_access", is_uniform);
        hcl.text_if_any(attributes, "location", location);
        hcl.text_if_any(attributes, "storage_class", class);
        if period != 0 {
            let days = days(period.wrapping_mul(1000));
            let days = days.map_err(|why| RETENTION.error("sToDays", why))?;
            hcl.line("  retention_policy = {");
            let days = format!("{days},");
            hcl.attribute(layout(4, 21), "retention_period_days", days);
            hcl.attribute(layout(4, 21), "is_locked", is_locked);
            hcl.line("  }");
        }
        hcl.end();
        Ok(())
    }

    fn log_bucket(&mut self, id: Id, identity: &str) -> Result<(), TemplateError> {
        let module = ("logbucket", "~> 7.4.1");
        let name = self.destination(id, module, ATTRIBUTES, project_at("53:46"))?;
        let location = self.text(id, &["spec", "location"]);
        let days = self.integer(id, &["spec", "retentionDays"]);
        let hcl = &mut self.hcl;
        hcl.text(ATTRIBUTES, "name", name);
        hcl.text_if_any(ATTRIBUTES, "location", location);
        if days != 0 {
            hcl.attribute(ATTRIBUTES, "retention_days", days);
        }
        hcl.attribute(ATTRIBUTES, "log_sink_writer_identity", identity);
        hcl.end();
        Ok(())
    }
}

/// Milliseconds as days with two decimals, within the range of Go's durations.
fn days(milliseconds: i64) -> Result<String, String> {
    const LONGEST: u64 = i64::MAX as u64 / 1_000_000;
    const HOUR: i64 = 3_600_000;
    if milliseconds.unsigned_abs() > LONGEST {
        return Err(format!("time: invalid duration \"{milliseconds}ms\""));
    }
    let rest = (milliseconds % HOUR) as f64 * 1e6 / 3.6e12;
    let hours = (milliseconds / HOUR) as f64 + rest;
    Ok(shortest((hours / 24.0 * 100.0).round() / 100.0))
}
