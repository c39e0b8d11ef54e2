//! The C interface of the lock manager, declared in `include/evenkeel_locks.h`.
//!
//! Objects are 64-bit numbers: a C caller hashes or packs its own identifiers. Every function checks its pointers and
//! enumerations; no panic crosses the boundary, because the workspace aborts on panics.
//!
//! ```c
//! #include <evenkeel_locks.h>
//!
//! evk_config config = {EVK_CONFIG_INIT, .schedule = "ldsf"};
//! evk_locks *locks = evk_locks_new(&config);
//! evk_txn *txn = evk_txn_begin(locks, 0, 0);
//! evk_status status = evk_lock(txn, 42, EVK_X, EVK_FOREVER);
//! evk_txn_end(txn); // releases everything
//! evk_locks_free(locks);
//! ```
//!
//! | what | functions |
//! |---|---|
//! | a lock manager | [`evk_locks_new`], [`evk_config_error`], [`evk_locks_set_schedule`], [`evk_locks_locked_objects`], [`evk_locks_waiting`], [`evk_locks_free`] |
//! | a transaction | [`evk_txn_begin`], [`evk_txn_id`], [`evk_txn_birth_ns`], [`evk_txn_cycle`], [`evk_txn_end`] |
//! | its locks | [`evk_lock`], [`evk_release`], [`evk_release_all`] |
//! | ending its waits from another thread | [`evk_canceller_new`], [`evk_cancel`], [`evk_canceller_free`] |
//!
//! `make install` installs header, shared and static library with a file for `pkg-config`; `examples/kv.c` is a whole
//! program. [`evenkeel_locks`] documents modes, schedules and victims; this crate is only its interface.

use std::ffi::{CStr, c_char, c_int};
use std::time::Duration;

use evenkeel_locks::{
    Canceller, Config, ConfigError, DeadlockPolicy, LockError, LockManager, Mode, ScheduleKind,
    Transaction, TxnOptions, Victim,
};

/// A lock manager (`evk_locks`).
pub struct EvkLocks(LockManager<u64>);

/// A transaction (`evk_txn`).
pub struct EvkTxn {
    txn: Transaction<u64>,
    /// The transactions of the last deadlock, in order.
    cycle: Vec<u64>,
}

/// A handle that ends a transaction's waits from another thread (`evk_canceller`).
pub struct EvkCanceller(Canceller<u64>);

/// `enum evk_status`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub enum EvkStatus {
    /// Granted.
    Ok = 0,
    /// A victim of a deadlock; see `evk_txn_cycle`.
    Deadlock = 1,
    /// Another holder of the same object upgrades too.
    UpgradeConflict = 2,
    /// Not granted in time.
    Timeout = 3,
    /// Cancelled from another thread.
    Cancelled = 4,
    /// Not granted at once.
    WouldBlock = 5,
    /// Wait-die: an older transaction is in the way.
    Died = 6,
    /// Wound-wait: an older transaction waits for this one.
    Wounded = 7,
    /// The transaction holds as many locks as one may.
    TooManyLocks = 8,
    /// A null pointer, or a value outside its enumeration.
    Invalid = 9,
}

/// `struct evk_config`. Zero in a field means its default, but for the size.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct EvkConfig {
    /// `sizeof(evk_config)` when the caller was compiled. Fields are only ever added at the end; those that the caller does
    /// not have are at their defaults.
    pub size: usize,
    /// Name of the schedule (`"ldsf"`, `"bldsf:f4"`, ...); null for LDSF.
    pub schedule: *const c_char,
    /// `enum evk_deadlocks`.
    pub deadlocks: c_int,
    /// Parts of the table locked separately.
    pub shards: u32,
    /// Locks one transaction may hold.
    pub locks_max: u64,
}

/// Name of the schedule used where none is given.
const DEFAULT_SCHEDULE: &str = "ldsf";

/// No version of [`EvkConfig`] will have more: a size beyond is a field that was not set.
const CONFIG_BYTES_MAX: usize = 4096;
/// Bytes of the first version of [`EvkConfig`].
const FIRST_CONFIG_BYTES: usize = size_of::<EvkConfig>();

