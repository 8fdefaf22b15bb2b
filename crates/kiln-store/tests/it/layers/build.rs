//! Builds tar archives byte by byte, also invalid ones.

/// A layer while it is built.
#[derive(Clone, Default)]
pub(crate) struct Layer {
    bytes: Vec<u8>,
}

/// The header of an entry.
#[derive(Clone)]
pub(crate) struct Header<'a> {
    pub(crate) name: &'a [u8],
    pub(crate) kind: u8,
    pub(crate) mode: u32,
    pub(crate) size: u64,
    pub(crate) link: &'a [u8],
    pub(crate) magic: &'a [u8; 8],
}

pub(crate) const USTAR: &[u8; 8] = b"ustar\x0000";
pub(crate) const GNU: &[u8; 8] = b"ustar  \0";

impl Default for Header<'_> {
    fn default() -> Self {
        Header {
            name: b"",
            kind: b'0',
            mode: 0o644,
            size: 0,
            link: b"",
            magic: USTAR,
        }
    }
}

impl Header<'_> {
    pub(crate) fn block(&self) -> [u8; 512] {
        let mut block = [0; 512];
        put(&mut block, 0, &self.name[..self.name.len().min(100)]);
        put(&mut block, 100, format!("{:07o}", self.mode).as_bytes());
        put(&mut block, 108, b"0000000");
        put(&mut block, 116, b"0000000");
        match self.size < 1 << 33 {
            true => put(&mut block, 124, format!("{:011o}", self.size).as_bytes()),
            false => {
                block[124] = 0x80;
                put(&mut block, 128, &self.size.to_be_bytes());
            }
        }
        put(
            &mut block,
            136,
            format!("{:011o}", 1_500_000_000).as_bytes(),
        );
        block[156] = self.kind;
        put(&mut block, 157, &self.link[..self.link.len().min(100)]);
        put(&mut block, 257, self.magic);
        seal(&mut block);
        block
    }
}

pub(crate) fn put(block: &mut [u8; 512], at: usize, bytes: &[u8]) {
    block[at..at + bytes.len()].copy_from_slice(bytes);
}

/// Sets the checksum.
pub(crate) fn seal(block: &mut [u8; 512]) {
    put(block, 148, b"        ");
    let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
    put(block, 148, format!("{sum:06o}\0 ").as_bytes());
}

impl Layer {
    pub(crate) fn raw(mut self, bytes: &[u8]) -> Layer {
        self.bytes.extend_from_slice(bytes);
        self
    }

    /// Adds a header and data, padded to whole blocks.
    pub(crate) fn entry(self, header: &Header<'_>, data: &[u8]) -> Layer {
        let mut layer = self.raw(&header.block()).raw(data);
        let padding = data.len().wrapping_neg() % 512;
        layer.bytes.extend(std::iter::repeat_n(0, padding));
        layer
    }

    pub(crate) fn file_with_mode(self, name: &str, mode: u32, data: &[u8]) -> Layer {
        let header = Header {
            name: name.as_bytes(),
            mode,
            size: data.len() as u64,
            ..Header::default()
        };
        self.entry(&header, data)
    }

    pub(crate) fn file(self, name: &str, data: &str) -> Layer {
        self.file_with_mode(name, 0o644, data.as_bytes())
    }

    pub(crate) fn special(self, name: &str, kind: u8, mode: u32, link: &str) -> Layer {
        let header = Header {
            name: name.as_bytes(),
            kind,
            mode,
            link: link.as_bytes(),
            ..Header::default()
        };
        self.entry(&header, b"")
    }

    pub(crate) fn directory(self, name: &str) -> Layer {
        self.special(name, b'5', 0o755, "")
    }

    pub(crate) fn symlink(self, name: &str, target: &str) -> Layer {
        self.special(name, b'2', 0o777, target)
    }

    pub(crate) fn hard_link(self, name: &str, target: &str) -> Layer {
        self.special(name, b'1', 0o644, target)
    }

    /// Adds a PAX header with records.
    pub(crate) fn pax(self, records: &[(&str, &str)]) -> Layer {
        let mut data = Vec::new();
        for (key, value) in records {
            data.extend(record(key, value.as_bytes()));
        }
        self.pax_data(&data)
    }

    /// Adds a PAX header with any data.
    pub(crate) fn pax_data(self, data: &[u8]) -> Layer {
        let header = Header {
            name: b"pax",
            kind: b'x',
            size: data.len() as u64,
            ..Header::default()
        };
        self.entry(&header, data)
    }

    /// Adds a GNU header with a long name (`L`) or link target (`K`).
    pub(crate) fn long(self, kind: u8, text: &[u8]) -> Layer {
        let data = [text, b"\0"].concat();
        let header = Header {
            name: b"././@LongLink",
            kind,
            size: data.len() as u64,
            magic: GNU,
            ..Header::default()
        };
        self.entry(&header, &data)
    }

    /// The archive with its end.
    pub(crate) fn end(mut self) -> Vec<u8> {
        self.bytes.extend([0; 1024]);
        self.bytes
    }

    /// The archive without its end.
    pub(crate) fn unfinished(self) -> Vec<u8> {
        self.bytes
    }
}

/// A PAX record.
pub(crate) fn record(key: &str, value: &[u8]) -> Vec<u8> {
    let rest = key.len() + value.len() + 3;
    let mut length = rest + 1;
    while length.to_string().len() + rest != length {
        length += 1;
    }
    let mut record = format!("{length} {key}=").into_bytes();
    record.extend_from_slice(value);
    record.push(b'\n');
    record
}
