//! The chunks of a recording, one after the other.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::progress::{Counted, Progress};
use crate::{MAGIC, VERSION};

/// Longest body of a chunk; anything longer is damage.
const BODY_MAX: usize = 1 << 28;

/// A recording, read from its beginning.
pub(crate) struct Chunks {
    path: PathBuf,
    file: BufReader<Counted>,
    /// Where the next chunk begins, in bytes.
    at: u64,
}

/// A chunk as it was found.
pub(crate) enum Chunk {
    Body(u8, Vec<u8>),
    End,
    Cut,
}

impl Chunks {
    /// Opens a recording; what is read of it counts.
    ///
    /// # Errors
    /// The file is no recording, or one of another version.
    pub(crate) fn open(path: &Path, progress: &Progress) -> Result<Chunks, Error> {
        let named = |source| Error::File {
            path: path.to_owned(),
            source,
        };
        let file = Counted {
            file: File::open(path).map_err(named)?,
            progress: progress.clone(),
        };
        let mut file = BufReader::with_capacity(1 << 16, file);
        let mut head = [0; 16];
        if file.read_exact(&mut head).is_err() || &head[..8] != MAGIC {
            return Err(Error::NotARecording {
                path: path.to_owned(),
            });
        }
        let found = u32::from_le_bytes(head[8..12].try_into().expect("four bytes"));
        if found != VERSION {
            return Err(Error::OtherVersion {
                path: path.to_owned(),
                found,
                known: VERSION,
            });
        }
        Ok(Chunks {
            path: path.to_owned(),
            file,
            at: 16,
        })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The next chunk.
    ///
    /// # Errors
    /// It is damaged, or the file cannot be read.
    pub(crate) fn next(&mut self) -> Result<Chunk, Error> {
        let mut head = [0; 9];
        match self.fill(&mut head)? {
            0 => return Ok(Chunk::End),
            9 => {}
            _ => return Ok(Chunk::Cut),
        }
        let len = u32::from_le_bytes(head[1..5].try_into().expect("four bytes")) as usize;
        if len > BODY_MAX {
            return Err(self.damaged("a chunk of impossible length"));
        }
        let mut body = vec![0; len];
        if self.fill(&mut body)? != len {
            return Ok(Chunk::Cut);
        }
        let mut crc = crc32fast::Hasher::new();
        crc.update(&head[..1]);
        crc.update(&body);
        if crc.finalize().to_le_bytes() != head[5..] {
            return Err(self.damaged("a checksum does not match"));
        }
        self.at += 9 + len as u64;
        Ok(Chunk::Body(head[0], body))
    }

    /// Reads until `buffer` is full or the file ends.
    fn fill(&mut self, buffer: &mut [u8]) -> Result<usize, Error> {
        let mut read = 0;
        while read < buffer.len() {
            match self.file.read(&mut buffer[read..]) {
                Ok(0) => break,
                Ok(more) => read += more,
                Err(source) => {
                    return Err(Error::File {
                        path: self.path.clone(),
                        source,
                    });
                }
            }
        }
        Ok(read)
    }

    /// The defect of the chunk read last, or of the next one.
    pub(crate) fn damaged(&self, what: &str) -> Error {
        Error::DamagedRecording {
            path: self.path.clone(),
            at: self.at,
            what: what.to_owned(),
        }
    }
}
