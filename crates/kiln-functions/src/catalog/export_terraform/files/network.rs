//! `network.tf`: networks with their subnets, routes, firewalls, routers and connections to services.

use kiln_krm::records;

use super::{Export, Spot, TemplateError};
use crate::catalog::export_terraform::ExportTerraformRelease;
use crate::catalog::export_terraform::graph::Id;
use crate::catalog::export_terraform::hcl::layout;
use crate::catalog::export_terraform::object::RecordList;
use crate::port::kustomize::shortest;

const PROJECT: Spot = Spot {
    file: "network.tf",
    place: "7:36",
    expression: ".Parent.GetResourceName",
};

records! {
    struct FirewallAllow = "terraformgenerator.firewallAllow" {
        ports: Vec<String> = "ports",
        protocol: String = "protocol",
    }
}

/// A network, and the attributes that its parts refer to.
struct Network {
    id: Id,
    name: String,
    /// The expression for its project.
    project: String,
}

impl Export<'_, '_> {
    pub(super) fn network(&mut self) -> Result<(), TemplateError> {
        for id in self.created("ComputeNetwork") {
            let network = Network {
                id,
                name: self.graph.name(id),
                project: self.project(id, PROJECT)?,
            };
            self.network_module(&network);
            self.hcl.line("# Firewall Rules");
            for firewall in self.graph.children_of_kind(id, "ComputeFirewall") {
                self.firewall(&network, firewall);
            }
            self.hcl.line("# NAT Router and config");
            for router in self.graph.children_of_kind(id, "ComputeRouter") {
                self.router(&network, router);
            }
            self.hcl.blank();
            let kind = "ServiceNetworkingConnection";
            for connection in self.graph.children_of_kind(id, kind) {
                self.service_connection(&network, connection);
            }
        }
        Ok(())
    }

    fn network_module(&mut self, network: &Network) {
        let Network { id, name, project } = network;
        let routing_mode = self.text(*id, &["spec", "routingMode"]);
        let description = self.text(*id, &["spec", "description"]);
        let attributes = layout(4, 12);
        let hcl = &mut self.hcl;
        hcl.line("# VPC and Subnets");
        hcl.module(4, name, ("network/google", "~> 5.0"));
        hcl.attribute(attributes, "project_id", project);
        hcl.text(attributes, "network_name", name);
        hcl.text_if_any(attributes, "routing_mode", routing_mode);
        hcl.text_if_any(attributes, "description", description);
        hcl.line("");
        hcl.line("    subnets = [");
        hcl.line("       ");
        for subnet in self.graph.children_of_kind(*id, "ComputeSubnetwork") {
            self.subnet(subnet);
        }
        self.hcl.line("    ]");
        if self.release >= ExportTerraformRelease::V0_3_0 {
            self.routes(*id);
        }
        self.hcl.line("}");
    }

    fn subnet(&mut self, id: Id) {
        let attributes = layout(12, 21);
        let text = |field: &str| self.text(id, &["spec", field]);
        let log = |field: &str| self.text(id, &["spec", "logConfig", field]);
        let (range, region) = (text("ipCidrRange"), text("region"));
        let (interval, metadata) = (log("aggregationInterval"), log("metadata"));
        let is_private = self.flag(id, &["spec", "privateIpGoogleAccess"]);
        let object = self.graph.entry(id).object;
        let sampling = object.map(|object| object.fraction(&["spec", "logConfig", "flowSampling"]));
        let sampling = sampling.filter(|sampling| *sampling != 0.0);
        let hcl = &mut self.hcl;
        hcl.line("        {");
        hcl.text(attributes, "subnet_name", self.graph.name(id));
        hcl.text(attributes, "subnet_ip", range);
        hcl.text(attributes, "subnet_region", region);
        if is_private {
            hcl.attribute(attributes, "subnet_private_access", true);
        }
        if !interval.is_empty() {
            hcl.attribute(attributes, "subnet_flow_logs", true);
            if let Some(sampling) = sampling {
                hcl.text(attributes, "subnet_flow_logs_sampling", shortest(sampling));
            }
            hcl.text_if_any(attributes, "subnet_flow_logs_metadata", metadata);
            hcl.text(attributes, "subnet_flow_logs_interval", interval);
        }
        hcl.line("        },");
    }

