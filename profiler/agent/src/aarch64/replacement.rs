//! Entry of a function that replaces one of the C library's. Faults of the agent are not handled on this processor.

use crate::next::Next;

/// Defines a function whose work `$body` does: `extern "C" fn(&Call) -> result`.
macro_rules! define_replacement {
    ($when:ident $(#[$meta:meta])* $name:ident($($arg:ident: $type:ty),*) -> $ret:ty, $next:path, $body:path) => {
        $(#[$meta])*
        pub unsafe extern "C" fn $name($($arg: $type),*) -> $ret {
            let mut arguments = [0u64; $crate::replacement::ARGUMENTS_MAX];
            let mut _words = arguments.iter_mut();
            $(if let Some(word) = _words.next() {
                // SAFETY: an integer or a pointer.
                unsafe { (&raw mut *word).cast::<$type>().write($arg) };
            })*
            $body(&$crate::replacement::Call {
                arguments,
                progress: core::cell::Cell::new($crate::replacement::Progress::Before),
                result: core::cell::Cell::new(0),
                outer: 0,
                next: &$next,
            })
        }
    };
}
pub(crate) use define_replacement;

/// None is left here.
pub fn innermost(_: &libc::ucontext_t) -> Option<u64> {
    None
}

/// See [`innermost`].
///
/// # Safety
/// None.
pub unsafe fn leave(_: &mut libc::ucontext_t, _: u64) -> Option<&'static Next> {
    None
}
