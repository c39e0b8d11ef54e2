//! The files that an opened log writes to: those of a new epoch, or the last ones found.

use std::io;
use std::sync::Arc;

use evenkeel_disk::Directory;

use crate::closure::{NONE, Vector};
use crate::ends::StreamEnd;
use crate::files::{Place, StreamFiles};
use crate::recovery::LastEpoch;

/// Files to write to.
pub(crate) struct Begun {
    /// By stream.
    pub files: Vec<StreamFiles>,
    /// Number of batches that each stream has in this epoch already.
    pub batches: Vector,
    /// Whether a batch has to say that those are durable.
    pub is_unmarked: bool,
}

/// Begins a new epoch in new files, if that leaves each stream a spare file. Otherwise an opening that is cut short
/// would have taken the file that the next opening needs for undoing, and no room may be taken before redo has
/// enough. The log then continues the last epoch, if it can.
pub(crate) fn begin_files(
    directories: Vec<Arc<dyn Directory>>,
    last: LastEpoch,
    ends: Vec<StreamEnd>,
    segment_bytes: u64,
) -> io::Result<Begun> {
    let streams = directories.len();
    let (mut files, mut tails) = (Vec::with_capacity(streams), Vec::with_capacity(streams));
    for (stream, (directory, mut end)) in directories.into_iter().zip(ends).enumerate() {
        let place = Place {
            directory,
            stream,
            streams,
            epoch: last.number,
            kept: last.kept_before,
            segment_bytes,
        };
        tails.push(end.tail.take());
        files.push(StreamFiles::found(place, end));
    }
    let few_spares = files.iter().any(StreamFiles::has_no_second_spare);
    if few_spares && last.can_go_on {
        for (files, tail) in files.iter_mut().zip(tails) {
            files.go_on(tail)?;
        }
        return Ok(Begun {
            files,
            batches: last.kept,
            is_unmarked: last.is_unmarked,
        });
    }
    for files in &mut files {
        files.begin_epoch(last.kept)?;
    }
    Ok(Begun {
        files,
        batches: NONE,
        is_unmarked: false,
    })
}