/// A configuration with every field at its default.
const DEFAULTS: EvkConfig = EvkConfig {
    size: size_of::<EvkConfig>(),
    schedule: std::ptr::null(),
    deadlocks: 0,
    shards: 0,
    locks_max: 0,
};

/// Makes a lock manager; null if the configuration is invalid. A null configuration is the default one.
///
/// # Safety
/// `config` is null or points to a configuration of as many bytes as its `size` says, whose `schedule` is null or a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn evk_locks_new(config: *const EvkConfig) -> *mut EvkLocks {
    // SAFETY: the caller's promise.
    match unsafe { read(config).and_then(|config| parse(&config)) } {
        Ok(config) => Box::into_raw(Box::new(EvkLocks(LockManager::new(config)))),
        Err(_) => std::ptr::null_mut(),
    }
}

/// Says why [`evk_locks_new`] refuses a configuration: a text that lives for ever; null if it accepts it.
///
/// # Safety
/// As for [`evk_locks_new`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn evk_config_error(config: *const EvkConfig) -> *const c_char {
    // SAFETY: the caller's promise.
    match unsafe { read(config).and_then(|config| parse(&config)) } {
        Ok(_) => std::ptr::null(),
        Err(why) => why.as_ptr(),
    }
}

/// The caller's configuration, the fields it does not have at their defaults.
///
/// # Safety
/// `config` is null or points to as many bytes as its `size` says.
unsafe fn read(config: *const EvkConfig) -> Result<EvkConfig, &'static CStr> {
    if config.is_null() {
        return Ok(DEFAULTS);
    }
    // SAFETY: `size` is the first field.
    let size = unsafe { config.cast::<usize>().read() };
    if size < FIRST_CONFIG_BYTES {
        return Err(c"size is too small: set it to sizeof(evk_config)");
    }
    if size > CONFIG_BYTES_MAX {
        return Err(c"size is too large: set it to sizeof(evk_config)");
    }
    // SAFETY: the caller's promise.
    let bytes = unsafe { std::slice::from_raw_parts(config.cast::<u8>(), size) };
    let (known, unknown) = bytes.split_at(size_of::<EvkConfig>().min(size));
    if unknown.iter().any(|&byte| byte != 0) {
        return Err(c"the program sets fields that this version of the library does not have: use a newer one");
    }
    let mut read = DEFAULTS;
    // SAFETY: plain numbers and a pointer, for which any bytes of the caller's are valid.
    unsafe {
        let into = (&raw mut read).cast::<u8>();
        std::ptr::copy_nonoverlapping(known.as_ptr(), into, known.len());
    }
    Ok(read)
}

/// # Safety
/// `config.schedule` is null or a C string.
unsafe fn parse(config: &EvkConfig) -> Result<Config, &'static CStr> {
    let unknown = c"there is no schedule of this name";
    let name = match config.schedule.is_null() {
        // SAFETY: the caller's promise.
        false => unsafe { CStr::from_ptr(config.schedule) }
            .to_str()
            .map_err(|_| unknown)?,
        true => DEFAULT_SCHEDULE,
    };
    let mut parsed = Config::new(ScheduleKind::from_name(name).ok_or(unknown)?);
    parsed.rules.deadlocks = match config.deadlocks {
        0 => DeadlockPolicy::Detect(Victim::Youngest),
        1 => DeadlockPolicy::Detect(Victim::FewestLocks),
        2 => DeadlockPolicy::Detect(Victim::SmallestDependencySet),
        3 => DeadlockPolicy::WaitDie,
        4 => DeadlockPolicy::WoundWait,
        5 => DeadlockPolicy::NoWait,
        _ => return Err(c"deadlocks is none of enum evk_deadlocks"),
    };
    if config.shards > 0 {
        parsed.shards = config.shards as usize;
    }
    if config.locks_max > 0 {
        parsed.locks_max = usize::try_from(config.locks_max).unwrap_or(usize::MAX);
    }
    match parsed.check() {
        Ok(()) => Ok(parsed),
        Err(ConfigError::Shards { .. }) => Err(c"more shards than EVK_SHARDS_MAX"),
        Err(ConfigError::LocksMax { .. }) => Err(c"locks_max is more than EVK_LOCKS_MAX"),
        Err(ConfigError::Ageing { .. }) => Err(c"the schedule's ageing rule is no finite number"),
    }
}

