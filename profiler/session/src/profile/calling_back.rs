//! Functions of the C library that call functions of the program back: what these do stands below the call of the former.

/// By name (POSIX.1-2024, and what glibc adds).
const CALLING_BACK: [&str; 23] = [
    "bsearch",
    "call_once",
    "dl_iterate_phdr",
    "ftw",
    "ftw64",
    "fts_open",
    "fts_read",
    "glob",
    "glob64",
    "lfind",
    "lsearch",
    "nftw",
    "nftw64",
    "pthread_once",
    "qsort",
    "qsort_r",
    "scandir",
    "scandir64",
    "tdelete",
    "tfind",
    "tsearch",
    "twalk",
    "twalk_r",
];

/// Whether the C library's function of this name calls a function that it is given before it returns.
pub fn calls_back(name: &str) -> bool {
    CALLING_BACK.contains(&name)
}
