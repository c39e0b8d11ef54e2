#!/bin/sh
# Makes an OCI archive with evenkeel and the libraries that it is linked with, from nothing: no registry is asked. scripts/package.sh calls it.
#
#   scripts/package-image.sh PREFIX ARCHIVE     PREFIX: a directory with bin/evenkeel and share, as in the tarball
#
# `podman load -i ARCHIVE` or `skopeo copy oci-archive:ARCHIVE docker-daemon:evenkeel:VERSION` brings it to a machine.
set -eu
prefix=$1
archive=$(realpath -m "$2")
work=$(mktemp -d)
container=""
clean() {
    [ -z "$container" ] || with_buildah rm "$container" >/dev/null
    rm -rf "$work"
}
trap clean EXIT
# Separate storage, which needs no rights to mount.
with_buildah() { buildah --root "$work/store" --runroot "$work/run" --storage-driver vfs "$@"; }

mkdir -p "$work/rootfs/usr" "$work/rootfs/tmp" "$work/rootfs/proc"
cp -a "$prefix/bin" "$prefix/share" "$work/rootfs/usr"
# The loader first; ldd names it by its whole path, and the libraries behind an arrow.
for library in $(ldd "$prefix/bin/evenkeel" | grep -o '/[^ ]*'); do
    mkdir -p "$work/rootfs$(dirname "$library")"
    cp -L "$library" "$work/rootfs$library"
done

container=$(with_buildah from scratch)
with_buildah copy --quiet "$container" "$work/rootfs" / >/dev/null
with_buildah config --entrypoint '["/usr/bin/evenkeel"]' --cmd '["doctor"]' --workingdir /tmp \
    --label org.opencontainers.image.title=evenkeel --label org.opencontainers.image.licenses=Apache-2.0 \
    --label org.opencontainers.image.version="${VERSION:-0}" "$container"
rm -f "$archive"
with_buildah commit --quiet --rm --disable-compression=false "$container" "oci-archive:$archive:evenkeel:${VERSION:-0}" >/dev/null
container=""
