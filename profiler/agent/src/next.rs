//! The C library's functions behind those that this library defines.
//!
//! All are looked up when the library is loaded: the loader's lock must not be taken in a signal handler. What other
//! libraries' initialisers call earlier is looked up then.

use core::ffi::{CStr, c_char, c_void};
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

use crate::dlsym;

/// The next definition of a function that this library also defines.
#[repr(C)]
pub struct Next {
    /// Ends with a zero.
    name: *const c_char,
    /// Symbol version, where the C library has several functions of this name; null otherwise.
    version: *const c_char,
    address: AtomicUsize,
    /// This library's definition; null without one.
    own: *const (),
    /// Whether the C library's is the first that the program's imports can be bound to.
    is_first: AtomicBool,
}

// SAFETY: the texts are constants.
unsafe impl Sync for Next {}

/// Where a [`Next`] has the function's address; 0: not looked up yet.
#[cfg(target_arch = "x86_64")] // Elsewhere every call goes the long way.
pub const ADDRESS: usize = core::mem::offset_of!(Next, address);

impl Next {
    /// Not looked up yet. Both texts end with a zero; `version` is nothing else where there is but one function.
    pub const fn of(name: &'static str, version: &'static str) -> Next {
        assert!(name.as_bytes()[name.len() - 1] == 0 && version.as_bytes()[version.len() - 1] == 0);
        Next {
            name: name.as_ptr().cast(),
            version: if version.len() == 1 {
                ptr::null()
            } else {
                version.as_ptr().cast()
            },
            address: AtomicUsize::new(0),
            own: ptr::null(),
            is_first: AtomicBool::new(false),
        }
    }

    /// Like [`Next::of`], for a function that this library defines as `own`.
    pub const fn replaced(name: &'static str, version: &'static str, own: *const ()) -> Next {
        Next {
            own,
            ..Next::of(name, version)
        }
    }

    /// Its name.
    pub fn name(&self) -> &'static CStr {
        // SAFETY: a constant that ends with a zero.
        unsafe { CStr::from_ptr(self.name) }
    }

    /// Whether this library defines it, too, and the C library has it.
    pub fn is_replaced(&self) -> bool {
        !self.own.is_null() && self.get() != absent as *const () as usize
    }

    /// Whether the program's imports of this name are the C library's, and not a definition of the program's own.
    /// [`look_up_first`] has to be called before.
    pub fn is_first(&self) -> bool {
        self.is_first.load(Relaxed)
    }

    /// The address of this library's definition.
    pub fn own(&self) -> u64 {
        self.own as u64
    }

    /// Its address.
    #[inline(always)]
    pub fn get(&self) -> usize {
        match self.address.load(Relaxed) {
            0 => self.look_up(),
            address => address,
        }
    }

    /// Past our own `dlsym`, which would take this for the program's looking something up.
    fn find(&self, from: *mut c_void) -> *mut c_void {
        // SAFETY: the C library's function; constant names, and a handle of the loader's.
        unsafe {
            if self.version.is_null() {
                let dlsym: unsafe extern "C" fn(*mut c_void, *const c_char) -> *mut c_void =
                    core::mem::transmute(dlsym::real());
                dlsym(from, self.name)
            } else {
                libc::dlvsym(from, self.name, self.version)
            }
        }
    }

    #[cold]
    fn look_up(&self) -> usize {
        // RTLD_NEXT skips this library.
        let found = self.find(libc::RTLD_NEXT);
        let address = if found.is_null() {
            absent as *const () as usize
        } else {
            found as usize
        };
        self.address.store(address, Relaxed);
        address
    }
}

/// Replaces functions that this C library does not have; no program linked with it calls them.
extern "C" fn absent() -> isize {
    // SAFETY: the C library's per-thread word.
    unsafe { *libc::__errno_location() = libc::ENOSYS };
    -1
}

unsafe extern "C" {
    // The linker's names for the bounds of the section that `interpose` and `next` put their statics into.
    #[link_name = "__start_evenkeel_next"]
    static FIRST: Next;
    #[link_name = "__stop_evenkeel_next"]
    static END: Next;
}

/// Looks up everything.
pub fn look_up_all() {
    for next in all() {
        next.get();
    }
}

/// Learns which of them the program does not define itself ([`Next::is_first`]); of no use where this library comes first. Takes the
/// loader's lock.
pub fn look_up_first() {
    // Not RTLD_DEFAULT, which finds the definitions of the library that asks: this one is linked with -Bsymbolic.
    // SAFETY: no name; the program's scope.
    let program = unsafe { libc::dlopen(ptr::null(), libc::RTLD_LAZY) };
    for next in all() {
        let first = next.find(program) as usize;
        next.is_first.store(first == next.get(), Relaxed);
    }
    if !program.is_null() {
        // SAFETY: opened above; the program stays.
        unsafe { libc::dlclose(program) };
    }
}

/// All of them.
pub fn all() -> impl Iterator<Item = &'static Next> {
    let (first, end) = (&raw const FIRST, &raw const END);
    // SAFETY: the section is an array of `Next`.
    unsafe { core::slice::from_raw_parts(first, end.offset_from_unsigned(first)) }.iter()
}

/// Makes the C library's functions of these names callable, past our own definitions.
macro_rules! next {
    ($($visibility:vis fn $name:ident = $symbol:ident $(@ $version:ident)? ($($arg:ident: $type:ty),* $(,)?) -> $ret:ty;)*) => {$(
        /// The C library's function.
        ///
        /// # Safety
        /// As that function's.
        $visibility unsafe fn $name($($arg: $type),*) -> $ret {
            #[unsafe(link_section = "evenkeel_next")]
            static NEXT: $crate::next::Next =
                $crate::next::Next::of(concat!(stringify!($symbol), "\0"), [$($version,)? "\0"][0]);
            // SAFETY: the function of this name and type; the rest is the caller's.
            unsafe {
                let function: unsafe extern "C" fn($($type),*) -> $ret =
                    core::mem::transmute(NEXT.get());
                function($($arg),*)
            }
        }
    )*};
}

pub(crate) use next;
