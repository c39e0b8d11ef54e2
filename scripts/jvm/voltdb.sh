#!/bin/bash
# Figure 3.1 of the dissertation in small: the queue's share of the variance of VoltDB's procedures falls with more sites.
#
#   scripts/jvm/voltdb.sh [--json] [--with PROGRAM] [SITES..]     1 2 4 8
#
# A procedure keeps its site for 10 ms on average, exponentially distributed, and 120 arrive a second at random times.
# So one site is overloaded, and two carry them. The procedure sleeps, so that the result does not depend on the
# processors. Prints a line for each number of sites: the queue's share of the variance by the preset voltdb, the mean
# latency there, and what the client saw; with --json all of it as one list. PROGRAM is another build than
# target/release/evenkeel.
#
# VoltDB 10.1.1 needs a JDK 11 or 17 (JAVA_HOME), and the ports 21211 to 21212, 3021 and 7181 of the loopback device.
set -eu

here=$(cd "$(dirname "$0")/../.." && pwd)
evenkeel="$here/target/release/evenkeel"
json=""
while [ $# -gt 0 ]; do
    case "$1" in
    --json) json=yes ;;
    --with) evenkeel=$(realpath "$2") && shift ;;
    -*) echo "usage: scripts/jvm/voltdb.sh [--json] [--with PROGRAM] [SITES..]" >&2 && exit 2 ;;
    *) break ;;
    esac
    shift
done
java="${JAVA_HOME:-/usr/lib/jvm/java-17-openjdk-amd64}/bin"
rate=120
mean_us=10000
cache="${XDG_CACHE_HOME:-$HOME/.cache}/evenkeel"
[ "$(id -u)" -ne 0 ] || cache=/var/cache/evenkeel
jars="$cache/jvm/voltdb"
[ -d "$jars" ] || {
    echo "scripts/jvm/voltdb.sh: there is no VoltDB: scripts/install.sh jvm" >&2
    exit 2
}
scratch=$(mktemp -d "${TMPDIR:-/tmp}/voltdb.XXXXXX")
server=""
clean() {
    [ -z "$server" ] || kill "$server" 2>/dev/null || true
    [ -z "$server" ] || wait "$server" 2>/dev/null || true
    rm -rf "$scratch"
}
trap clean EXIT
trap 'exit 130' INT TERM

classes="$scratch/classes:$jars/*"
mkdir "$scratch/classes" "$scratch/native"
"$java/javac" -nowarn -proc:none --release 11 -d "$scratch/classes" -cp "$jars/*" -sourcepath "$here/scripts/jvm/voltdb" \
    "$here"/scripts/jvm/voltdb/*.java "$here"/scripts/jvm/voltdb/io/confluent/kafka/schemaregistry/client/*.java \
    "$here"/scripts/jvm/voltdb/io/confluent/kafka/schemaregistry/client/rest/exceptions/*.java
"$java/javac" -nowarn -proc:none --release 8 -d "$scratch" -cp "$jars/*" "$here/scripts/jvm/voltdb/Slow.java" 2>/dev/null
unzip -joq "$jars"/voltdb-*.jar 'org/voltdb/native/Linux/x86_64/*' -d "$scratch/native"
cat >"$scratch/schema.sql" <<'SQL'
CREATE TABLE item (id INTEGER NOT NULL, v BIGINT NOT NULL, PRIMARY KEY (id));
PARTITION TABLE item ON COLUMN id;
SQL
cat >"$scratch/log4j.properties" <<'LOG'
log4j.rootLogger=INFO, console
log4j.appender.console=org.apache.log4j.ConsoleAppender
log4j.appender.console.layout=org.apache.log4j.SimpleLayout
LOG
options="-Dlog4j.configuration=file:$scratch/log4j.properties"
for package in java.nio sun.nio.ch java.lang jdk.internal.ref jdk.internal.misc java.util java.net jdk.internal.perf; do
    options="$options --add-opens java.base/$package=ALL-UNNAMED"
done

volt() {
    # shellcheck disable=SC2086 # options are words
    exec "$java/java" $options -Xmx1g "-Djava.library.path=$scratch/native" -cp "$classes" org.voltdb.VoltDB "$@"
}

run() {
    rm -rf "$scratch/root"
    mkdir "$scratch/root"
    cat >"$scratch/deployment.xml" <<XML
<?xml version="1.0"?>
<deployment><cluster hostcount="1" kfactor="0" sitesperhost="$1"/><commandlog enabled="false"/>
<snapshot enabled="false"/><httpd enabled="false"><jsonapi enabled="false"/></httpd></deployment>
XML
    cd "$scratch/root"
    (volt initialize voltdbroot "$scratch/root" deployment "$scratch/deployment.xml" schema "$scratch/schema.sql" force) \
        >"$scratch/initialize.log" 2>&1 || {
        tail -n 5 "$scratch/initialize.log" >&2
        exit 1
    }
    volt probe voltdbroot "$scratch/root" mesh localhost hostcount 1 internalinterface 127.0.0.1 externalinterface 127.0.0.1 \
        >"$scratch/server.log" 2>&1 &
    server=$!
    for _ in $(seq 600); do
        ! grep -q "fully started\|completed initialization" "$scratch/server.log" || break
        [ -d "/proc/$server" ] || break
        sleep 0.1
    done
    # shellcheck disable=SC2086 # options are words
    "$java/java" $options -Xmx256m "-Dslow=$scratch/Slow.class" -cp "$classes" Calls "$rate" "$mean_us" 30 >"$scratch/client.log" 2>"$scratch/client.err" &
    client=$!
    for _ in $(seq 600); do
        ! grep -q ready "$scratch/client.log" || break
        [ -d "/proc/$client" ] || break
        sleep 0.1
    done
    "$evenkeel" attach "$server" --preset voltdb --sampling all --for 20s --json "$scratch/run.json" >"$scratch/run.log" 2>&1 || {
        tail -n 5 "$scratch/run.log" "$scratch/client.err" "$scratch/server.log" >&2
        exit 1
    }
    wait "$client" || true
    python3 - "$scratch/run.json" "$1" "$(tail -n 1 "$scratch/client.log")" "$json" >>"$scratch/lines" <<'PYTHON'
import json, sys
profile = json.load(open(sys.argv[1]))
# A site that works for other procedures first lets this one wait for its turn.
queued = [finding for finding in profile["findings"] if finding["function"] in ("queued", "waiting for its turn")]
share = sum(finding["share"] for finding in queued)
if sys.argv[4]:
    print(json.dumps({
        "sites": int(sys.argv[2]), "queue_share": share, "queue_share_se": sum(finding["se"] for finding in queued),
        "intervals": profile["intervals"], "mean_ms": profile["mean_ns"] / 1e6, "variance_ms2": profile["variance_ns2"] / 1e12,
        "p99_ms": profile["percentiles_ns"]["p99"] / 1e6}))
else:
    print(f"{sys.argv[2]} sites: queue {100 * share:.1f} % of the variance of {profile['intervals']} procedures, mean {profile['mean_ns'] / 1e6:.2f} ms, "
          f"standard deviation {profile['sd_ns'] / 1e6:.2f} ms; the client: {sys.argv[3]}")
PYTHON
    [ -n "$json" ] || tail -n 1 "$scratch/lines"
    kill "$server"
    wait "$server" 2>/dev/null || true
    server=""
}

[ $# -gt 0 ] || set -- 1 2 4 8
for sites in "$@"; do
    run "$sites"
done
[ -z "$json" ] || python3 -c 'import json, sys; print(json.dumps([json.loads(line) for line in sys.stdin]))' <"$scratch/lines"
