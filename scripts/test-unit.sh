#!/bin/bash
# Tries deploy/evenkeel@.service under a systemd of its own, in namespaces of its own: the profile of a Redis server starts and stops
# with it, comes back after a kill, survives a restart of the server, and keeps what it measured. Takes six minutes; needs root.
#
#   scripts/test-unit.sh EVENKEEL        the agent's library lies beside it
set -eu
evenkeel=$(realpath "${1:?usage: scripts/test-unit.sh EVENKEEL}")
here=$(cd "$(dirname "$0")/.." && pwd)
systemd=/usr/lib/systemd/systemd
for needed in $systemd "$(command -v redis-server || echo /usr/bin/redis-server)"; do
    [ -x "$needed" ] || { echo "skipped: $needed is not installed"; exit 77; }
done
[ "$(id -u)" -eq 0 ] || { echo "skipped: a systemd of its own needs root"; exit 77; }

place=$(mktemp -d /var/tmp/evenkeel-unit.XXXXXX)
outer=
end() {
    if [ -n "$outer" ]; then
        # The first process of the namespace: with it all others end.
        kill -KILL "$(inner)" 2>/dev/null || true
        wait "$outer" 2>/dev/null || true
    fi
    sleep 0.5
    find "$group" -depth -type d -exec rmdir {} + 2>/dev/null || true
    rm -rf "$place"
}
inner() { pgrep -P "$outer" | head -n 1; }
trap end EXIT
trap 'exit 130' INT TERM

mkdir -p "$place"/{units,bin,state,etc,data,tmp}
cp "$evenkeel" "$(dirname "$evenkeel")/libevenkeel_agent.so" "$place/bin"
# As an installation below another prefix has it (scripts/install-built.sh).
sed "s|/usr/bin/evenkeel|$place/bin/evenkeel|" "$here/deploy/evenkeel@.service" >"$place/units/evenkeel@.service"
echo 'EVENKEEL_OPTIONS=--preset redis' >"$place/etc/redis.conf"
mkdir -p "$place/units/redis.service.wants"
ln -s ../evenkeel@.service "$place/units/redis.service.wants/evenkeel@redis.service"
cat >"$place/units/redis.service" <<END
[Service]
ExecStart=/usr/bin/redis-server --port 0 --unixsocket $place/data/socket --dir $place/data --save ''
END
printf '[Unit]\nWants=redis.service\n' >"$place/units/default.target"
# What belongs to a whole machine (temporary files, devices, file systems) is not among the units.
for name in sysinit basic shutdown umount; do printf '[Unit]\nDefaultDependencies=no\n' >"$place/units/$name.target"; done

# systemd wants a tree of control groups of one version.
tree=/sys/fs/cgroup
[ -d $tree/unified ] && tree=$tree/unified
group=$tree/evenkeel-unit-$$
mkdir "$group"
cat >"$place/inside.sh" <<END
set -e
mount --make-rprivate /
umount -R /sys/fs/cgroup
mount -t cgroup2 none /sys/fs/cgroup
mount -t proc proc /proc
mount -t tmpfs tmpfs /run
mount --bind $place/tmp /tmp
mkdir -p /var/lib/evenkeel /etc/evenkeel
mount --bind $place/state /var/lib/evenkeel
mount --bind $place/etc /etc/evenkeel
exec env -i container=evenkeel PATH="$PATH" SYSTEMD_UNIT_PATH=$place/units $systemd --system --log-target=console --show-status=no --unit=default.target
END
(
    echo "$BASHPID" >"$group/cgroup.procs"
    exec unshare --pid --mount --cgroup --ipc --fork bash "$place/inside.sh"
) >"$place/log" 2>&1 &
outer=$!

inside() { nsenter -t "$(inner)" -m -p -C "$@"; }
state_of() { inside systemctl is-active "$1" 2>/dev/null || true; }
process_of() { inside systemctl show -P MainPID "$1"; }
step() { echo "-- $*"; }
failed() {
    echo "FAILED: $*" >&2
    tail -n 40 "$place/log" >&2
    exit 1
}
until_true() {
    local what=$1 left=300
    shift
    until "$@" >/dev/null 2>&1; do
        left=$((left - 1))
        [ $left -gt 0 ] || failed "$what"
        sleep 0.2
    done
}
is_active() { [ "$(state_of "$1")" = active ]; }
is_profiled() { is_active evenkeel@redis && [ -n "$(find "$place/state/redis" -name '*.keel' -newer "$place/mark" 2>/dev/null)" ]; }
load_for() {
    local end_at=$((SECONDS + $1))
    while [ $SECONDS -lt $end_at ]; do
        redis-benchmark -s "$place/data/socket" -t set,get -n 20000 -c 4 -q >"$place/load.log" 2>&1 || failed "a client failed"
        sleep 0.5
    done
}
report() { "$evenkeel" report "$place/state/redis" --since 1h --json; }
intervals() { report | python3 -c 'import json, sys; print(json.load(sys.stdin)["intervals_seen"])'; }

step "the server starts, and with it its profile"
mkdir -p "$place/state/redis"
touch -d '8 days ago' "$place/state/redis/old.keel"
touch "$place/mark"
until_true "Redis does not run" is_active redis
until_true "its profile does not run" is_profiled
[ ! -e "$place/state/redis/old.keel" ] || failed "a file of eight days ago was kept"

step "two minutes of load"
load_for 130
first=$(intervals)
[ "$first" -gt 0 ] || failed "no interval of two minutes is on disk"
echo "   $first intervals"

step "the session is killed; it comes back, and what it measured stays"
touch "$place/mark"
server=$(process_of redis)
inside kill -KILL "$(process_of evenkeel@redis)"
until_true "it did not come back" is_profiled
[ "$(process_of redis)" = "$server" ] || failed "the server was restarted"
load_for 75
second=$(intervals)
[ "$second" -gt "$first" ] || failed "$second intervals after $first"
echo "   $second intervals"

step "the server is restarted; the profile goes with it"
session=$(process_of evenkeel@redis)
touch "$place/mark"
inside systemctl restart redis
until_true "the profile did not come back" is_profiled
[ "$(process_of evenkeel@redis)" != "$session" ] || failed "the session of the old server still runs"

step "the server is killed"
touch "$place/mark"
inside kill -KILL "$(process_of redis)"
inside systemctl reset-failed redis 2>/dev/null || true
inside systemctl start redis
until_true "the profile did not come back" is_profiled

step "the server stops, and its profile with it"
inside systemctl stop redis
is_stopped() { [ "$(state_of evenkeel@redis)" != active ] && [ -z "$(pgrep -f "$place/bin/evenkeel attach" || true)" ]; }
until_true "a session is left" is_stopped
report >/dev/null || failed "the recordings cannot be read"
echo "passed: $(ls "$place/state/redis" | wc -l) files"
