# Everything a developer does here, by name. `make` alone lists it.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

CARGO := cargo
CONTROL_PLANE := $(CARGO) run --locked -q -p berth-control-plane --
PLACEMENT_GABBI := $(CARGO) run --locked -q -p berth-placement-gabbi --
KEYSTONE := $(CARGO) run --locked -q -p berth-keystone --
CHART_TOOLS := $(CARGO) run --locked -q -p berth-helm -- tools

.PHONY: help
help: ## List these targets.
	@echo "Usage: make TARGET"
	@echo
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  %-14s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

.PHONY: setup
setup: ## Install what a fresh Debian machine lacks, fetch the crates, build kube-apiserver, etcd and helm once, fetch Placement's suite and Keystone.
	@hack/setup.sh install
	$(CARGO) fetch --locked
	$(CONTROL_PLANE) build
	$(PLACEMENT_GABBI) --prepare
	$(KEYSTONE) prepare
	$(CHART_TOOLS)

.PHONY: check-tools
check-tools:
	@hack/setup.sh check

# The tests run on new machines as well, unattended: they install what Debian has.
.PHONY: ensure-tools
ensure-tools:
	@hack/setup.sh check-tests || hack/setup.sh install

# What belongs together is built at once and the programs are started by themselves: built one by one they would have other
# features, and most of the crates below them would be built again.
BUILT = $(abspath $(or $(CARGO_TARGET_DIR),target))

.PHONY: run
run: check-tools ## Show the operator at work on a real control plane, or two with CLUSTERS=2; ONCE=1 compares the end state and ends, UPDATE=1 writes it.
	$(CARGO) build --locked -p berth -p berth-demo -p berth-control-plane
	@$(BUILT)/debug/berth-control-plane build
	@$(BUILT)/debug/berth-demo $(if $(CLUSTERS),--clusters=$(CLUSTERS)) $(if $(ONCE),--once) $(if $(UPDATE),--update)

.PHONY: e2e
e2e: check-tools ## Run `berth e2e-commitments` against the system of `make run`, with and without authentication of callers.
	$(CARGO) build --locked -p berth -p berth-demo -p berth-control-plane
	@$(BUILT)/debug/berth-control-plane build
	@$(BUILT)/debug/berth-demo --checks
	@$(BUILT)/debug/berth-demo --checks --auth

.PHONY: test
test: ensure-tools ## Run all tests, the demonstrations among them, and print the totals.
	@hack/test.sh

.PHONY: keystone
keystone: check-tools ## Start a real Keystone with users and roles for tests, and say how to log in.
	@$(KEYSTONE) up

.PHONY: placement-suite
placement-suite: check-tools ## Run Placement's own suite against `berth placement`; FILE=basic-http one file, REFERENCE=1 against Placement itself.
	$(if $(REFERENCE),,$(CARGO) build --locked -p berth)
	@$(PLACEMENT_GABBI) $(if $(REFERENCE),--reference,--server $(BUILT)/debug/berth) $(if $(FILE),--only $(FILE))

.PHONY: mutants
mutants: check-tools ## Switch on one fault after the other, and see that the tests notice each of them.
	$(CARGO) run --locked -q -p berth-mutants

.PHONY: lint
lint: ensure-tools ## Check format, lints, documentation, and licences, sources and advisories of all dependencies.
	$(CARGO) fmt --all --check
	$(CARGO) clippy --locked --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --locked --workspace --no-deps
	@hack/setup.sh cargo-deny
	@hack/deny.sh

.PHONY: advisories
advisories: ## Check all dependencies against GitHub's database of advisories; fails when it cannot be fetched.
	@hack/setup.sh cargo-deny
	@hack/deny.sh advisories

.PHONY: crds
crds: check-tools ## Write the CRDs to config/crd/ anew.
	$(CARGO) run --locked -q -p berth -- crds --directory config/crd

