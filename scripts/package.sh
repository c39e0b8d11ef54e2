#!/bin/sh
# Makes in target/package what `make package` promises, and says how large it is:
#
#   evenkeel-VERSION-x86_64-linux.tar.gz    for any system
#   evenkeel_VERSION_amd64.deb              Debian, Ubuntu
#   evenkeel-VERSION-1.x86_64.rpm           Fedora, RHEL, openSUSE
#   evenkeel-VERSION-oci.tar                an image for docker, podman, Kubernetes
#
# The programs are linked by zig against the symbols of glibc 2.28, so that they run on RHEL 8, Debian 10 and whatever is newer.
set -eu
glibc=2.28
target=x86_64-unknown-linux-gnu
out=target/package

# zig brings an unwinder; what the agent must be known to is the target's.
EVENKEEL_LIBGCC=$(gcc -print-file-name=libgcc_s.so.1)
export EVENKEEL_LIBGCC
# What runs inside of a target or a server is built as tests build it; only the command is optimised for its size.
PATH="$PWD/target/zig/bin:$PATH"
"$CARGO" zigbuild --release --target "$target.$glibc" -p evenkeel-agent -p evenkeel-servers -p evenkeel-locks-c
"$CARGO" zigbuild --profile small --target "$target.$glibc" -p evenkeel
built=${CARGO_TARGET_DIR:-target}/$target/release
cp "$built/../small/evenkeel" "$built/evenkeel"
for file in evenkeel evenkeel-demo-server libevenkeel_agent.so libevenkeel_locks_c.so; do
    scripts/check-glibc.sh "$glibc" "$built/$file"
done

rm -rf "$out"
name=evenkeel-$VERSION-x86_64-linux
# The directories of a tarball are those of a prefix: unpack it into /usr/local, or anywhere.
make -s install-built BUILT="$built" DESTDIR="$out/$name" PREFIX=
install -m 644 README.md CHANGELOG.md LICENSE -D -t "$out/$name/share/doc/evenkeel"
tar -C "$out" --owner=0 --group=0 --sort=name -czf "$out/$name.tar.gz" "$name"

deb=$out/deb
make -s install-built BUILT="$built" DESTDIR="$deb" PREFIX=/usr LIBDIR=/usr/lib/x86_64-linux-gnu
# Where Debian's zsh looks.
mkdir -p "$deb/usr/share/zsh/vendor-completions"
mv "$deb/usr/share/zsh/site-functions/_evenkeel" "$deb/usr/share/zsh/vendor-completions"
rmdir "$deb/usr/share/zsh/site-functions"
gzip -9n "$deb"/usr/share/man/man1/*.1
install -m 644 LICENSE -D "$deb/usr/share/doc/evenkeel/copyright"
gzip -9nc CHANGELOG.md >"$deb/usr/share/doc/evenkeel/changelog.gz"
mkdir "$deb/DEBIAN"
echo "activate-noawait ldconfig" >"$deb/DEBIAN/triggers"
cat >"$deb/DEBIAN/control" <<END
Package: evenkeel
Version: $VERSION
Architecture: amd64
Maintainer: The Evenkeel developers <evenkeel@localhost>
Section: utils
Priority: optional
Depends: libc6 (>= $glibc), libgcc-s1 | libgcc1
Suggests: debuginfod
Installed-Size: $(du -sk --exclude=DEBIAN "$deb" | cut -f1)
Description: finds why the latency of a server varies, and proves what helps
 Evenkeel profiles the variance of a running server's latency: which functions
 and call sites make it vary, and whom they wait for, in an unmodified binary.
 With it comes a lock manager for C programs, libevenkeel_locks.
END
dpkg-deb --root-owner-group --build "$deb" "$out/evenkeel_${VERSION}_amd64.deb" >/dev/null

scripts/package-rpm.sh "$built" "$out"
scripts/package-image.sh "$out/$name" "$out/evenkeel-$VERSION-oci.tar"
rm -rf "$deb" "${out:?}/$name"
ls -l "$out"
