# The two commands of README.md, and what they need.
CARGO ?= cargo

.PHONY: demo test lint bench

# Installs what is missing, builds, profiles a private PostgreSQL under pgbench, shows the result.
demo:
	scripts/install.sh postgresql || echo "PostgreSQL could not be installed: the demo uses the bundled server"
	$(CARGO) build --release -p evenkeel -p evenkeel-agent -p evenkeel-servers
	$(CARGO) run --release -q -p evenkeel -- demo

# Installs what is missing, builds, runs every test.
test:
	scripts/install.sh test
	$(CARGO) build -p evenkeel-agent -p evenkeel-servers
	$(CARGO) test --workspace
	for crate in locks log pages; do $(CARGO) test -p evenkeel-$$crate --features shuttle --test shuttle || exit 1; done

# What a change must pass beside the tests.
lint:
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets -- -D warnings

# Costs, measured: see BENCHMARKS.md.
bench:
	scripts/install.sh postgresql
	$(CARGO) build --release -p evenkeel -p evenkeel-agent -p evenkeel-servers
	$(CARGO) bench -p evenkeel-patch
	$(CARGO) bench -p evenkeel --bench overhead
