//! `kiln version`

use anyhow::Result;
use clap::Args;
use function_runner::{BuildInfo, newest_functions};
use kiln_wasm::ENGINES;

use crate::compat::Compat;
use crate::error::bail_usage;
use crate::ui::Ui;

#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  kiln version\n  kiln version -o json")]
pub(crate) struct VersionArgs {
    /// Output format: `text` or `json`
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    output: String,
    /// Print only the version
    #[arg(long)]
    short: bool,
}

pub(crate) fn cmd_version(ui: &Ui, args: &VersionArgs) -> Result<()> {
    let build = BuildInfo {
        wasm_engines: ENGINES,
        ..BuildInfo::this()
    };
    let text = match (args.output.as_str(), ui.compat()) {
        _ if args.short => format!("{}\n", build.version),
        ("json", _) => build.to_json("kiln", &newest_functions()),
        ("text", Compat::Kiln) => build.to_text("kiln", &newest_functions()),
        ("text", Compat::Kpt | Compat::KptV039) => {
            format!("Version: {}\nGit commit: {}\n", build.version, build.commit)
        }
        (other, _) => bail_usage!("invalid output format {other:?}; must be text or json"),
    };
    ui.write_data(text.as_bytes())
}
