//! Functions whose calls must not be redirected, by name. Lists are separated by spaces.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::unpatchable::Unpatchable;

/// These functions return into a frame that has continued in between, or run on the stack of their caller twice.
const RETURN_TWICE: &[&str] = &[
    "setjmp _setjmp __setjmp sigsetjmp __sigsetjmp savectx getcontext __getcontext swapcontext __swapcontext",
    "vfork __vfork __libc_vfork",
];

/// They decide by their return address, or expect other registers to be kept than a function may change.
const CALLER_SENSITIVE: &[&str] = &[
    "dlopen dlmopen dlsym dlvsym __libc_dlopen_mode __libc_dlsym __tls_get_addr ___tls_get_addr mcount _mcount",
    "__mcount __fentry__ __cyg_profile_func_enter __cyg_profile_func_exit _Unwind_RaiseException",
    "_Unwind_ForcedUnwind",
    // Of an unwinder that is linked into the program: it begins at its own return address.
    "uw_init_context_1 uw_install_context_1",
];

/// A trampoline would wait for their return for ever.
const NEVER_RETURN: &[&str] = &[
    "longjmp _longjmp siglongjmp __longjmp_chk ____longjmp_chk __libc_longjmp __libc_siglongjmp setcontext exit",
    "_exit _Exit quick_exit abort __libc_start_main __assert __assert_fail __assert_perror_fail __stack_chk_fail",
    "__stack_chk_fail_local __chk_fail __fortify_fail __libc_fatal pthread_exit __pthread_exit thrd_exit err errx",
    "verr verrx __cxa_throw __cxa_rethrow __cxa_bad_cast __cxa_bad_typeid __cxa_throw_bad_array_new_length",
    "__cxa_throw_bad_array_length __cxa_call_unexpected __cxa_call_terminate __cxa_pure_virtual",
    "__cxa_deleted_virtual __clang_call_terminate _Unwind_Resume _Unwind_Resume_or_Rethrow _ZSt9terminatev",
    "_ZSt10unexpectedv _ZSt17rethrow_exceptionNSt15__exception_ptr13exception_ptrE",
];

static RULES: LazyLock<HashMap<&str, Unpatchable>> = LazyLock::new(|| {
    let rules = [
        (RETURN_TWICE, Unpatchable::ReturnsTwice),
        (CALLER_SENSITIVE, Unpatchable::CallerSensitive),
        (NEVER_RETURN, Unpatchable::NeverReturns),
    ];
    let names = rules.into_iter().flat_map(|(names, why)| {
        let names = names.iter().flat_map(|names| names.split(' '));
        names.map(move |name| (name, why))
    });
    names.collect()
});

/// Why a call of the function of this name (mangled, without version) must be left alone.
pub(crate) fn of(name: &str) -> Option<Unpatchable> {
    let throws = || is_standard_throw(name).then_some(Unpatchable::NeverReturns);
    RULES.get(name).copied().or_else(throws)
}

/// `std::__throw_length_error(char const*)` and its kin: `_ZSt`, a length, `__throw_`.
fn is_standard_throw(name: &str) -> bool {
    let Some(rest) = name.strip_prefix("_ZSt") else {
        return false;
    };
    rest.trim_start_matches(|c: char| c.is_ascii_digit())
        .starts_with("__throw_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_apply_to_whole_names() {
        assert_eq!(of("_setjmp"), Some(Unpatchable::ReturnsTwice));
        assert_eq!(of("dlsym"), Some(Unpatchable::CallerSensitive));
        assert_eq!(
            of("_ZSt20__throw_length_errorPKc"),
            Some(Unpatchable::NeverReturns)
        );
        assert_eq!(of("exit_hook"), None);
        assert_eq!(of(""), None);
    }
}
