//! Files of this machine in the container of a function.

use std::fmt;

/// A mount of a container.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Mount {
    /// `bind`, `volume`, `tmpfs`
    pub kind: String,
    pub source: String,
    pub target: String,
    pub writable: bool,
}

impl Mount {
    /// Parses `type=bind,src=/a,dst=/b,rw=true`. Ignores what it does not know, as kpt does.
    pub fn parse(text: &str) -> Mount {
        let mut mount = Mount::default();
        for (key, value) in text.split(',').filter_map(|option| option.split_once('=')) {
            match key {
                "type" => mount.kind = value.to_owned(),
                "src" | "source" => mount.source = value.to_owned(),
                "dst" | "target" => mount.target = value.to_owned(),
                "rw" => mount.writable = value == "true",
                _ => {}
            }
        }
        mount
    }
}

impl fmt::Display for Mount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mode = if self.writable { "" } else { ",readonly" };
        let Mount {
            kind,
            source,
            target,
            ..
        } = self;
        write!(f, "type={kind},source={source},target={target}{mode}")
    }
}
