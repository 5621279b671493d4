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
.PHONY: help demo test rust python wheel slow soak door-bench damage dead-holders dead-coordinator dead-soak lint circles wasm fuzz bench growth live-bench relay-bench live-fuzz flow-bench token-bench htb-bench testbed-short testbed-faults testbed-codec testbed policy-table policies rounding picture picture-check fabric-picture fabric-bench identification tenants simgrid-check attach-check attach-bench prometheus-check bpf hostile lists-bench restart-bench instructions spark-codecs spark-demo jvm

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
	$(MAKE) --no-print-directory --jobs=3 rust python jvm

rust: ## Test all but the Python package
	@# Cargo should use all cores, not the jobs of `test`.
	env -u MAKEFLAGS cargo test --locked --workspace

python: ## Check and test the Python package alone
	env -u MAKEFLAGS scripts/python.sh

jvm: ## Build and test the client for the JVM and the plug-in for Spark; says so where Java 17 or Maven is not there
	scripts/jvm.sh

wheel: ## Build the wheel with the Python package and the command covey into dist
	scripts/wheel.sh dist

slow: ## Run the tests that `make test` leaves out because they take long; needs the Facebook trace
	cargo test --locked --workspace -- --ignored

soak: ## Kill the coordinator 200 times under load (COVEY_KILLS=200)
	COVEY_KILLS=$${COVEY_KILLS:-200} cargo test --locked --package covey --test live -- --nocapture killed

door-bench: ## Hold 5,000 silent and slow connections, and measure who is served (COVEY_DOOR_SECONDS=60)
	COVEY_DOOR_SECONDS=$${COVEY_DOOR_SECONDS:-60} cargo test --locked --package covey --test live -- --nocapture thousands_of_silent

hostile: ## Have clients, agents and applications say anything 100,000 times, kill the coordinator, and start it (COVEY_HOSTILE=100000)
	COVEY_HOSTILE=$${COVEY_HOSTILE:-100000} cargo test --locked --package covey --test live -- --nocapture whatever_is_said

lists-bench: ## Register beside readers of lists and large bodies, with 100,000 coflows present (COVEY_PRESENT=100000)
	COVEY_PRESENT=$${COVEY_PRESENT:-100000} COVEY_P99_MS=50 cargo test --locked --release --package covey --test live -- --nocapture readers_and_large_bodies

restart-bench: ## Stop, kill and start a coordinator: 1,000 agents come back, 99,000 coflows are read (COVEY_AGENTS=1000, COVEY_PRESENT=99000)
	COVEY_AGENTS=$${COVEY_AGENTS:-1000} COVEY_BACK_MS=$${COVEY_BACK_MS:-500} COVEY_PRESENT=$${COVEY_PRESENT:-99000} \
		cargo test --locked --release --package covey --test live -- --nocapture --test-threads 1 agents_are_back a_start_reads

damage: ## Kill the coordinator 200 times and flip bits of its journal (COVEY_DAMAGES=200)
	COVEY_DAMAGES=$${COVEY_DAMAGES:-200} cargo test --locked --package covey --test live -- --nocapture damaged_journal

dead-holders: ## Kill, stop and cut off applications, and measure the rates of others; the last case needs root
	cargo build --locked --release --package covey --bins
	cargo build --locked --release --package covey-client --examples
	scripts/dead_holders.py $(CARGO_TARGET_DIR)/release

dead-coordinator: ## Stop, kill and hide the coordinator, and measure what applications lose
	cargo build --locked --release --package covey --bins
	cargo build --locked --release --package covey-client --examples
	scripts/dead_coordinator.py $(CARGO_TARGET_DIR)/release

dead-soak: ## Kill applications, agents and the coordinator at random for an hour (SOAK_SECONDS=3600)
	cargo build --locked --release --package covey --bins
	cargo build --locked --release --package covey-client --examples
	scripts/dead_soak.py $(CARGO_TARGET_DIR)/release --seconds $(or $(SOAK_SECONDS),3600)

lint: ## Check format, lints and documentation; a warning is an error
	cargo fmt --all --check
	cargo clippy --locked --workspace --all-targets -- -D warnings
	@# As `make demo` builds it: without the live system.
	cargo clippy --locked --package covey --no-default-features -- -D warnings
	RUSTDOCFLAGS='-D warnings' cargo doc --locked --workspace --no-deps

instructions: ## Count the instructions of six policies and compare with scripts/instructions.txt (UPDATE=yes writes it)
	scripts/instructions.sh $(if $(UPDATE),--update)

circles: ## Check that no modules of a crate import each other in a circle; `make test` does, too
	cargo test --locked --package covey --test command circles

wasm: ## Check the crates without clock and I/O for a target that has neither
	cargo check --locked --package covey-core --package covey-alloc --package covey-identify --package covey-stream --package covey-sched --package covey-proto --package covey-api --package covey-agent --package covey-coordinator --no-default-features --target wasm32-unknown-unknown

bench: growth ## Measure docs/measurements/simulator.md (TRACE=file; UPDATE=yes writes it there); growth takes most of the time
	scripts/bench.sh $(TRACE) $(if $(UPDATE),--update)

growth: ## Measure how cost grows with coflows, flows, ports and events (POLICIES="sebf aalo", LIMIT=60; UPDATE=yes writes docs/measurements/simulator.md)
	scripts/growth.sh $(if $(UPDATE),--update) $(POLICIES)