    fn routes(&mut self, network: Id) {
        let attributes = layout(8, 0);
        self.hcl.line("    ");
        let routes = self.graph.children_of_kind(network, "ComputeRoute");
        if routes.is_empty() {
            return;
        }
        self.hcl.line("    routes = [");
        self.hcl.line("      ");
        for id in routes {
            let text = |field: &str| self.text(id, &["spec", field]);
            let (description, range) = (text("description"), text("destRange"));
            let gateway = text("nextHopGateway");
            let priority = self.integer(id, &["spec", "priority"]);
            let tags = self.texts(id, "tags");
            let hcl = &mut self.hcl;
            hcl.more("{");
            hcl.text(attributes, "name", self.graph.name(id));
            hcl.text_if_any(attributes, "description", description);
            hcl.text_if_any(attributes, "destination_range", range);
            hcl.number_text_if_any(attributes, "priority", priority);
            if gateway == "default-internet-gateway" {
                hcl.text(attributes, "next_hop_internet", true);
            }
            if !tags.is_empty() {
                hcl.text(attributes, "tags", tags.join(","));
            }
            hcl.line("      },");
        }
        self.hcl.line("    ]");
    }

    fn firewall(&mut self, network: &Network, id: Id) {
        let attributes = layout(2, 9);
        let direction = self.text(id, &["spec", "direction"]);
        let priority = self.integer(id, &["spec", "priority"]);
        let is_logged = self.flag(id, &["spec", "enableLogging"]);
        let name = self.graph.name(id);
        let hcl = &mut self.hcl;
        hcl.line(format_args!(
            "resource \"google_compute_firewall\" \"{name}\" {{"
        ));
        hcl.text(attributes, "name", &name);
        let network_name = format!("module.{}.network_name", network.name);
        hcl.attribute(attributes, "network", network_name);
        hcl.attribute(attributes, "project", &network.project);
        hcl.text_if_any(attributes, "direction", direction);
        if priority != 0 {
            hcl.attribute(attributes, "priority", priority);
        }
        hcl.blank();
        if is_logged {
            hcl.line("  log_config {");
            hcl.line("      metadata = \"INCLUDE_ALL_METADATA\"");
            hcl.line("    }");
            hcl.blank();
        }
        for allowed in self.allowed(id) {
            let hcl = &mut self.hcl;
            hcl.line("  allow {");
            hcl.text(layout(4, 8), "protocol", allowed.protocol);
            if !allowed.ports.is_empty() {
                let ports = allowed.ports.iter().map(|port| format!("\"{port}\","));
                let ports: String = ports.collect();
                hcl.attribute(layout(4, 8), "ports", format_args!("[{ports}]"));
            }
            hcl.line("  }");
            hcl.blank();
        }
        let ranges = self.texts(id, "sourceRanges");
        if !ranges.is_empty() {
            self.hcl.line("  source_ranges = [");
            for range in ranges {
                self.hcl.line(format_args!("  \"{range}\","));
            }
            self.hcl.line("  ]");
        }
        self.hcl.line("}");
    }

    fn allowed(&mut self, id: Id) -> Vec<FirewallAllow> {
        let entry = self.graph.entry(id);
        let Some(object) = entry.object else {
            return Vec::new();
        };
        let list: RecordList<FirewallAllow> = object.list(&["spec", "allow"]);
        self.note(
            "unable to find allowed FW ports/protocol",
            &entry.name,
            &list,
        );
        list.items
    }

    fn router(&mut self, network: &Network, id: Id) {
        let attributes = layout(2, 7);
        let region = self.text(id, &["spec", "region"]);
        let name = self.graph.name(id);
        let hcl = &mut self.hcl;
        hcl.line(format_args!(
            "resource \"google_compute_router\" \"{name}\" {{"
        ));
        hcl.text(attributes, "name", &name);
        hcl.attribute(attributes, "project", &network.project);
        hcl.text(attributes, "region", region);
        let link = format!("module.{}.network_self_link", network.name);
        hcl.attribute(attributes, "network", link);
        hcl.end();
        for nat in self.graph.children_of_kind(id, "ComputeRouterNAT") {
            self.router_nat(network, &name, nat);
        }
    }

