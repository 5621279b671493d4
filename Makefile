# The commands that developers and the continuous integration run. `make` alone lists them. A
# machine needs rustup, make and a C linker; rustup installs the compiler (rust-toolchain.toml).

CARGO_FUZZ := 0.13.2
NIGHTLY ?= nightly
FUZZ_SECONDS ?= 60

# One folder for all builds, also of the fuzz target.
export CARGO_TARGET_DIR ?= $(CURDIR)/target

# The Python package is a crate that Python loads: it is checked without any Python.
lint: export PYO3_NO_PYTHON := 1
lint: export PYO3_BUILD_EXTENSION_MODULE := 1

.DEFAULT_GOAL := help
.PHONY: help demo test rust python jvm spark-demo wheel static playground site slow lint wasm instructions measure fuzz picture picture-check bpf

# Prints how long a recipe took.
SHELL := bash
timed = @TIMEFORMAT='make $@: %0R s'; time

help: ## List these targets
	@sed -n 's/^\([a-z-]*\):.*## /\1|/p' Makefile | while IFS='|' read -r target what; do \
		printf '    make %-16s  %s\n' "$$target" "$$what"; done

demo: ## Build what simulates, compare seven policies on a synthetic hour, write a page with plots, out/demo.html
	mkdir -p out
	cargo run --locked --release --package covey --no-default-features -- compare builtin:fb-like --report out/demo.html
	@echo
	@echo 'The same with plots: $(CURDIR)/out/demo.html (open it in a browser)'

test: ## Run all tests
	@# In parallel, because one core is free to compile while tests run, and Maven waits for what it fetches.
	$(timed) $(MAKE) --no-print-directory --jobs=3 rust python jvm

rust: ## Test all but the Python package
	@# Cargo should use all cores, not the jobs of `test`.
	$(timed) env -u MAKEFLAGS cargo test --locked --workspace

python: ## Check and test the Python package alone
	$(timed) env -u MAKEFLAGS scripts/python.sh

jvm: ## Build and test the client for the JVM and the plug-in for Spark; says so where Java 17 or Maven is not there
	$(timed) scripts/jvm.sh

slow: ## Run a test that `make test` leaves out because it takes long (WHAT=kills; alone it lists them)
	@scripts/slow.sh $(WHAT)

measure: ## Make a measurement of a page in docs/ (WHAT=policies, TRACE=file, UPDATE=yes; alone it lists them)
	@cargo xtask measure $(WHAT)

lint: ## Check format, lints, documentation and dependencies; a warning is an error
	cargo fmt --all --check
	cargo clippy --locked --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS='-D warnings' cargo doc --locked --workspace --no-deps
	@# The advisories come from a database on the network.
	@if cargo deny --version >/dev/null 2>&1; then cargo deny --locked check; \
		else echo 'There is no cargo-deny: licences and advisories of dependencies are not checked.'; fi

wasm: ## Check the crates without clock and I/O for a target that has neither
	cargo check --locked --package covey-core --package covey-alloc --package covey-identify --package covey-stream --package covey-sched --package covey-proto --package covey-api --package covey-agent --package covey-coordinator --no-default-features --target wasm32-unknown-unknown

instructions: ## Count the instructions of six policies and compare with scripts/instructions.txt (UPDATE=yes writes it)
	scripts/instructions.sh $(if $(UPDATE),--update)

fuzz: ## Feed garbage to the readers of traces, topologies, flow records, event logs and messages, and flows to policies, a minute each (FUZZ_SECONDS=60)
	rustup toolchain list | grep -q '^$(NIGHTLY)' || rustup toolchain install $(NIGHTLY) --profile minimal
	cargo fuzz --version 2>/dev/null | grep -q . || cargo install --locked cargo-fuzz --version $(CARGO_FUZZ)
	for target in $$(cargo +$(NIGHTLY) fuzz list); do \
		cargo +$(NIGHTLY) fuzz run $$target -- -max_total_time=$(FUZZ_SECONDS) || exit; done

wheel: ## Build the wheel with the Python package and the command covey into dist
	scripts/wheel.sh dist

static: ## Build the programs that need no library of the system into dist, and a Debian package of covey
	scripts/static.sh
	BINARY=dist/covey scripts/deb.sh

playground: ## Build the page that simulates in a browser into dist/playground, and try it there; needs npm and Chromium
	scripts/playground.sh
	cargo build --locked --release --package covey --no-default-features
	scripts/browser.sh scripts/playground-test.mjs dist/playground $(CARGO_TARGET_DIR)/release/covey

pages: ## Try the timelines of a comparison and the coordinator's page in headless Chromium; needs npm and Chromium (COVEY names a program)
	$(if $(COVEY),,cargo build --locked --release --package covey)
	scripts/browser.sh scripts/coordinator-page-test.mjs $(or $(COVEY),$(CARGO_TARGET_DIR)/release/covey)
	scripts/browser.sh scripts/timelines-test.mjs $(or $(COVEY),$(CARGO_TARGET_DIR)/release/covey)

site: ## Build the documentation with search, and with the playground if it was built, into dist/site
	cargo doc --locked --workspace --no-deps
	cargo build --locked --workspace --bin covey
	COVEY=$(CARGO_TARGET_DIR)/debug/covey scripts/site.sh

spark-demo: ## Run small joins of Spark beside a large one on shaped links, with and without Covey; needs root, BPF, Java 17 and Maven
	cargo build --locked --release --package covey
	examples/spark/demo.py $(CARGO_TARGET_DIR)/release/covey

picture: ## Make the picture in README.md; needs Chromium. With the Facebook trace (TRACE=file) that in docs/fabrics.md, too
	scripts/picture.sh
	$(if $(TRACE),scripts/fabric-picture.sh $(TRACE))

picture-check: ## Check that the pictures in README.md and docs/fabrics.md show what the code draws now
	scripts/picture.sh --check
	scripts/fabric-picture.sh --check

bpf: ## Build the BPF objects again; needs clang and llvm
	scripts/bpf.sh
