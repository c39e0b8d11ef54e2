#!/bin/sh
# Plants each bug of engine/*/tests/planted, one after the other. Prints which chain of faults of that crate's
# tests/chains.rs finds it, and after how many seconds. For pages, which have no chains, tests/crash.rs must fail.
# Fails if a bug is not found. The sources are restored afterwards.
#
#   scripts/planted-bugs.sh [FIRST_SEED ..]      seeds to begin at (1)
#
# It tries more chains than the tests do, so that what they would miss is seen: EVENKEEL_CHAINS is how many.
set -u
cd "$(dirname "$0")/.." || exit 1
[ $# -gt 0 ] || set -- 1
planted=
# Of two shells that are ended at the same time one does it.
take_out() { [ -z "$planted" ] || patch --silent --strip=1 --forward --reverse --input="$planted" --reject-file=- >/dev/null; }
trap take_out EXIT
trap 'exit 1' INT TERM
missed=0
for patch in engine/*/tests/planted/*.patch; do
    crate=$(echo "$patch" | cut -d / -f 2)
    patch --silent --strip=1 --input="$patch" || exit 1
    planted=$patch
    # Its warnings are the bug's.
    case $crate in
    pages) test=crash ;;
    *) test=chains ;;
    esac
    cargo test --quiet -p "evenkeel-$crate" --test "$test" --no-run 2>/dev/null || exit 1
    if [ "$test" = crash ]; then
        found=$(cargo test --quiet -p evenkeel-pages --test crash 2>&1 | sed -n 's/^---- \(.*\) stdout ----$/by \1/p' | head -n 1)
        [ -n "$found" ] || missed=1
        echo "$crate/$(basename "$patch" .patch): ${found:-NOT FOUND}"
        take_out && planted=
        continue
    fi
    case $crate in
    log) chains=24000 ;;
    *) chains=4800 ;;
    esac
    for seed in "$@"; do
        found=$(EVENKEEL_CHAINS=${EVENKEEL_CHAINS:-$chains} EVENKEEL_CHAINS_SEED=$seed cargo test --quiet -p "evenkeel-$crate" --test chains 2>&1 |
            sed -n 's/^\(chain [0-9]* of [0-9]* fails after [0-9.]* s\).*/\1/p')
        [ -n "$found" ] || missed=1
        echo "$crate/$(basename "$patch" .patch), from seed $seed: ${found:-NOT FOUND}"
    done
    take_out && planted=
done
exit $missed
