#!/bin/sh
# Checks that every crate compiles for 64-bit ARM, where what is missing must answer that it is not supported.
#
# Needs the standard library for that target, which rustup has. No C compiler for it is needed, because a check links
# nothing. Without one the C sources of dependencies (SQLite) are skipped.
set -eu
cd "$(dirname "$0")/.."

TARGET=aarch64-unknown-linux-gnu

fail() {
    echo "scripts/check-aarch64.sh: $*" >&2
    exit 1
}

has_library() {
    ls "$(rustc --print target-libdir --target "$TARGET")"/libcore-*.rmeta >/dev/null 2>&1 ||
        ls "$(rustc --print target-libdir --target "$TARGET")"/libcore-*.rlib >/dev/null 2>&1
}

if ! has_library; then
    command -v rustup >/dev/null 2>&1 ||
        fail "the standard library for $TARGET is missing; install it beside rustc $(rustc --version | cut -d' ' -f2) (Debian: libstd-rust-dev:arm64 of the same version)"
    rustup target add "$TARGET" ||
        fail "the standard library for $TARGET is missing and rustup could not download it; run \`rustup target add $TARGET\` with a connection"
fi

if ! command -v aarch64-linux-gnu-gcc >/dev/null 2>&1; then
    CC_aarch64_unknown_linux_gnu=true
    AR_aarch64_unknown_linux_gnu=true
    export CC_aarch64_unknown_linux_gnu AR_aarch64_unknown_linux_gnu
fi
RUSTFLAGS="-D warnings" exec ${CARGO:-cargo} check --workspace --quiet --target "$TARGET"
