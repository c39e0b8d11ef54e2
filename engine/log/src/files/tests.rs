//! A stream's files, as the flusher and a leader make them at the same time.

use evenkeel_disk::faults::FaultDisk;

use super::*;

/// Writes a batch of one block; whether to a new file.
fn write(files: &mut StreamFiles, index: u64) -> bool {
    let batch = Batch {
        index,
        first: Lsn(index),
        last: Lsn(index),
        needs: &NONE,
        durable: &NONE,
        payload: &[0; 400],
    };
    files.write(&batch, 512).unwrap().new_file
}

/// While the flusher prepares a file, a leader that needs one does not take that.
#[test]
fn a_leader_leaves_alone_what_the_flusher_is_preparing() {
    let directory = FaultDisk::new().root();
    let place = Place {
        directory: directory.clone(),
        stream: 0,
        streams: 1,
        epoch: 0,
        kept: NONE,
        segment_bytes: FILE_HEADER_BYTES + 1024,
    };
    let nothing = StreamEnd {
        older: Vec::new(),
        spares: Vec::new(),
        number: 0,
        last: Lsn::ZERO,
        tail: None,
    };
    let mut files = StreamFiles::found(place, nothing);
    files.begin_epoch(NONE).unwrap();
    assert!(!write(&mut files, 1));
    assert!(!write(&mut files, 2));
    assert!(files.wants_spare(), "the file is more than half full");
    let place = files.place();
    let name = files.next_prepared_name();
    directory
        .open(&name, Access::Buffered, Create::New)
        .unwrap();
    assert!(write(&mut files, 3), "a new file was begun");
    assert!(directory.list().unwrap().contains(&name));

    // Ready and handed over it is taken.
    place.prepare_spare(&name).unwrap();
    files.add_spares([name.clone()]);
    assert!(!write(&mut files, 4));
    assert!(write(&mut files, 5));
    assert!(!directory.list().unwrap().contains(&name));
    assert_eq!(files.counts(), (3, 0));
}
