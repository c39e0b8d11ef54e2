#!/bin/sh
# Makes OUT/evenkeel-VERSION-1.x86_64.rpm of what cargo built: scripts/package.sh calls it.
#
#   VERSION=.. scripts/package-rpm.sh BUILT OUT
set -eu
built=$(realpath "$1")
out=$(realpath "$2")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

make -s install-built BUILT="$built" DESTDIR="$work/tree" PREFIX=/usr LIBDIR=/usr/lib64
install -m 644 LICENSE README.md CHANGELOG.md -D -t "$work/tree/usr/share/doc/evenkeel"
gzip -9n "$work"/tree/usr/share/man/man1/*.1

# Nothing is compiled or stripped by rpmbuild: the files are as cargo and install-built.sh left them.
cat >"$work/evenkeel.spec" <<END
Name: evenkeel
Version: $VERSION
Release: 1
Summary: Finds why the latency of a server varies, and proves what helps
License: Apache-2.0
Requires: glibc >= 2.28, libgcc
AutoReqProv: no
%global debug_package %{nil}
%global __os_install_post %{nil}
%global _build_id_links none
%description
Evenkeel profiles the variance of a running server's latency: which functions
and call sites make it vary, and whom they wait for, in an unmodified binary.
With it comes a lock manager for C programs, libevenkeel_locks.
%install
cp -a "$work/tree/." %{buildroot}
%post -p /sbin/ldconfig
%postun -p /sbin/ldconfig
%files
/usr/bin/evenkeel
/usr/lib64/*
/usr/include/*
/usr/share/man/man1/*
/usr/share/bash-completion/completions/evenkeel
/usr/share/zsh/site-functions/_evenkeel
/usr/share/fish/vendor_completions.d/evenkeel.fish
/usr/share/evenkeel/*
/usr/lib/systemd/system/evenkeel@.service
%doc /usr/share/doc/evenkeel
END
rpmbuild -bb --quiet --target x86_64 --define "_topdir $work/rpm" --define "_rpmdir $out" \
    --define "_rpmfilename %%{NAME}-%%{VERSION}-%%{RELEASE}.%%{ARCH}.rpm" "$work/evenkeel.spec"