.PHONY: release-crds
release-crds: ## Make today's CRDs those of the last release, with which later ones are compared; nothing is accepted any more.
	rm config/crd-released/*.yaml
	cp config/crd/*.yaml config/crd-released/
	sed -i '/^$$/,$$d' config/crd-released/accepted.txt

CHART = $(BUILT)/debug/berth-chart

.PHONY: chart
chart: check-tools ## Check the chart: lint, schema, all sets of values, kubeconform, README, rights and definitions up to date.
	$(CARGO) build --locked -p berth -p berth-helm
	@$(CHART) check --berth $(BUILT)/debug/berth

.PHONY: chart-files
chart-files: check-tools ## Write what is made from others: rules, definitions and README of the chart, and config/rbac/ from the chart.
	$(CARGO) build --locked -p berth -p berth-helm
	@$(CHART) write --berth $(BUILT)/debug/berth

.PHONY: docs
docs: check-tools ## Write the API documentation of all crates.
	$(CARGO) doc --locked --workspace --no-deps
	@echo "Open $${CARGO_TARGET_DIR:-target}/doc/berth_core/index.html in a browser."

.PHONY: control-plane
control-plane: check-tools ## Start a control plane, and say how to point kubectl at it.
	@$(CONTROL_PLANE) up

# Optimized programs hold no path of the machine that built them, so that two builds in two folders are the same.
RELEASE = RUSTFLAGS="$(RUSTFLAGS) --remap-path-prefix=$(CURDIR)=/berth --remap-path-prefix=$(or $(CARGO_HOME),$(HOME)/.cargo)=/cargo" \
	$(CARGO) build --locked --release

.PHONY: release
release: check-tools ## Build the optimized berth, without paths of this machine in it.
	$(RELEASE) -p berth

.PHONY: static
static: check-tools ## Build the optimized berth as one static program, with the list of its packages in it.
	@hack/setup.sh musl
	@hack/static.sh release

.PHONY: image
image: check-tools ## Build the image with buildah, podman or docker; IMAGE=localhost/berth:0.1.0 is its name.
	@hack/image.sh $(IMAGE)

.PHONY: reproducible
reproducible: check-tools ## Build berth, and its static program, in two folders, and fail unless both are the same, byte for byte.
	@hack/reproducible.sh

.PHONY: sbom
sbom: check-tools ## Write a CycloneDX bill of materials for each release target to target/sbom.
	@hack/sbom.sh

.PHONY: licences
licences: check-tools ## Write the licences of all packages in berth to THIRD-PARTY-LICENSES.txt.
	$(CARGO) run --locked -q -p berth-image --bin berth-licences

BENCH = $(BUILT)/release/berth-bench

.PHONY: bench-build
bench-build: check-tools
	$(RELEASE) -p berth -p berth-bench -p berth-control-plane
	@$(BUILT)/release/berth-control-plane build

.PHONY: bench
bench: bench-build ## Measure the figures of docs/performance.md; QUICK=1 in minutes, ONLY=scheduler,floor some of them.
	@$(BENCH) figures $(if $(ONLY),--only $(ONLY)) $(if $(QUICK),--quick) $(if $(ROUNDS),--rounds $(ROUNDS)) \
		$(if $(HOSTS),--hosts $(HOSTS)) $(if $(STORE),--store $(STORE))

.PHONY: bench-start
bench-start: bench-build ## Measure the start with 5,000 and 50,000 objects; OBJECTS=N measures one size.
	@$(BENCH) start $(if $(OBJECTS),--objects $(OBJECTS))

.PHONY: attack
attack: bench-build ## Attack our own servers on loopback: the figures of docs/security.md; QUICK=1 in seconds, ONLY=readers,senders some attacks.
	@$(BENCH) attack $(if $(ONLY),--only $(ONLY)) $(if $(QUICK),--quick)

# libFuzzer with the compiler of every day: the passes of LLVM that it needs are asked for by hand. With --target they
# are not asked of build scripts, which have no fuzzer to link with.
FUZZ_TARGET = $(shell rustc -vV | sed -n 's/^host: //p')
FUZZ_DIR = $(BUILT)/fuzz
FUZZ_FLAGS := --cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
	-Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
	-Cllvm-args=-sanitizer-coverage-trace-compares -Clink-dead-code -Ccodegen-units=1

FUZZ_TARGETS := capacity_body configuration flavor_groups limes_body liquid_body names placement_body placement_head placement_query quantity quota_body request token_answer vm_rows

.PHONY: fuzz
fuzz: check-tools ## Give readers what nobody has thought of, each for SECONDS=60; TARGET=request, or another one, alone.
	@[[ -z "$(TARGET)" || " $(FUZZ_TARGETS) " == *" $(TARGET) "* ]] || { echo "TARGET is one of: $(FUZZ_TARGETS)"; exit 2; }
	cd fuzz && RUSTFLAGS="$(FUZZ_FLAGS)" $(CARGO) build --locked --release --target $(FUZZ_TARGET) --target-dir $(FUZZ_DIR)
	@for target in $(or $(TARGET),$(FUZZ_TARGETS)); do \
		echo "== $$target"; \
		mkdir -p $(FUZZ_DIR)/found/$$target; \
		$(FUZZ_DIR)/$(FUZZ_TARGET)/release/$$target -max_total_time=$(or $(SECONDS),60) -timeout=5 -rss_limit_mb=4096 \
			-dict=fuzz/$$target.dict -artifact_prefix=$(FUZZ_DIR)/$$target- -print_final_stats=1 \
			$(FUZZ_DIR)/found/$$target fuzz/corpus/$$target; \
	done

.PHONY: soak
soak: check-tools ## Kill and pause operator, API server and etcd under load, for ROUNDS=20, with what SEED=1 and the next ones decide.
	@$(CONTROL_PLANE) build
	ROUNDS=$(or $(ROUNDS),20) SEED=$(or $(SEED),1) $(CARGO) test --locked -p berth --test storm -- --nocapture

.PHONY: clean
clean: ## Remove what was built in this checkout.
	$(CARGO) clean
	@echo "kube-apiserver and etcd stay in $${XDG_CACHE_HOME:-$$HOME/.cache}/berth/control-plane, for all checkouts."
