#!/usr/bin/env bash
# Rewrites every class of Java programs and libraries with probes at every call and in every body. Shows on every JDK
# of this machine that each class still verifies, and that programs print the same.
#
# usage: scripts/jvm/classfiles.sh [NAME..]      names of scripts/jvm/subjects; without, all. `scripts/install.sh jvm` fetches them.
#
# A class whose dependencies are absent gives the same kind of error before and after. The refusals are in the directory that is named
# at the end. A second round lets methods grow to 65,535 bytes, so that branches become wide.
set -euo pipefail
cd "$(dirname "$0")/../.."
if [ "$(id -u)" -eq 0 ]; then cache=/var/cache/evenkeel; else cache="${XDG_CACHE_HOME:-$HOME/.cache}/evenkeel"; fi
here=scripts/jvm
work=target/jvm
programs="$PWD/$here/programs"
failed=0

jdks() {
    for home in ${JAVA_HOME:+"$JAVA_HOME"} /usr/lib/jvm/*; do
        [ ! -x "$home/bin/javac" ] || readlink -f "$home"
    done | sort -u
}

fail() {
    echo "FAILED: $*"
    failed=1
}

# java JDK ARGUMENT..: with the probes' class for the boot loader.
java() {
    local jdk=$1
    shift
    "$jdk/bin/java" -Xbootclasspath/a:"$work/helper" -Devenkeel.probes="$work/report" "$@"
}

# What became of each class, without what was missing.
outcomes() {
    java "$1" -Xlog:verification=info:file="$work/log" -cp "$work/helper" Verify "$2" "$work/outcomes"
    sed -i 's/\(NoClassDefFoundError\):.*/\1/' "$work/outcomes"
    # Version 50 may fall back to the verifier without frames, which would hide a wrong frame.
    { grep -h 'Fail over' "$work/log" || true; } | sed 's/.*Fail over/Fail over/' | sort >>"$work/outcomes"
    rm -f "$work/log"
    cp "$work/outcomes" "$3"
}

# Runs a subject's program out of a directory of classes. It prints.
run() {
    local jdk=$1 subject=$2 classes=$3 out="$work/out"
    rm -rf "$out"
    mkdir "$out"
    case "$subject" in
    h2) java "$jdk" -cp "$classes" org.h2.tools.RunScript -url 'jdbc:h2:mem:x' -script "$programs/h2.sql" -showResults ;;
    clojure) java "$jdk" -cp "$classes" clojure.main "$programs/program.clj" ;;
    kotlin)
        java "$jdk" -cp "$classes" org.jetbrains.kotlin.cli.jvm.K2JVMCompiler -no-stdlib -no-reflect -nowarn \
            -classpath "$classes" -d "$out" "$programs/Program.kt" 2>&1 | grep -v '^WARNING' || true
        java "$jdk" -cp "$out:$classes" ProgramKt
        ;;
    scala)
        java "$jdk" -cp "$classes" scala.tools.nsc.Main -usejavacp -nowarn -d "$out" "$programs/Program.scala"
        java "$jdk" -cp "$out:$classes" Program
        ;;
    scala3)
        java "$jdk" -cp "$classes" dotty.tools.dotc.Main -usejavacp -nowarn -d "$out" "$programs/Program.scala"
        java "$jdk" -cp "$out:$classes" Program
        ;;
    esac
}

has_program() {
    case "$1" in h2 | clojure | kotlin | scala | scala3) true ;; *) false ;; esac
}

# Of probes, at most one in a thousand was ended by a caller: where a constructor's arguments or the constructor above throw.
check_report() {
    local entered left
    read -r entered _ _ left _ <"$work/report"
    [ "$entered" -gt 1000 ] && [ "$((left * 1000))" -le "$entered" ]
}

check() {
    local subject=$1 jdk=$2 limit=$3 name
    name=$(basename "$jdk")
    outcomes "$jdk" "$work/rewritten" "$work/after"
    if diff "$work/before.$name" "$work/after" >"$work/differ"; then
        echo "  $name: $(grep -c ' verified$' "$work/after") verified, $(grep -vc ' verified$' "$work/after" || true) not, as before"
    else
        fail "$subject on $name, limit $limit: classes that verify differently:"
        head -n 10 "$work/differ"
    fi
    has_program "$subject" || return 0
    rm -f "$work/report"
    run "$jdk" "$subject" "$work/rewritten" >"$work/printed.after" 2>"$work/errors" || true
    if ! diff "$work/printed.$name" "$work/printed.after" >"$work/differ"; then
        fail "$subject on $name, limit $limit: its program prints something else:"
        head -n 10 "$work/differ" "$work/errors"
    elif ! check_report; then
        fail "$subject on $name, limit $limit: $(head -n 1 "$work/report")"
    else
        echo "  $name: prints the same; $(head -n 1 "$work/report")"
    fi
}

all=$(grep -v '^#' "$here/subjects" | cut -d ' ' -f 1)
[ -n "$(jdks)" ] || { echo "scripts/jvm/classfiles.sh: there is no JDK: scripts/install.sh jvm" >&2; exit 1; }
cargo build -q --release -p evenkeel-classfile --example rewrite
rm -rf "$work"
mkdir -p "$work/helper" "$work/refusals"
"$(jdks | head -n 1)/bin/javac" --release 11 -d "$work/helper" profiler/classfile/tests/java/{Probe,Verify}.java

for subject in ${*:-$all}; do
    [ -d "$cache/jvm/$subject" ] || { fail "$subject is not installed: scripts/install.sh jvm"; continue; }
    echo "$subject"
    rm -rf "$work/plain"
    mkdir "$work/plain"
    for jar in "$cache/jvm/$subject"/*.jar; do unzip -qo "$jar" -d "$work/plain"; done
    chmod -R u+rwX "$work/plain"
    for jdk in $(jdks); do
        name=$(basename "$jdk")
        outcomes "$jdk" "$work/plain" "$work/before.$name"
        run "$jdk" "$subject" "$work/plain" >"$work/printed.$name" 2>"$work/errors" ||
            fail "$subject on $jdk, unchanged: $(head -n 3 "$work/errors")"
    done
    for limit in 8000 65535; do
        rm -rf "$work/rewritten"
        cp -r "$work/plain" "$work/rewritten"
        refusals="$work/refusals/$subject.$limit"
        echo "  limit of $limit bytes: $(target/release/examples/rewrite "$work/rewritten" evenkeel/Probe "$limit" 2>"$refusals")"
        for jdk in $(jdks); do
            check "$subject" "$jdk" "$limit"
        done
    done
done
rm -rf "$work/plain" "$work/rewritten"
echo "refusals: $work/refusals"
exit "$failed"
