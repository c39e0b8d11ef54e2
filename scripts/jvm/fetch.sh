#!/bin/sh
# Fetches the Java programs and libraries of `subjects` by Maven: each whole, or not at all.
#
# usage: scripts/jvm/fetch.sh CACHE [NAME..]      into CACHE/jvm/NAME/*.jar; without names, all
set -eu
cache=$1/jvm
shift
subjects=$(dirname "$0")/subjects

pom() {
    echo '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
    echo "<groupId>subject</groupId><artifactId>$1</artifactId><version>1</version><dependencies>"
    shift
    for artifact in "$@"; do
        echo "$artifact" | sed 's|\(.*\):\(.*\):\(.*\)|<dependency><groupId>\1</groupId><artifactId>\2</artifactId><version>\3</version></dependency>|'
    done
    echo '</dependencies></project>'
}

fetch() {
    name=$1
    [ ! -d "$cache/$name" ] || return 0
    mkdir -p "$cache"
    new=$(mktemp -d "$cache/new.XXXXXX")
    echo "fetching $name from Maven's central repository" >&2
    pom "$@" >"$new/pom.xml"
    if ! mvn -q -B -f "$new/pom.xml" org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies \
        -DincludeScope=runtime "-DoutputDirectory=$new/jars" >"$new/log" 2>&1; then
        tail -n 20 "$new/log" >&2
        rm -rf "$new"
        echo "$0: Maven could not fetch $name (its last lines are above)" >&2
        return 1
    fi
    chmod -R a+rX "$new/jars"
    mv "$new/jars" "$cache/$name"
    rm -rf "$new"
}

grep -v '^#' "$subjects" | while read -r name artifacts; do
    case " ${*:-$name} " in
    # shellcheck disable=SC2086 # word splitting wanted: a list of artifacts
    *" $name "*) fetch "$name" $artifacts </dev/null ;;
    esac
done
