//! A release: told before it happens, where somebody may be waiting.

use evenkeel_patch::x86_64::clock::now_ticks;

use super::groups::{self, keeping_errno};
use super::objects::Object;
use super::switch::{Table, table_for_writing};

/// Runs `real`, which releases or signals `object`. Where nobody waits, before and after, that is all.
#[inline(always)]
pub fn releasing<R>(table: Table, object: Object, real: impl FnOnce() -> R) -> R {
    let slot = object.slot(table);
    let before = slot.state();
    if before.is_waited_for() {
        tell(object, now_ticks());
        return real();
    }
    let result = real();
    if slot.state() != before {
        tell(object, slot.announced_ticks());
    }
    result
}

/// Tells that `object` is about to be released if somebody waits.
#[inline(always)]
pub fn tell_if_waited_for(table: Table, object: Object) {
    if object.slot(table).any() {
        tell(object, now_ticks());
    }
}

/// Tells that `object` is, or was, released at `at`.
#[cold]
#[inline(never)]
pub fn tell(object: Object, at: u64) {
    if table_for_writing().is_some() {
        keeping_errno(|| groups::wake(object.kind, object.key(), at));
    }
}
