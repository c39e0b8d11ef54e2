//! Several recordings in one file: their chunks one after the other, so that nothing is lost and everything can be computed anew.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use crate::chunks::{Chunk, Chunks};
use crate::error::Error;
use crate::progress::Progress;
use crate::read::{KeptWhole, Replayed};
use crate::several::replay_some;
use crate::{MAGIC, VERSION};

/// Writes the recordings of `paths` to one file and returns what they are together. The file is there whole or not at all. `progress`
/// counts what is read.
///
/// # Errors
/// One cannot be read, they are not of the same, or `output` cannot be written.
pub fn merge(paths: &[PathBuf], output: &Path, progress: &Progress) -> Result<Replayed, Error> {
    let target = fs::canonicalize(output).ok();
    for path in paths {
        if target.is_some() && fs::canonicalize(path).ok() == target {
            return Err(Error::MergedIntoItself { path: path.clone() });
        }
    }
    progress.expect(paths);
    let replayed = replay_some(paths, KeptWhole::default(), &|_| true, progress)?;
    let named = |source| Error::File {
        path: output.to_owned(),
        source,
    };
    let mut partial = output.as_os_str().to_owned();
    partial.push(".partial");
    let partial = PathBuf::from(partial);
    let mut options = File::options();
    options.write(true).create(true).truncate(true).mode(0o600);
    let file = options.open(&partial).map_err(named)?;
    let written = write(paths, BufWriter::new(file), output, progress)
        .and_then(|()| fs::rename(&partial, output).map_err(named));
    if let Err(error) = written {
        let _ = fs::remove_file(&partial);
        return Err(error);
    }
    Ok(replayed)
}

fn write(
    paths: &[PathBuf],
    mut file: BufWriter<File>,
    output: &Path,
    progress: &Progress,
) -> Result<(), Error> {
    let named = |source| Error::File {
        path: output.to_owned(),
        source,
    };
    file.write_all(MAGIC).map_err(named)?;
    file.write_all(&VERSION.to_le_bytes()).map_err(named)?;
    file.write_all(&[0; 4]).map_err(named)?;
    for (at, path) in paths.iter().enumerate() {
        if at > 0 {
            put(&mut file, b'J', &[]).map_err(named)?;
        }
        let mut chunks = Chunks::open(path, progress)?;
        while let Chunk::Body(tag, body) = chunks.next()? {
            put(&mut file, tag, &body).map_err(named)?;
        }
    }
    file.flush().map_err(named)
}

fn put(file: &mut impl Write, tag: u8, body: &[u8]) -> std::io::Result<()> {
    file.write_all(&crate::write::chunk_head(tag, body))?;
    file.write_all(body)
}