/// Frees a lock manager. Its transactions may outlive it.
///
/// # Safety
/// `locks` is null or came from [`evk_locks_new`] and is not used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn evk_locks_free(locks: *mut EvkLocks) {
    if !locks.is_null() {
        // SAFETY: the caller's promise.
        drop(unsafe { Box::from_raw(locks) });
    }
}

/// Grants by the schedule of this name from now on, while transactions hold and wait; 0 if no schedule has this name,
/// and nothing changes.
///
/// # Safety
/// `locks` is null or a live lock manager; `schedule` is null or a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn evk_locks_set_schedule(
    locks: *const EvkLocks,
    schedule: *const c_char,
) -> c_int {
    // SAFETY: the caller's promise.
    let (Some(locks), false) = (unsafe { locks.as_ref() }, schedule.is_null()) else {
        return 0;
    };
    // SAFETY: the caller's promise.
    let name = unsafe { CStr::from_ptr(schedule) }.to_str();
    let Some(schedule) = name.ok().and_then(ScheduleKind::from_name) else {
        return 0;
    };
    locks.0.set_schedule(schedule);
    1
}

/// Number of objects locked now.
///
/// # Safety
/// `locks` is null or a live lock manager.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn evk_locks_locked_objects(locks: *const EvkLocks) -> u64 {
    // SAFETY: the caller's promise.
    unsafe { locks.as_ref() }.map_or(0, |locks| locks.0.locked_objects() as u64)
}

/// Number of transactions that wait now.
///
/// # Safety
/// `locks` is null or a live lock manager.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn evk_locks_waiting(locks: *const EvkLocks) -> u64 {
    // SAFETY: the caller's promise.
    unsafe { locks.as_ref() }.map_or(0, |locks| locks.0.wait_for_graph().len() as u64)
}

/// Begins a transaction of `class`. `birth_ns` is zero, or [`evk_txn_birth_ns`] of the transaction this one retries.
///
/// # Safety
/// `locks` is null or a live lock manager.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn evk_txn_begin(
    locks: *const EvkLocks,
    class: u32,
    birth_ns: u64,
) -> *mut EvkTxn {
    // SAFETY: the caller's promise.
    let Some(locks) = (unsafe { locks.as_ref() }) else {
        return std::ptr::null_mut();
    };
    let birth_ns = (birth_ns > 0).then_some(birth_ns);
    let txn = locks.0.begin_with(TxnOptions {
        class,
        birth_ns,
        ..TxnOptions::default()
    });
    Box::into_raw(Box::new(EvkTxn {
        txn,
        cycle: Vec::new(),
    }))
}

/// Ends a transaction: releases its locks and frees it.
///
/// # Safety
/// `txn` is null or came from [`evk_txn_begin`] and is not used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn evk_txn_end(txn: *mut EvkTxn) {
    if !txn.is_null() {
        // SAFETY: the caller's promise.
        drop(unsafe { Box::from_raw(txn) });
    }
}

/// Identity of a transaction; zero of null.
///
/// # Safety
/// `txn` is null or a live transaction.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn evk_txn_id(txn: *const EvkTxn) -> u64 {
    // SAFETY: the caller's promise.
    unsafe { txn.as_ref() }.map_or(0, |txn| txn.txn.id().0)
}

/// Birth of a transaction, for its retry; zero of null.
///
/// # Safety
/// `txn` is null or a live transaction.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn evk_txn_birth_ns(txn: *const EvkTxn) -> u64 {
    // SAFETY: the caller's promise.
    unsafe { txn.as_ref() }.map_or(0, |txn| txn.txn.birth_ns())
}

