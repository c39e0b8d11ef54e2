#!/bin/sh
# Fails if a program or library needs a newer glibc than VERSION, or a symbol of no library that it names.
#
#   scripts/check-glibc.sh VERSION FILE...
set -eu
allowed=$1
shift
for file in "$@"; do
    needed=$(objdump -T "$file" | grep -o 'GLIBC_[0-9][0-9.]*' | sed s/GLIBC_// | sort -uV | tail -n 1)
    [ -n "$needed" ] || { echo "$0: $file asks for no symbol of glibc" >&2; exit 1; }
    if [ "$(printf '%s\n%s\n' "$needed" "$allowed" | sort -V | tail -n 1)" != "$allowed" ]; then
        echo "$0: $file needs glibc $needed, more than $allowed:" >&2
        objdump -T "$file" | grep -F "GLIBC_$needed" >&2
        exit 1
    fi
    lacking=$(nm -D "$file" | sed -n 's/^ *U \([^@]*\)$/\1/p')
    if [ -n "$lacking" ]; then
        echo "$0: $file needs what no library of its defines:" $lacking >&2
        exit 1
    fi
    echo "$file needs glibc $needed"
done
