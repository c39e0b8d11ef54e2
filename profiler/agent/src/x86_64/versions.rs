//! Versions under which the C library of this architecture has functions that it has in several.

use core::ffi::CStr;

/// Version of the functions of condition variables; zero-terminated. The older ones work on a smaller structure.
pub const CONDITIONS: &str = "GLIBC_2.3.2\0";
/// Versions of `dlsym`: in the C library since glibc 2.34, in libdl before.
pub const DLSYM: [&CStr; 2] = [c"GLIBC_2.34", c"GLIBC_2.2.5"];
