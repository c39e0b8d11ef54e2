//! Definitions that replace functions of the C library: each call can be left ([`crate::replacement`]).

/// Defines replacements for functions of the C library: `fn name @ VERSION (arguments) -> result = |real, call| {
/// body }`. `real` is the C library's function and `call` the [`Call`](crate::replacement::Call). The prefix `if
/// waits:` is for functions that only call the C library's while waits are not followed. It is then called directly,
/// because programs that lock often would notice the cost.
macro_rules! interpose {
    (if waits: $($functions:tt)*) => { $crate::interpose::define! { waits $($functions)* } };
    ($($functions:tt)*) => { $crate::interpose::define! { always $($functions)* } };
}

/// See [`interpose`].
macro_rules! define {
    ($when:ident $($(#[$meta:meta])* fn $name:ident $(@ $version:ident)? ($($arg:ident: $type:ty),* $(,)?) -> $ret:ty = |$real:ident $(, $call:ident)?| $body:block)*) => {$(
        const _: () = {
            #[unsafe(link_section = "evenkeel_next")]
            static NEXT: $crate::next::Next =
                $crate::next::Next::replaced(
                    concat!(stringify!($name), "\0"),
                    [$($version,)? "\0"][0],
                    $name as *const (),
                );
            $crate::arch::replacement::define_replacement! {
                $when
                $(#[$meta])*
                /// As the C library's function of this name, which says what callers have to keep.
                #[unsafe(no_mangle)]
                $name($($arg: $type),*) -> $ret, NEXT, work
            }
            #[allow(unused_assignments, unused_mut, unused_variables)]
            extern "C" fn work(call: &$crate::replacement::Call) -> $ret {
                let mut index = 0;
                $(
                    // SAFETY: the argument of this type.
                    let $arg: $type = unsafe { call.argument(index) };
                    index += 1;
                )*
                let $real = |$($arg: $type),*| {
                    // SAFETY: the C library's function of this name and type, called as this one was.
                    call.run(|| unsafe {
                        let function: unsafe extern "C" fn($($type),*) -> $ret =
                            core::mem::transmute(NEXT.get());
                        function($($arg),*)
                    })
                };
                $(let $call = call;)?
                $body
            }
        };
    )*};
}

pub(crate) use {define, interpose};
