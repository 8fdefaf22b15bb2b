//! Archives with entries that no proper program would write.
//!
//! The tests of layers and those of the command line use this file too.

/// An entry: path, kind, mode, and content or target.
pub(crate) type Entry<'a> = (&'a str, tar::EntryType, u32, &'a str);

/// The archive, whatever its entries are.
pub(crate) fn archive(entries: &[Entry<'_>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (path, kind, mode, content) in entries {
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(*kind);
        header.set_mode(*mode);
        let is_link = matches!(kind, tar::EntryType::Symlink | tar::EntryType::Link);
        let size = if is_link { 0 } else { content.len() };
        header.set_size(size as u64);
        header.as_mut_bytes()[..path.len()].copy_from_slice(path.as_bytes());
        if is_link {
            header.as_mut_bytes()[157..157 + content.len()].copy_from_slice(content.as_bytes());
        }
        header.set_cksum();
        bytes.extend_from_slice(header.as_bytes());
        bytes.extend_from_slice(&content.as_bytes()[..size]);
        bytes.resize(bytes.len().next_multiple_of(512), 0);
    }
    bytes.resize(bytes.len() + 1024, 0);
    bytes
}

pub(crate) fn file<'a>(path: &'a str, content: &'a str) -> Entry<'a> {
    (path, tar::EntryType::Regular, 0o644, content)
}
