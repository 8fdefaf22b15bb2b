//! Images with busybox as their only program. It has to be static (`busybox-static` in Debian).

use std::path::PathBuf;

use kiln_oci::{Descriptor, ImageLayout, ImageSpec, LayerBuilder, Platform, RunConfig, add_image};

/// The program; `None` if this machine does not have it.
pub(crate) fn static_busybox() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let mut found = std::env::split_paths(&path).map(|directory| directory.join("busybox"));
    let found = found.find(|path| path.is_file())?;
    let bytes = std::fs::read(&found).ok()?;
    // A dynamic program names its loader.
    let is_dynamic = bytes.windows(10).any(|window| window == b"/ld-linux-");
    (!is_dynamic).then_some(found)
}

/// An image that runs one of its commands, with a file that makes it different from others; `None` without the program.
pub(crate) fn busybox_image(words: &[&str], version: &str) -> Option<(ImageLayout, Descriptor)> {
    let busybox = std::fs::read(static_busybox()?).ok()?;
    let layer = LayerBuilder::default()
        .directory("tmp", 0o777)
        .and_then(|layer| layer.file("bin/busybox", 0o755, &busybox))
        .and_then(|layer| layer.file("version", 0o644, version.as_bytes()));
    let mut layer = layer.expect("a layer");
    for applet in ["sh", "cat", "sleep"] {
        let link = layer.link(&format!("bin/{applet}"), "busybox");
        layer = link.expect("a link");
    }
    let mut layout = ImageLayout::default();
    let spec = ImageSpec {
        platform: Platform::this_machine(),
        run: RunConfig {
            entrypoint: words.iter().map(|&word| word.to_owned()).collect(),
            ..RunConfig::default()
        },
        layers: vec![layer.finish().expect("a layer")],
    };
    let root = add_image(&mut layout, spec).expect("an image");
    Some((layout, root))
}
