#!/bin/sh
# Installs what cargo built: `make install-built` calls it with the directories in the environment.
#
#   PREFIX=.. LIBDIR=.. INCLUDEDIR=.. DATADIR=.. DESTDIR=.. VERSION=.. scripts/install-built.sh BUILT
set -eu
built=$1
bin=$DESTDIR$PREFIX/bin
data=$DESTDIR$DATADIR
lib=$DESTDIR$LIBDIR
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The command carries the agent and the demo's server as ELF sections. The server is profiled, so its names of
# functions stay; of the agent the exported names stay.
objcopy --strip-unneeded "$built/libevenkeel_agent.so" "$work/agent"
objcopy --strip-debug "$built/evenkeel-demo-server" "$work/demo-server"
objcopy --strip-all --remove-section=.evenkeel.agent --remove-section=.evenkeel.demo-server "$built/evenkeel" "$work/evenkeel"
objcopy --add-section ".evenkeel.agent=$work/agent" --add-section ".evenkeel.demo-server=$work/demo-server" "$work/evenkeel"
install -D -m 755 "$work/evenkeel" "$bin/evenkeel"

"$built/evenkeel" man "$work/man"
install -d "$data/man/man1"
install -m 644 "$work"/man/*.1 "$data/man/man1"
for completion in bash:bash-completion/completions/evenkeel zsh:zsh/site-functions/_evenkeel fish:fish/vendor_completions.d/evenkeel.fish; do
    "$built/evenkeel" completions "${completion%%:*}" >"$work/completion"
    install -D -m 644 "$work/completion" "$data/${completion#*:}"
done

# Profiling all day: a unit of systemd, and what Prometheus and Grafana read.
install -d "$work/deploy"
sed "s|/usr/bin/evenkeel|$PREFIX/bin/evenkeel|" deploy/evenkeel@.service >"$work/deploy/evenkeel@.service"
install -D -m 644 "$work/deploy/evenkeel@.service" "$DESTDIR$PREFIX/lib/systemd/system/evenkeel@.service"
install -D -m 644 deploy/prometheus-rules.yml "$data/evenkeel/prometheus-rules.yml"
install -m 644 deploy/grafana-dashboard.json "$data/evenkeel/grafana-dashboard.json"

# The lock manager for C programs, under the name that its soname says; and the annotations' header.
objcopy --strip-debug "$built/libevenkeel_locks_c.so" "$work/locks.so"
objcopy --strip-debug "$built/libevenkeel_locks_c.a" "$work/locks.a"
install -D -m 755 "$work/locks.so" "$lib/libevenkeel_locks.so.$VERSION"
ln -sf "libevenkeel_locks.so.$VERSION" "$lib/libevenkeel_locks.so.0"
ln -sf libevenkeel_locks.so.0 "$lib/libevenkeel_locks.so"
install -m 644 "$work/locks.a" "$lib/libevenkeel_locks.a"
install -D -m 644 include/evenkeel_locks.h "$DESTDIR$INCLUDEDIR/evenkeel_locks.h"
install -m 644 include/evenkeel.h "$DESTDIR$INCLUDEDIR/evenkeel.h"
# Relative to itself, so that an unpacked tarball need not be in a certain place.
cat >"$work/pc" <<END
libdir=\${pcfiledir}/..
includedir=\${pcfiledir}/$(realpath -ms --relative-to="$LIBDIR/pkgconfig" "$INCLUDEDIR")

Name: evenkeel_locks
Description: Lock manager with scheduled grants
Version: $VERSION
Libs: -L\${libdir} -levenkeel_locks
Libs.private: -lpthread -ldl -lm
Cflags: -I\${includedir}
END
install -D -m 644 "$work/pc" "$lib/pkgconfig/evenkeel_locks.pc"