    fn router_nat(&mut self, network: &Network, router: &str, id: Id) {
        let attributes = layout(2, 34);
        let text = |field: &str| self.text(id, &["spec", field]);
        let region = text("region");
        let allocation = text("natIpAllocateOption");
        let ranges = text("sourceSubnetworkIpRangesToNat");
        let is_logged = self.flag(id, &["spec", "logConfig", "enable"]);
        let filter = self.text(id, &["spec", "logConfig", "filter"]);
        let address = self.graph.reference(id, "ComputeAddress");
        let address_name = self.address_name(address);
        let name = self.graph.name(id);
        let hcl = &mut self.hcl;
        hcl.line(format_args!(
            "resource \"google_compute_router_nat\" \"{name}\" {{"
        ));
        hcl.text(attributes, "name", &name);
        hcl.attribute(attributes, "project", &network.project);
        let router = format!("google_compute_router.{router}.name");
        hcl.attribute(attributes, "router", router);
        hcl.text(attributes, "region", region);
        hcl.more(" ");
        hcl.text_if_any(attributes, "nat_ip_allocate_option", allocation);
        let addresses = format!("google_compute_address.{address_name}.*.self_link ");
        hcl.attribute(attributes, "nat_ips", addresses);
        hcl.text_if_any(attributes, "source_subnetwork_ip_ranges_to_nat", ranges);
        hcl.blank();
        if is_logged {
            hcl.line("  log_config { ");
            if !filter.is_empty() {
                hcl.line(format_args!("    filter = \"{filter}\" "));
            }
            hcl.line("    enable = true");
            hcl.line("  }");
        }
        hcl.end();
        if let Some(address) = address {
            let attributes = layout(2, 7);
            let region = self.text(address, &["spec", "location"]);
            let hcl = &mut self.hcl;
            hcl.line(format_args!(
                "resource \"google_compute_address\" \"{address_name}\" {{"
            ));
            hcl.attribute(attributes, "project", &network.project);
            hcl.text(attributes, "name", &address_name);
            hcl.text(attributes, "region", region);
            hcl.line("}");
        }
    }

    fn service_connection(&mut self, network: &Network, id: Id) {
        let attributes = layout(2, 23);
        let address = self.graph.reference(id, "ComputeAddress");
        let address_name = self.address_name(address);
        let name = self.graph.name(id);
        let link = format!("module.{}.network_self_link", network.name);
        let hcl = &mut self.hcl;
        hcl.line("# Service Networking for Cloud SQL & other services");
        hcl.line(format_args!(
            "resource \"google_service_networking_connection\" \"{name}\" {{"
        ));
        hcl.attribute(attributes, "network", &link);
        hcl.text(attributes, "service", "servicenetworking.googleapis.com");
        let ranges = format!("[google_compute_global_address.{address_name}.name]");
        hcl.attribute(attributes, "reserved_peering_ranges", ranges);
        hcl.end();
        if let Some(address) = address {
            self.global_address(network, address, &link);
        }
    }

    fn global_address(&mut self, network: &Network, id: Id, link: &str) {
        let attributes = layout(2, 13);
        let text = |field: &str| self.text(id, &["spec", field]);
        let (purpose, type_, address) = (text("purpose"), text("addressType"), text("address"));
        let prefix_length = self.integer(id, &["spec", "prefixLength"]);
        let name = self.graph.name(id);
        let hcl = &mut self.hcl;
        hcl.line(format_args!(
            "resource \"google_compute_global_address\" \"{name}\" {{"
        ));
        hcl.text(attributes, "name", &name);
        hcl.attribute(attributes, "project", &network.project);
        if !purpose.is_empty() {
            hcl.text(attributes, "purpose", purpose);
            hcl.more(" ");
        }
        hcl.text_if_any(attributes, "address_type", type_);
        hcl.text_if_any(attributes, "address", address);
        hcl.number_text_if_any(attributes, "prefix_length", prefix_length);
        hcl.attribute(attributes, "network", link);
        hcl.end();
    }

    fn address_name(&self, address: Option<Id>) -> String {
        let name = address.map(|address| self.graph.name(address));
        name.unwrap_or_else(|| "<no value>".to_owned())
    }

    fn texts(&self, id: Id, field: &str) -> Vec<String> {
        let object = self.graph.entry(id).object;
        object.map_or_else(Vec::new, |object| object.texts(&["spec", field]))
    }
}
