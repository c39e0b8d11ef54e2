//! Files, where a call is one of a file by its very name. Other reads and writes are in `descriptor_io`.

use core::ffi::{c_int, c_uint, c_void};

use evenkeel_wire::ObjectKind;
use libc::{iovec, off_t, size_t, ssize_t};

use super::descriptors::describe;
use super::objects::Object;
use super::switch::table_for_writing as table;
use super::waiting::{Ended, sleeping_for};
use crate::interpose::interpose;

fn at_device<R>(file: c_int, real: impl FnOnce() -> R) -> R {
    if table().is_none() {
        return real();
    }
    let object = |_: &R| {
        let key = describe(file).map_or(0, |found| found.input);
        Object::of(ObjectKind::File, key)
    };
    sleeping_for(real, object, |_| Ended::Woken)
}

interpose! {
    if waits:

    fn fsync(file: c_int) -> c_int = |real| {
        at_device(file, || real(file))
    }

    fn fdatasync(file: c_int) -> c_int = |real| {
        at_device(file, || real(file))
    }

    fn syncfs(file: c_int) -> c_int = |real| {
        at_device(file, || real(file))
    }

    fn sync_file_range(file: c_int, offset: off_t, bytes: off_t, flags: c_uint) -> c_int = |real| {
        at_device(file, || real(file, offset, bytes, flags))
    }

    fn msync(address: *mut c_void, bytes: size_t, flags: c_int) -> c_int = |real| {
        at_device(-1, || real(address, bytes, flags))
    }

    fn pread(file: c_int, buffer: *mut c_void, bytes: size_t, offset: off_t) -> ssize_t = |real| {
        at_device(file, || real(file, buffer, bytes, offset))
    }

    fn pread64(file: c_int, buffer: *mut c_void, bytes: size_t, offset: off_t) -> ssize_t = |real| {
        at_device(file, || real(file, buffer, bytes, offset))
    }

    fn __pread_chk(file: c_int, buffer: *mut c_void, bytes: size_t, offset: off_t, room: size_t) -> ssize_t = |real| {
        at_device(file, || real(file, buffer, bytes, offset, room))
    }

    fn __pread64_chk(file: c_int, buffer: *mut c_void, bytes: size_t, offset: off_t, room: size_t) -> ssize_t = |real| {
        at_device(file, || real(file, buffer, bytes, offset, room))
    }

    fn preadv(file: c_int, parts: *const iovec, count: c_int, offset: off_t) -> ssize_t = |real| {
        at_device(file, || real(file, parts, count, offset))
    }

    fn preadv64(file: c_int, parts: *const iovec, count: c_int, offset: off_t) -> ssize_t = |real| {
        at_device(file, || real(file, parts, count, offset))
    }

    fn pwrite(file: c_int, buffer: *const c_void, bytes: size_t, offset: off_t) -> ssize_t = |real| {
        at_device(file, || real(file, buffer, bytes, offset))
    }

    fn pwrite64(file: c_int, buffer: *const c_void, bytes: size_t, offset: off_t) -> ssize_t = |real| {
        at_device(file, || real(file, buffer, bytes, offset))
    }

    fn pwritev(file: c_int, parts: *const iovec, count: c_int, offset: off_t) -> ssize_t = |real| {
        at_device(file, || real(file, parts, count, offset))
    }

    fn pwritev64(file: c_int, parts: *const iovec, count: c_int, offset: off_t) -> ssize_t = |real| {
        at_device(file, || real(file, parts, count, offset))
    }
}