/// Locks `object` in `mode`. `timeout_ns` is 0 to try once, `UINT64_MAX` to wait as long as it takes.
///
/// # Safety
/// `txn` is null or a live transaction used by no other thread at the same time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn evk_lock(
    txn: *mut EvkTxn,
    object: u64,
    mode: c_int,
    timeout_ns: u64,
) -> EvkStatus {
    // SAFETY: the caller's promise.
    let txn = unsafe { txn.as_mut() };
    let mode = usize::try_from(mode).ok().and_then(Mode::from_index);
    let (Some(txn), Some(mode)) = (txn, mode) else {
        return EvkStatus::Invalid;
    };
    let outcome = match timeout_ns {
        0 => txn.txn.try_lock(&object, mode),
        u64::MAX => txn.txn.lock(&object, mode),
        _ => txn
            .txn
            .lock_timeout(&object, mode, Duration::from_nanos(timeout_ns)),
    };
    let Err(error) = outcome else {
        return EvkStatus::Ok;
    };
    match error {
        LockError::Deadlock { cycle } => {
            txn.cycle = cycle.into_iter().map(|member| member.0).collect();
            EvkStatus::Deadlock
        }
        LockError::UpgradeConflict { .. } => EvkStatus::UpgradeConflict,
        LockError::Timeout => EvkStatus::Timeout,
        LockError::Cancelled => EvkStatus::Cancelled,
        LockError::WouldBlock => EvkStatus::WouldBlock,
        LockError::Died { .. } => EvkStatus::Died,
        LockError::Wounded { .. } => EvkStatus::Wounded,
        LockError::TooManyLocks { .. } => EvkStatus::TooManyLocks,
    }
}

/// Copies the transactions of the last deadlock into `ids`, at most `ids_max`; returns how many there are.
///
/// # Safety
/// `txn` is null or a live transaction; `ids` is null or has room for `ids_max` numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn evk_txn_cycle(txn: *const EvkTxn, ids: *mut u64, ids_max: usize) -> usize {
    // SAFETY: the caller's promise.
    let Some(txn) = (unsafe { txn.as_ref() }) else {
        return 0;
    };
    if !ids.is_null() {
        let count = txn.cycle.len().min(ids_max);
        // SAFETY: the caller's promise; a vector does not overlap the caller's array.
        unsafe { std::ptr::copy_nonoverlapping(txn.cycle.as_ptr(), ids, count) };
    }
    txn.cycle.len()
}

/// Releases the lock on one object early (read committed); 1 if one was held.
///
/// # Safety
/// `txn` is null or a live transaction used by no other thread at the same time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn evk_release(txn: *mut EvkTxn, object: u64) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { txn.as_mut() }.map_or(0, |txn| c_int::from(txn.txn.release(&object)))
}

/// Releases every lock of a transaction, which may go on.
///
/// # Safety
/// `txn` is null or a live transaction used by no other thread at the same time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn evk_release_all(txn: *mut EvkTxn) {
    // SAFETY: the caller's promise.
    if let Some(txn) = unsafe { txn.as_mut() } {
        txn.txn.release_all();
    }
}

/// A handle to cancel a transaction; may outlive it.
///
/// # Safety
/// `txn` is null or a live transaction.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn evk_canceller_new(txn: *const EvkTxn) -> *mut EvkCanceller {
    // SAFETY: the caller's promise.
    match unsafe { txn.as_ref() } {
        Some(txn) => Box::into_raw(Box::new(EvkCanceller(txn.txn.canceller()))),
        None => std::ptr::null_mut(),
    }
}

/// Ends the wait of the transaction and refuses all its further requests.
///
/// # Safety
/// `canceller` is null or live.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn evk_cancel(canceller: *const EvkCanceller) {
    // SAFETY: the caller's promise.
    if let Some(canceller) = unsafe { canceller.as_ref() } {
        canceller.0.cancel();
    }
}

/// Frees a canceller.
///
/// # Safety
/// `canceller` is null or came from [`evk_canceller_new`] and is not used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn evk_canceller_free(canceller: *mut EvkCanceller) {
    if !canceller.is_null() {
        // SAFETY: the caller's promise.
        drop(unsafe { Box::from_raw(canceller) });
    }
}
