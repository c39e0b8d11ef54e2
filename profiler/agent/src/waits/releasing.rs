//! a release: recorded before it happens, where somebody may be waiting.

use evenkeel_wire::now_ticks;

use super::groups;
use super::objects::Object;
use super::switch::{Table, table_for_writing};
use crate::errno::keeping_errno;

/// Runs `real`, which releases or signals `object`. Where nobody waits, before and after, that is all.
#[inline(always)]
pub fn releasing<R>(table: Table, object: Object, real: impl FnOnce() -> R) -> R {
    let slot = object.slot(table);
    let before = slot.state();
    if before.is_waited_for() {
        record_release(object, now_ticks());
        return real();
    }
    let result = real();
    if slot.state() != before {
        record_release(object, slot.announced_ticks());
    }
    result
}

/// Records that `object` is about to be released if somebody waits.
#[inline(always)]
pub fn record_if_waited_for(table: Table, object: Object) {
    if object.slot(table).any() {
        record_release(object, now_ticks());
    }
}

/// Records that `object` is, or was, released at `at`.
#[cold]
#[inline(never)]
pub fn record_release(object: Object, at: u64) {
    if table_for_writing().is_some() {
        keeping_errno(|| groups::wake(object.kind, object.key(), at));
    }
}
