//! Files that Apache and nginx serve.

use crate::error::ServerError;
use crate::folder::Folder;

/// Files in addition to the index: name and size in bytes. Small ones are written from memory, large ones by
/// `sendfile`.
const FILES: [(&str, usize); 3] = [
    ("1k.txt", 1 << 10),
    ("64k.txt", 64 << 10),
    ("1m.txt", 1 << 20),
];

/// Writes `documents/index.html`, `1k.txt`, `64k.txt` and `1m.txt`.
pub(crate) fn write(folder: &Folder) -> Result<(), ServerError> {
    folder.make("documents")?;
    folder.write(
        "documents/index.html",
        "<!DOCTYPE html><title>Evenkeel</title><p>A private server.\n",
    )?;
    for (name, bytes) in FILES {
        folder.write(&format!("documents/{name}"), text(bytes))?;
    }
    Ok(())
}

/// `bytes` of readable text.
fn text(bytes: usize) -> String {
    "The quick brown fox jumps over the lazy dog.\n"
        .chars()
        .cycle()
        .take(bytes)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_have_the_size_their_name_says() {
        assert_eq!(text(1 << 10).len(), 1 << 10);
    }
}