tenants: ## Measure docs/tenants.md: what isolation of tenants costs and gives (TRACE=file; DEAL=yes measures the price alone)
	cargo build --locked --release --package covey --bins
	scripts/tenants.py $(CARGO_TARGET_DIR)/release/covey $(TRACE) $(if $(DEAL),--deal)

live-fuzz: ## Send a coordinator valid and invalid requests, and garbage (LIVE_FUZZ_SECONDS=300 of each)
	scripts/live-fuzz.sh $(or $(LIVE_FUZZ_SECONDS),300)

live-bench: ## Load a live coordinator and print tables of docs/measurements (TRACE=file, LIVE_SECONDS=600)
	scripts/live-bench.sh $(TRACE)

relay-bench: ## Load a live coordinator with 40,000 agents behind relays and print tables of docs/measurements
	scripts/relay-bench.sh

flow-bench: ## Measure docs/measurements/client-library.md
	scripts/flow-bench.sh

token-bench: ## Measure docs/measurements/client-library.md
	scripts/token-bench.sh

htb-bench: ## Measure docs/measurements/client-library.md, HTB and DSCP; needs root
	scripts/htb-bench.sh

testbed-short: ## Replay a short trace over real sockets between emulated hosts; needs root (TRACE=file)
	scripts/testbed-short.sh $(TRACE)

testbed-faults: ## Like testbed-short, while coordinator, agent, link and host break; needs root (TRACE=file)
	scripts/testbed-faults.sh $(TRACE)

testbed-codec: ## Replay a short trace of compressible flows, with and without compression; needs root (TRACE=file)
	scripts/testbed-codec.sh $(TRACE)

testbed: ## Replay the whole trace, half an hour (TRACE=file)
	cargo build --locked --release --package covey
	$(CARGO_TARGET_DIR)/release/covey testbed $(or $(TRACE),builtin:fb-like)

policy-table: ## Measure docs/covey-policy.md (TRACE=file; UPDATE=yes writes it there)
	scripts/policy-table.sh $(TRACE) $(if $(UPDATE),--update)

policies: ## Measure docs/policies.md (TRACE=file; UPDATE=yes writes it there)
	scripts/policies.sh $(TRACE) $(if $(UPDATE),--update)

rounding: ## Measure the effect of sizes × (1 ± 1e-12) and of parallel copies of the trace; ten minutes (TRACE=file)
	scripts/rounding.sh $(TRACE)

picture: ## Make the picture in README.md; needs Chromium
	scripts/picture.sh

picture-check: ## Check that the pictures in README.md and docs/fabrics.md show what the code draws now
	scripts/picture.sh --check
	scripts/fabric-picture.sh --check

fabric-picture: ## Make the picture in docs/fabrics.md; needs the Facebook trace (TRACE=file)
	scripts/fabric-picture.sh $(TRACE)

fuzz: ## Feed garbage to the readers of traces, topologies, flow records, event logs and messages, and flows to policies, a minute each (FUZZ_SECONDS=60)
	rustup toolchain list | grep -q '^$(NIGHTLY)' || rustup toolchain install $(NIGHTLY) --profile minimal
	cargo fuzz --version 2>/dev/null | grep -q . || cargo install --locked cargo-fuzz --version $(CARGO_FUZZ)
	for target in $$(cargo +$(NIGHTLY) fuzz list); do \
		cargo +$(NIGHTLY) fuzz run $$target -- -max_total_time=$(FUZZ_SECONDS) || exit; done

spark-codecs: jars = $(CARGO_TARGET_DIR)/spark-jars
spark-codecs: ## Measure docs/whatif.md: what the codecs of Spark write; needs Java 17 and Maven
	mkdir -p $(CARGO_TARGET_DIR)
	mvn --batch-mode --quiet --file jvm/pom.xml dependency:build-classpath -Dmdep.outputFile=$(jars) -Dstyle.color=never
	java --add-opens=java.base/java.nio=ALL-UNNAMED --add-opens=java.base/sun.nio.ch=ALL-UNNAMED \
		-cp "$$(cat $(jars))" scripts/spark/Codecs.java

spark-demo: ## Run small joins of Spark beside a large one on shaped links, with and without Covey; needs root, BPF, Java 17 and Maven
	cargo build --locked --release --package covey
	examples/spark/demo.py $(CARGO_TARGET_DIR)/release/covey

fabric-bench: ## Measure docs/fabrics.md (TRACE=file; UPDATE=yes writes it there)
	scripts/fabric-bench.sh $(TRACE) $(if $(UPDATE),--update)

identification: ## Measure docs/identify.md (TRACE=file; UPDATE=yes writes it there)
	scripts/identification.sh $(TRACE) $(if $(UPDATE),--update)

attach-check: ## Schedule two shuffles of unmodified programs between network namespaces; needs root and BPF
	cargo build --locked --release --package covey
	scripts/attach_check.py $(CARGO_TARGET_DIR)/release/covey

attach-bench: ## Measure docs/attach.md; needs root and BPF
	cargo build --locked --release --package covey
	scripts/attach_bench.py $(CARGO_TARGET_DIR)/release/covey

prometheus-check: ## Check metrics, alert rules and dashboard against a real Prometheus; needs Debian's package prometheus
	cargo build --locked --package covey
	scripts/prometheus_check.py $(CARGO_TARGET_DIR)/debug/covey

bpf: ## Build the BPF objects again; needs clang and llvm
	scripts/bpf.sh

simgrid-check: ## Compare completion times on topology files with SimGrid's; takes it from Debian's packages
	cargo build --locked --release --package covey
	scripts/simgrid-check.sh $(CARGO_TARGET_DIR)/release/covey
