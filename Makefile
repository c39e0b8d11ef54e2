# The two commands of README.md, and what they need; installing and packaging.
CARGO ?= cargo

.PHONY: demo install install-built package book test test-suites test-programs test-advice test-unit test-jvm test-jvm-cycles fleet install-fleet test-fleet lint audit bench

# Installs what is missing, builds, profiles a private PostgreSQL under pgbench, shows the result.
demo:
	scripts/install.sh postgresql || echo "PostgreSQL could not be installed: the demo uses the bundled server"
	$(CARGO) build --release -p evenkeel -p evenkeel-agent -p evenkeel-servers
	$(CARGO) run --release -q -p evenkeel -- demo

# Where `make install` puts things; DESTDIR goes before all of it, for packagers.
PREFIX ?= /usr/local
LIBDIR ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
DATADIR ?= $(PREFIX)/share
# What was built, and by which an installed program's pages and completions are made.
BUILT ?= target/release
VERSION := $(shell sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)

# Builds and installs: the command, one file that carries its agent, with its manual pages and completions, and the lock manager's
# library for C programs.
install:
	$(CARGO) build --release -p evenkeel -p evenkeel-agent -p evenkeel-servers -p evenkeel-locks-c
	$(MAKE) install-built

install-built:
	PREFIX="$(PREFIX)" LIBDIR="$(LIBDIR)" INCLUDEDIR="$(INCLUDEDIR)" DATADIR="$(DATADIR)" DESTDIR="$(DESTDIR)" \
		VERSION="$(VERSION)" scripts/install-built.sh "$(BUILT)"

# A tarball, a .deb, an .rpm and an OCI image in target/package, for systems with glibc 2.28 or newer.
package:
	scripts/install.sh package
	CARGO="$(CARGO)" VERSION="$(VERSION)" scripts/package.sh

# docs/ as pages in target/book (mdBook: `cargo install mdbook`).
book:
	mdbook build docs --dest-dir "$(CURDIR)/target/book"

# Installs what is missing, builds, runs every test.
test:
	scripts/install.sh test
	$(CARGO) build -p evenkeel-agent -p evenkeel-servers
	scripts/run-tests.sh "$(CARGO)"

# Servers' own test suites while they are profiled: an hour.
test-suites:
	$(CARGO) build --release -p evenkeel -p evenkeel-agent
	scripts/test-suites.sh

# Real programs, each with a cause that is known, under three loads, and servers that start processes: three quarters of an hour, on a machine
# that does nothing else.
test-programs:
	$(CARGO) build --release -p evenkeel -p evenkeel-agent
	$(CARGO) build --release -p evenkeel-servers --example mariadb
	scripts/programs.sh

# The problems that patterns of advice are about, each reproduced on the system's servers: the right pattern has to fire, and no other one.
# CASE=NAME selects one. Three quarters of an hour, as root.
test-advice:
	scripts/install.sh postgresql mariadb apache nginx redis memcached-1.6.18
	$(CARGO) build -p evenkeel -p evenkeel-agent
	CARGO="$(CARGO)" scripts/test-advice.sh $(CASE)

# The unit that profiles another one all day, under a systemd of its own: six minutes, as root.
test-unit:
	scripts/install.sh redis
	$(CARGO) build --release -p evenkeel -p evenkeel-agent
	scripts/test-unit.sh target/release/evenkeel

# Every class of large Java programs with probes, on every JDK of this machine: verified, and programs run. Servers with a known cause.
test-jvm:
	scripts/install.sh jvm
	$(CARGO) test -p evenkeel-classfile
	$(CARGO) build -p evenkeel-agent
	EVERY_JDK=1 $(CARGO) test -p evenkeel --test java --test java_refused --test java_servers
	scripts/jvm/classfiles.sh

# H2 under load, attached to 200 times on every JDK: nothing refused, no failed statement, no growth. A quarter of an hour, by release builds.
test-jvm-cycles:
	scripts/install.sh jvm
	$(CARGO) build --release -p evenkeel -p evenkeel-agent
	scripts/jvm/cycles.sh

# `evenkeel fleet` runs a program of its own, evenkeel-fleet: the SQL engine in it takes longer to build than all the rest (seven minutes of
# processor without optimisation), so it is a workspace of its own, which nothing else here builds, lints or tests.
FLEET = profiler/fleet/Cargo.toml --target-dir target/fleet
fleet:
	$(CARGO) build --release --locked --manifest-path $(FLEET)

install-fleet: fleet
	install -D -m 755 target/fleet/release/evenkeel-fleet "$(DESTDIR)$(PREFIX)/bin/evenkeel-fleet"

# Everything about it: format, lints, licenses, its answers beside DuckDB's and those of a cluster of Spark, and tables in a store with the
# protocol of S3. FLEET_PROFILE=release optimises as `make fleet` does, but builds the engine anew: tests unwind where the program aborts, and
# features of what the tests use beside it change some of what the engine uses.
FLEET_PROFILE ?= dev
test-fleet:
	scripts/install.sh duckdb spark s3 lint
	$(CARGO) fmt --manifest-path profiler/fleet/Cargo.toml --check
	$(CARGO) build -p evenkeel -p evenkeel-agent
	$(CARGO) clippy --locked --manifest-path $(FLEET) --profile $(FLEET_PROFILE) --all-targets -- -D warnings
	$(CARGO) test --locked --manifest-path $(FLEET) --profile $(FLEET_PROFILE)
	$(CARGO) deny --manifest-path profiler/fleet/Cargo.toml --config deny.toml --log-level error check bans licenses sources

# What a change must pass beside the tests: format, lints (with those on what the oldest supported compiler lacks, and no function of more than
# a hundred lines), documentation
# without broken links, licenses and sources of dependencies, and that everything compiles for 64-bit ARM.
lint:
	scripts/install.sh lint
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets -- -D warnings -D clippy::too_many_lines
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --quiet
	$(CARGO) deny --log-level error check bans licenses sources
	scripts/check-aarch64.sh

# Known vulnerabilities of dependencies, by an advisory database that is fetched.
audit:
	scripts/install.sh lint
	$(CARGO) deny check advisories

# Costs, measured: see BENCHMARKS.md.
bench:
	scripts/install.sh postgresql
	$(CARGO) build --release -p evenkeel -p evenkeel-agent -p evenkeel-servers
	$(CARGO) bench -p evenkeel-patch
	$(CARGO) bench -p evenkeel --bench overhead
	$(CARGO) bench -p evenkeel --bench stops
