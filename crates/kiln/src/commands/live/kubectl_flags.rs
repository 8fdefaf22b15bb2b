//! The flags of kubectl that every command of `kpt live` has. `live init` reads the namespace of a context; nothing is sent to a
//! cluster, so the others are ignored.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use kiln_go::errno_text;
use kiln_yaml::NodeRef;

use crate::compat::Compat;
use crate::environment::{HOME, KUBECONFIG};
use crate::error::CommandError;
use crate::flag_values::go_bool;
use crate::ui::Ui;

#[derive(Args, Debug)]
pub(super) struct KubectlFlags {
    /// Configuration of kubectl
    #[arg(long, global = true, hide = true)]
    kubeconfig: Option<String>,
    /// Context of that configuration. Default: the current one
    #[arg(long, global = true, hide = true)]
    context: Option<String>,
    /// The flag of `live init`, before the command
    #[arg(short, long, global = true, hide = true)]
    namespace: Option<String>,
    #[command(flatten)]
    ignored: IgnoredFlags,
}

/// Flags for the connection to a cluster.
#[derive(Args, Debug)]
struct IgnoredFlags {
    #[arg(long = "as", global = true, hide = true)]
    user_name: Option<String>,
    #[arg(long, global = true, hide = true)]
    as_group: Vec<String>,
    #[arg(long, global = true, hide = true)]
    as_uid: Option<String>,
    #[arg(long, global = true, hide = true)]
    cache_dir: Option<String>,
    #[arg(long, global = true, hide = true)]
    certificate_authority: Option<String>,
    #[arg(long, global = true, hide = true)]
    client_certificate: Option<String>,
    #[arg(long, global = true, hide = true)]
    client_key: Option<String>,
    #[arg(long, global = true, hide = true)]
    cluster: Option<String>,
    #[arg(long, global = true, hide = true, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = go_bool)]
    disable_compression: Option<bool>,
    #[arg(long, global = true, hide = true, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = go_bool)]
    insecure_skip_tls_verify: Option<bool>,
    #[arg(long, global = true, hide = true)]
    request_timeout: Option<String>,
    #[arg(short, long, global = true, hide = true)]
    server: Option<String>,
    #[arg(long, global = true, hide = true)]
    tls_server_name: Option<String>,
    #[arg(long, global = true, hide = true)]
    token: Option<String>,
    #[arg(long, global = true, hide = true)]
    user: Option<String>,
}

impl KubectlFlags {
    /// The namespace of the context. A file or a context that a flag names must exist.
    pub(super) fn context_namespace(&self, ui: &Ui) -> Result<String> {
        let named = self.context.as_deref().filter(|name| !name.is_empty());
        let document = self.configuration(ui)?;
        let root = document.as_ref().map(kiln_yaml::Document::root);
        let current = root.and_then(|root| root.get("current-context")?.as_text());
        let context = named.or(current).and_then(|wanted| {
            let is_wanted = |context: &NodeRef<'_>| {
                context.get("name").and_then(NodeRef::as_text) == Some(wanted)
            };
            root?.get("contexts")?.items().find(is_wanted)
        });
        if let (Some(name), None) = (named, &context) {
            return Err(missing_context(ui, name));
        }
        let namespace = context.and_then(|context| {
            let namespace = context.get_path(&["context", "namespace"])?;
            namespace.as_text()
        });
        let namespace = namespace.filter(|namespace| !namespace.is_empty());
        Ok(namespace.unwrap_or("default").to_owned())
    }

    /// The configuration of kubectl; `None` if there is none.
    fn configuration(&self, ui: &Ui) -> Result<Option<kiln_yaml::Document>> {
        let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let named = self.kubeconfig.as_deref().filter(|file| !file.is_empty());
        let file = match (named, variable(KUBECONFIG), variable(HOME)) {
            (Some(file), _, _) => Some(PathBuf::from(file)),
            (None, Some(files), _) => std::env::split_paths(&files).next(),
            (None, None, Some(home)) => Some(PathBuf::from(home).join(".kube/config")),
            (None, None, None) => None,
        };
        let text = match (file.as_ref().map(std::fs::read), named) {
            (Some(Ok(text)), _) => text,
            (Some(Err(error)), Some(file)) => {
                let text = format!("stat {file}: {}", errno_text(&error));
                return Err(super::typed(ui, &text));
            }
            (Some(Err(_)) | None, _) => return Ok(None),
        };
        Ok(kiln_yaml::parse_first(&text).ok().flatten())
    }
}

fn missing_context(ui: &Ui, name: &str) -> anyhow::Error {
    match ui.compat() {
        Compat::Kiln => {
            let error = super::typed(ui, &format!("there is no context {name:?}"));
            let hint = "`kubectl config get-contexts` lists the contexts";
            CommandError::with_hint(error, hint).into()
        }
        Compat::Kpt | Compat::KptV039 => super::typed(
            ui,
            &format!("invalid configuration: context was not found for specified context: {name}"),
        ),
    }
}
