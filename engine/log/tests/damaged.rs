//! Damaged and foreign files: opening and scanning report them, never panic, and do not change a file that cannot be
//! opened.

use std::sync::Arc;

use evenkeel_disk::faults::FaultDisk;
use evenkeel_disk::{Access, Create};
use evenkeel_log::{Depends, FlushPolicy, Log, LogError, LogSettings, Lsn, NewRecord, Recovered};
use proptest::prelude::*;

fn open(disk: &FaultDisk) -> Result<(Arc<Log>, Recovered), LogError> {
    let settings = LogSettings {
        policy: FlushPolicy::EagerFlush,
        block_bytes: 512,
        segment_bytes: 8 << 10,
        flusher: false,
        ..LogSettings::default()
    };
    Log::open(vec![disk.root(), disk.root()], settings)
}

const RECORDS: u64 = 60;

fn payload(lsn: u64) -> Vec<u8> {
    vec![lsn as u8; 20 + (lsn % 7) as usize * 100]
}

/// A log with several files in two streams.
fn written() -> FaultDisk {
    let disk = FaultDisk::new();
    let (log, _) = open(&disk).unwrap();
    let mut prev = Lsn::ZERO;
    for number in 1..=RECORDS {
        let record = NewRecord {
            txn: 1,
            prev,
            kind: 1,
            depends: Depends::On(&[]),
            payload: &payload(number),
        };
        prev = log.append(&record).unwrap();
        assert_eq!(prev, Lsn(number));
        if number.is_multiple_of(3) {
            log.commit(prev).unwrap();
        }
    }
    log.close().unwrap();
    drop(log);
    disk
}

/// Opens and scans. What is yielded was written; what cannot be opened is as before.
fn look(disk: &FaultDisk) -> Result<(), TestCaseError> {
    let before = disk.contents();
    let recovered = match open(disk) {
        Ok((_, recovered)) => recovered,
        Err(error) => {
            prop_assert!(!error.to_string().is_empty());
            prop_assert!(
                disk.contents() == before,
                "changed though it was refused: {}",
                error
            );
            return Ok(());
        }
    };
    let Ok(scan) = recovered.scan(Lsn(1)) else {
        return Ok(());
    };
    for record in scan {
        let Ok(record) = record else {
            return Ok(());
        };
        prop_assert_eq!(&record.payload[..], &payload(record.lsn.0)[..]);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn damaged_bytes(damage in proptest::collection::vec((any::<prop::sample::Index>(), 0..9000u64, 1u8..), 1..6)) {
        let disk = written();
        let files = disk.files();
        for (file, offset, mask) in damage {
            let (name, len) = file.get(&files);
            disk.damage(name, offset % (*len).max(1), mask);
        }
        look(&disk)?;
    }

    /// A part of a file replaced by anything, or by a part of another file of the log; or the file cut off.
    #[test]
    fn foreign_bytes(
        which in any::<prop::sample::Index>(),
        other in any::<prop::sample::Index>(),
        blocks in (0..16u64, 0..16u64),
        bytes in proptest::option::of(proptest::collection::vec(any::<u8>(), 0..2000)),
        cut in proptest::option::of(0..8192u64),
    ) {
        let disk = written();
        let files = disk.files();
        let (name, len) = which.get(&files);
        let file = disk.root().open(name, Access::Buffered, Create::Never).unwrap();
        let bytes = bytes.unwrap_or_else(|| {
            let from = disk.root().open(&other.get(&files).0, Access::Buffered, Create::Never).unwrap();
            let mut bytes = vec![0; 1024];
            from.read_at(&mut bytes, 512 * blocks.1).unwrap();
            bytes
        });
        file.write_at(&bytes, (512 * blocks.0).min(*len)).unwrap();
        if let Some(cut) = cut {
            file.set_len(cut).unwrap();
        }
        look(&disk)?;
    }

    #[test]
    fn files_of_somebody_else(
        names in proptest::collection::vec("[0-9a-f]{0,3}-?[0-9a-f]{0,17}(\\.log|\\.spare|)", 1..4),
        zeros in prop_oneof![Just(0), 0..10_000usize],
        bytes: Vec<u8>,
    ) {
        let disk = FaultDisk::new();
        let bytes = [vec![0; zeros], bytes].concat();
        for name in names.iter().filter(|name| !name.is_empty()) {
            let file = disk.root().open(name, Access::Buffered, Create::IfMissing).unwrap();
            file.write_at(&bytes, 0).unwrap();
        }
        look(&disk)?;
    }

    /// A spare file is written over: only what is the log's, or has nothing in it.
    #[test]
    fn a_spare_file_of_somebody_else(zeros in 0..10_000usize, bytes in proptest::collection::vec(1u8.., 1..600)) {
        let disk = written();
        let name = "00-prepared-0.spare";
        let file = disk.root().open(name, Access::Buffered, Create::IfMissing).unwrap();
        file.set_len(0).unwrap();
        file.write_at(&[vec![0; zeros], bytes].concat(), 0).unwrap();
        prop_assert!(matches!(open(&disk), Err(LogError::NotALogFile(_))));
        look(&disk)?;
    }
}
