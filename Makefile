# The two commands of README.md, and what they need.
CARGO ?= cargo

.PHONY: demo test lint audit bench

# Installs what is missing, builds, profiles a private PostgreSQL under pgbench, shows the result.
demo:
	scripts/install.sh postgresql || echo "PostgreSQL could not be installed: the demo uses the bundled server"
	$(CARGO) build --release -p evenkeel -p evenkeel-agent -p evenkeel-servers
	$(CARGO) run --release -q -p evenkeel -- demo

# Installs what is missing, builds, runs every test. A test that hangs ends the run after an hour, long after the slowest machine
# would have been done; cargo names it ("has been running for over 60 seconds").
LIMIT = timeout --kill-after=30 60m
test:
	scripts/install.sh test
	$(CARGO) build -p evenkeel-agent -p evenkeel-servers
	$(LIMIT) $(CARGO) test --workspace
	for crate in locks log pages; do $(LIMIT) $(CARGO) test -p evenkeel-$$crate --features shuttle --test shuttle || exit 1; done

# What a change must pass beside the tests: format, lints (with those on what the oldest supported compiler lacks), documentation
# without broken links, licenses and sources of dependencies, and that everything compiles for 64-bit ARM.
lint:
	scripts/install.sh lint
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets -- -D warnings
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
