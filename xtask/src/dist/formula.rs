//! A formula of Homebrew: the archives on Linux, a build from the sources elsewhere.

/// An archive of the release and its checksum.
pub(super) struct FormulaSource<'a> {
    pub(super) name: &'a str,
    pub(super) sha256: &'a str,
}

/// The formula. `archives` have the words of Homebrew for their processor (`intel`, `arm`).
pub(super) fn formula(
    version: &str,
    releases: &str,
    sources: &FormulaSource<'_>,
    archives: &[(&str, FormulaSource<'_>)],
) -> String {
    let location = |source: &FormulaSource<'_>, indent: &str| {
        let FormulaSource { name, sha256 } = source;
        format!(
            "{indent}url \"{releases}/v{version}/{name}\"\n\
             {indent}sha256 \"{sha256}\"\n"
        )
    };
    let archives: String = archives
        .iter()
        .map(|(processor, source)| {
            let location = location(source, "      ");
            format!("    on_{processor} do\n{location}    end\n")
        })
        .collect();
    let sources = location(sources, "    ");
    format!(
        r##"# Written by `cargo xtask dist`.
class Kiln < Formula
  desc "Run KRM functions on packages of Kubernetes resources"
  homepage "{releases}"
  version "{version}"
  license "Apache-2.0"

  on_macos do
{sources}    depends_on "rust" => :build
  end
  on_linux do
{archives}  end

  def install
    if OS.mac?
      system "cargo", "install", *std_cargo_args(path: "crates/kiln")
      generate_completions_from_executable(bin/"kiln", "completion")
      system bin/"kiln", "manual", buildpath/"manual"
      man1.install Dir["manual/*.1"]
    else
      bin.install Dir["bin/*"]
      man1.install Dir["share/man/man1/*.1"]
      bash_completion.install "share/bash-completion/completions/kiln"
      fish_completion.install "share/fish/vendor_completions.d/kiln.fish"
      zsh_completion.install "share/zsh/site-functions/_kiln"
    end
  end

  test do
    assert_match version.to_s, shell_output("#{{bin}}/kiln version")
  end
end
"##
    )
}
