#!/bin/sh
# Installs the package of `make package` in each of Debian's releases, in separate folders made by debootstrap, and
# profiles the bundled server there. The same file must work on all of them.
#
#   scripts/try-releases.sh [SUITE..]      default: bullseye bookworm trixie sid
#
# Needs root and debootstrap. MIRROR is where the packages come from; by default where this machine's come from.
set -eu

suites="${*:-bullseye bookworm trixie sid}"
package=$(ls target/package/evenkeel_*_amd64.deb 2>/dev/null) || {
    echo "scripts/try-releases.sh: no package in target/package: run \`make package\` first" >&2
    exit 2
}
mirror=${MIRROR:-$(cat /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null |
    grep -oE '^[^#]*https?://[^ ]*/debian/?( |$)' | grep -oE 'https?://[^ ]*' | head -n 1)}
scratch=$(mktemp -d)
trap 'rm -rf --one-file-system "$scratch"' EXIT
trap 'exit 130' INT TERM

# What is tried, inside.
try='set -eu
dpkg -i /evenkeel.deb >/dev/null
mount -t proc proc /proc
evenkeel --version
evenkeel doctor >/tmp/doctor || [ $? -eq 1 ]
cd /tmp && evenkeel demo --bundled --for 10s --html demo.html >demo.txt 2>demo.err || { cat demo.err; exit 1; }
grep -m 1 -A 2 FINDINGS demo.txt
test -s demo.html
ldconfig -p | grep -q libevenkeel_locks.so.0'

failed=
for suite in $suites; do
    root=$scratch/$suite
    if ! debootstrap --variant=minbase "$suite" "$root" "$mirror" >"$scratch/$suite.log" 2>&1; then
        echo "$suite: cannot be had from $mirror: $(tail -n 1 "$scratch/$suite.log")"
        failed=1
        continue
    fi
    cp "$package" "$root/evenkeel.deb"
    libc=$(chroot "$root" dpkg-query -W -f '${Version}' libc6)
    if unshare --mount --pid --fork chroot "$root" sh -c "$try" >"$scratch/$suite.log" 2>&1; then
        echo "$suite (glibc $libc): ok"
        sed 's/^/    /' "$scratch/$suite.log"
    else
        echo "$suite (glibc $libc): FAILED"
        sed 's/^/    /' "$scratch/$suite.log"
        failed=1
    fi
    rm -rf --one-file-system "$root"
done
test -z "$failed"
