//! Damaged and foreign page and double-write files: opening and reading report them, never panic, and never yield
//! another page than was written. A refused file is not changed.

use std::collections::BTreeMap;
use std::sync::Arc;

use evenkeel_disk::faults::FaultDisk;
use evenkeel_disk::{Access, Create};
use evenkeel_log::{LogError, Lsn};
use evenkeel_pages::{LogBarrier, PageError, PageId, Pool, PoolSettings};
use proptest::prelude::*;

struct NoLog;

impl LogBarrier for NoLog {
    fn flush_log_to(&self, _: Lsn) -> Result<(), LogError> {
        Ok(())
    }
}

fn settings() -> PoolSettings {
    PoolSettings {
        frames: 16,
        page_bytes: 4096,
        writer: false,
        ..PoolSettings::default()
    }
}

fn open(disk: &FaultDisk) -> Result<Arc<Pool>, PageError> {
    Pool::open(&*disk.root(), "pages", settings(), Arc::new(NoLog))
}

const PAGES: u64 = 12;

/// Pages whose bytes are their numbers.
fn written() -> FaultDisk {
    let disk = FaultDisk::new();
    let pool = open(&disk).unwrap();
    for number in 0..PAGES {
        let lsn = Lsn(number + 1);
        let mut page = pool.allocate(|_| Ok::<Lsn, PageError>(lsn)).unwrap();
        let byte = page.id().0 as u8;
        page.fill(byte);
        page.mark_dirty(lsn);
    }
    pool.flush_all().unwrap();
    drop(pool);
    disk
}

fn look(disk: &FaultDisk) -> Result<(), TestCaseError> {
    let before = disk.contents();
    let checked = Pool::check_files(&*disk.root(), "pages", &settings());
    prop_assert!(disk.contents() == before, "checking changed something");
    let pool = match open(disk) {
        Ok(pool) => {
            prop_assert!(
                checked.is_ok(),
                "opened, but refused by the check: {:?}",
                checked
            );
            pool
        }
        Err(error) => {
            prop_assert!(!error.to_string().is_empty());
            if checked.is_err() {
                prop_assert!(
                    disk.contents() == before,
                    "changed though it was refused: {}",
                    error
                );
            }
            return Ok(());
        }
    };
    for number in 2..PAGES + 4 {
        if let Ok(page) = pool.read(PageId(number)) {
            prop_assert!(
                page.iter().all(|&byte| byte == number as u8),
                "page {}",
                number
            );
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn damaged_bytes(damage in proptest::collection::vec((any::<bool>(), 0..(14 * 4096u64), 1u8..), 1..8)) {
        let disk = written();
        for (double, offset, mask) in damage {
            disk.damage(if double { "pages.double" } else { "pages" }, offset, mask);
        }
        look(&disk)?;
    }

    /// A part replaced by anything, or by a page from elsewhere; or the file cut off.
    #[test]
    fn foreign_bytes(
        double: bool,
        pages in (0..15u64, 0..15u64),
        bytes in proptest::option::of(proptest::collection::vec(any::<u8>(), 0..6000)),
        cut in proptest::option::of(0..(20 * 4096u64)),
    ) {
        let disk = written();
        let name = if double { "pages.double" } else { "pages" };
        let file = disk.root().open(name, Access::Buffered, Create::Never).unwrap();
        let bytes = bytes.unwrap_or_else(|| {
            let mut page = vec![0; 4096];
            file.read_at(&mut page, 4096 * pages.1).unwrap();
            page
        });
        file.write_at(&bytes, 4096 * pages.0).unwrap();
        if let Some(cut) = cut {
            file.set_len(cut).unwrap();
        }
        look(&disk)?;
    }

    #[test]
    fn a_file_of_somebody_else(
        zeros in prop_oneof![Just(0), 0..20_000usize],
        bytes in proptest::collection::vec(any::<u8>(), 0..20_000),
    ) {
        let bytes = [vec![0; zeros], bytes].concat();
        for name in ["pages", "pages.double"] {
            let disk = FaultDisk::new();
            let file = disk.root().open(name, Access::Buffered, Create::New).unwrap();
            file.write_at(&bytes, 0).unwrap();
            look(&disk)?;
            if bytes.iter().any(|&byte| byte != 0) {
                prop_assert!(disk.contents() == BTreeMap::from([(name.to_owned(), bytes.clone())]), "{} is changed", name);
            }
        }
    }
}
