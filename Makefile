# Every command of the project. `make` alone lists them.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory

BIN := node_modules/.bin
# The project brings its own Node.js, so that an older one on the PATH is no obstacle.
NODE := $(BIN)/node
CLUSTER := $(NODE) local-cluster/main.ts
KUBECTL := $(CLUSTER) kubectl
HELM := $(NODE) hack/helm/main.ts
CHART := charts/atwatch
IMG ?= atwatch:latest
CONFIG ?= config/default
# Rendering needs no cluster.
RENDER = KUBECONFIG=/dev/null $(KUBECTL) kustomize $(CONFIG) | sed 's|image: atwatch:latest|image: $(IMG)|'
# Each test file is a process of its own: half of a short one is compiling the same modules again.
NODE_TEST := env NODE_COMPILE_CACHE=$(CURDIR)/node_modules/.cache/node $(NODE) --test --test-timeout=300000
UNIT_TESTS := 'test/*.test.ts' 'test/!(integration|e2e|chart|manifests|prose|release|soak|bench|types|traces)/**/*.test.ts'
SOURCES := $(shell find src -name '*.ts') package.json tsconfig.json

##@ General

.PHONY: help
help: ## Show this help.
	@awk 'BEGIN {FS = ":.*## "; print "Usage: make <target>"} \
		/^##@/ {printf "\n%s\n", substr($$0, 5)} \
		/^[a-z][a-z0-9-]*:.*## / {printf "  %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: demo
demo: build ## Set everything up and show both kinds at work on a real cluster; KEEP=1 leaves cluster and operator running.
	@$(if $(KEEP),$(CLUSTER) up --node && KUBECONFIG=$$($(CLUSTER) kubeconfig) $(NODE) hack/demo.ts --keep,$(CLUSTER) run --node -- $(NODE) hack/demo.ts)

.PHONY: picture
picture: build ## Run both kinds on a real node, record it, and draw docs/images/at-work.svg of that.
	@$(CLUSTER) run --node -- $(NODE) hack/picture/record.ts

.PHONY: dashboard-picture
dashboard-picture: build ## Record three minutes of both kinds with Prometheus, and draw docs/images/dashboard.svg of that.
	@$(CLUSTER) run --node -- $(NODE) hack/dashboard/record.ts

##@ Development

# npm writes this file last: it is there and newer than the lock file only after a complete install.
node_modules/.package-lock.json: package-lock.json package.json
	@command -v npm >/dev/null || { echo "npm is missing: install Node.js 20 or later with npm" >&2; exit 1; }
	@echo "Installing the npm packages ..." >&2
	@npm ci --loglevel=error
	@$(NODE) --version >/dev/null || npm rebuild node --ignore-scripts=false --loglevel=error
	@touch $@

.PHONY: packages
packages: node_modules/.package-lock.json

.PHONY: generate
generate: packages ## Write what follows from the CRDs and from config/: types, schemas, docs/api.md, the chart's copies; of the benchmarks' figures plots; of doc comments docs/runtime-reference.md.
	@$(NODE) hack/generate.ts

.PHONY: generate-kubernetes-types
generate-kubernetes-types: packages ## Write src/kubernetes/types from the local cluster's API server, for a new Kubernetes.
	@$(NODE) hack/kubernetes-types.ts

.PHONY: manifests
manifests: packages ## Render CONFIG (default: config/default) to standard output.
	@$(RENDER)

.PHONY: verify
verify: packages ## Fail when a generated file differs from its source.
	@$(NODE) hack/generate.ts --check

.PHONY: fmt
fmt: packages ## Format the code.
	@$(BIN)/biome check --write .

.PHONY: lint
lint: packages ## Check format, budgets and import directions.
	@$(BIN)/biome check --error-on-warnings .

.PHONY: lint-prose
lint-prose: packages ## Check the sentences of documents, help and messages with Vale, built from source once; HINTS=1 for hints.
	@$(NODE) hack/vale/main.ts
	@$(NODE_TEST) --test-reporter=dot 'test/prose/*.test.ts'

.PHONY: typecheck
typecheck: packages ## Check the types.
	@$(BIN)/tsc -p .

##@ Test

# $(1): the tests.
define on_a_node
	if [ -n "$${KUBECONFIG:-}" ] || { [ "$$(uname -s)" = Linux ] && [ "$$(id -u)" = 0 ]; }; then \
		$(HELM) --build && $(CLUSTER) run --node -- $(NODE_TEST) --test-concurrency=1 $(1); \
	else echo "$(1) left out: a real node needs Linux and root, this is $$(uname -s) as $$(id -un)"; fi
endef

.PHONY: test
test: lint lint-prose typecheck verify build lint-manifests test-unit test-simulation test-integration test-chart test-e2e ## Run every check that a change has to pass.

.PHONY: test-unit
test-unit: packages ## Run the unit tests; PROPERTY_SEED=… gives the property tests another seed, or a random one each.
	@# Node.js leaves one core out, which on two cores means one file at a time.
	@$(NODE_TEST) --test-concurrency=2 $(UNIT_TESTS)

.PHONY: test-chart
test-chart: packages ## Lint the Helm chart, and compare what it renders with config/.
	@$(HELM) --build
	@KUBECONFIG=/dev/null $(KUBECTL) version --client >/dev/null
	@$(NODE_TEST) 'test/chart/**/*.test.ts'

# Beforehand, because no test may last as long as making them does the first time.
.PHONY: check-programs
check-programs: packages
	@$(NODE) hack/checks/main.ts

.PHONY: lint-manifests
lint-manifests: check-programs ## Check alerts, dashboard and rendered manifests with promtool and linters.
	@KUBECONFIG=/dev/null $(KUBECTL) version --client >/dev/null
	@$(NODE_TEST) 'test/manifests/*.test.ts'

.PHONY: test-integration
test-integration: build package-runtime check-programs ## Run the integration tests on a real API server.
	@$(CLUSTER) run -- $(NODE_TEST) --test-concurrency=3 'test/integration/*.test.ts'

.PHONY: test-e2e
test-e2e: build ## Run the end-to-end tests on a real node (Linux and root, or KUBECONFIG's cluster).
	@$(call on_a_node,'test/e2e/*.test.ts')

.PHONY: test-long
test-long: build check-programs ## Run the tests that take longest, which make test leaves out: loads, a kill at each write, upgrades (half an hour).
	@$(CLUSTER) run -- $(NODE_TEST) --test-concurrency=3 'test/integration/long/*.test.ts'
	@$(call on_a_node,'test/e2e/long/*.test.ts')

.PHONY: test-simulation
test-simulation: packages ## Run the operator in simulated clusters, with the same seeds each time: a minute of CPU time.
	@$(NODE) test/simulation/main.ts --fixed

.PHONY: simulate
simulate: packages ## The same with new seeds; SEED=… replays one and tells its story, HOURS=… goes on for so long.
	@$(NODE) test/simulation/main.ts

.PHONY: simulate-check
simulate-check: packages ## Plant bugs one by one, and print how soon the simulation finds each; BUG=… for one of them.
	@$(NODE) test/simulation/planted/check.ts

.PHONY: test-versions
test-versions: build package-runtime check-programs ## Run the integration tests on other minors: VERSIONS="1.36.3 1.35.4"; some minutes for each.
	@$(if $(VERSIONS),,echo 'say which: make test-versions VERSIONS="1.36.3 1.35.4"' >&2; exit 2)
	@$(NODE) hack/versions.ts $(VERSIONS)
	@$(NODE) hack/generate.ts

.PHONY: test-release
test-release: packages ## Make a release of this commit twice, verify it, and see forged ones refused (Linux and root).
	@$(NODE) --test --test-timeout=1800000 'test/release/*.test.ts'

.PHONY: test-types
test-types: package-runtime ## Type-check the packed runtime with each TypeScript from 5.4 to 7; make test has the ends.
	@$(NODE_TEST) 'test/types/*.test.ts'

.PHONY: test-traces
test-traces: packages ## Send the traces of reconciles through an OpenTelemetry collector, which is built from source once.
	@$(NODE) -e 'await (await import("./hack/collector/program.ts")).buildCollector()'
	@$(NODE_TEST) 'test/traces/*.test.ts'

.PHONY: test-headlamp
test-headlamp: headlamp build ## Look at the Headlamp plugin's pages with Chromium, on a real node (Linux and root); PICTURES=DIRECTORY keeps pictures.
	@command -v $${CHROMIUM:-chromium} >/dev/null || { apt-get update -qq && apt-get install -y -qq chromium; }
	@$(IN_HEADLAMP) && npm run -s build-harness
	@$(CLUSTER) run --node -- $(NODE_TEST) 'headlamp/test/*.test.ts'

.PHONY: test-site
test-site: site ## Look at each page of the site with Chromium: links, anchors, pictures, search; PICTURES=DIRECTORY keeps pictures.
	@command -v $${CHROMIUM:-chromium} >/dev/null || { apt-get update -qq && apt-get install -y -qq chromium; }
	@$(NODE_TEST) 'site/test/*.test.ts'

.PHONY: soak
soak: packages ## Let the runtime run for ten minutes of churn (SOAK_MINUTES) and four of quiet, and watch its size.
	@$(CLUSTER) run -- $(NODE) --test --test-concurrency=2 'test/soak/**/*.test.ts'

.PHONY: bench
bench: packages ## Measure the runtime and compare with its targets; ARGS="queue decode" for some of it, RECORD=1 keeps the figures.
	@$(CLUSTER) run -- $(NODE) test/bench/main.ts $(ARGS)

.PHONY: bench-package
bench-package: build package-runtime ## Compare the memory of a new operator on the packed runtime with this operator's.
	@$(NODE) test/bench/package.ts

.PHONY: bench-configwatcher
bench-configwatcher: build ## Measure ConfigWatcher on a real API server; ARGS="--changes=0 ..." leaves scenarios out, RECORD=1 keeps the figures.
	@$(NODE) test/bench/configwatcher.ts $(ARGS)

.PHONY: bench-annotated-workloads
bench-annotated-workloads: build ## Measure what 5000 workloads cost that ask for no restart.
	@$(NODE) test/bench/annotated-workloads.ts

.PHONY: bench-at
bench-at: build ## Measure the kind At on an API server of its own; ARGS="--hotspot=1000,5000 --seconds=300" for more, RECORD=1 keeps the figures.
	@$(NODE) test/bench/at.ts $(ARGS)

##@ Build

.PHONY: build
build: packages dist/atwatch.js ## Bundle the operator into dist/atwatch.js, and the kubectl plugins into dist/kubectl-*.

dist/atwatch.js: $(SOURCES) hack/build.ts $(wildcard hack/build/*.ts) node_modules/.package-lock.json
	@$(NODE) hack/build.ts

.PHONY: package-runtime
package-runtime: packages dist/runtime-package/package.json ## Build the package @atwatch/runtime into dist/runtime-package, ready for npm pack.

PACKAGE_SOURCES := $(wildcard hack/package-runtime.ts hack/package/* hack/build/*.ts local-cluster/* examples/notes/*)
dist/runtime-package/package.json: $(SOURCES) $(PACKAGE_SOURCES) docs/runtime.md docs/runtime-reference.md node_modules/.package-lock.json
	@$(NODE) hack/package-runtime.ts

PLUGIN_DIR ?= /usr/local/bin
.PHONY: install-plugins
install-plugins: build ## Install the kubectl plugins into PLUGIN_DIR (default /usr/local/bin), a folder of the PATH.
	@mkdir -p $(PLUGIN_DIR) && install -m 755 dist/kubectl-* dist/kubectl_complete-* $(PLUGIN_DIR)
	@echo "installed into $(PLUGIN_DIR): kubectl at, kubectl configwatcher"

.PHONY: krew
krew: build ## Pack the kubectl plugins for Krew into dist/krew; URL is where the archives will be published.
	@$(NODE) hack/krew.ts $(URL)

.PHONY: run
run: build ## Run the operator on this machine, against KUBECONFIG's cluster or the local one.
	@export KUBECONFIG="$${KUBECONFIG:-$$($(CLUSTER) kubeconfig 2>/dev/null || true)}"; \
		exec $(NODE) dist/atwatch.js $(ARGS)

.PHONY: image docker-build
image: packages ## Build the image IMG with docker, podman or buildah, whichever is there.
	@$(NODE) hack/image.ts build $(IMG)
docker-build: image

.PHONY: push docker-push
push: packages ## Push the image IMG with the same program.
	@$(NODE) hack/image.ts push $(IMG)
docker-push: push
.PHONY: renew-base-images
renew-base-images: packages ## Pin the Dockerfile's base images to what their tags stand for today.
	@$(NODE) hack/image.ts renew

.PHONY: chart
chart: packages ## Pack the Helm chart into dist/.
	@$(HELM) package $(CHART) --destination=dist

.PHONY: bundle
bundle: packages ## Write dist/bundle, the bundle for the Operator Lifecycle Manager, with image IMG.
	@rm -rf dist/bundle && mkdir -p dist && cp -R bundle dist/bundle
	@CSV=manifests/atwatch.clusterserviceversion.yaml && \
		sed 's|registry.example/atwatch:.*|$(IMG)|' bundle/$$CSV > dist/bundle/$$CSV && \
		echo "wrote dist/bundle with the image $(IMG)"

# A package of its own: its dependencies are Headlamp's, and nothing else needs them.
IN_HEADLAMP = cd headlamp && export PATH="$(abspath $(BIN)):$$PATH"
headlamp/node_modules/.package-lock.json: headlamp/package-lock.json headlamp/package.json
	@echo "Installing the npm packages of headlamp/ ..." >&2
	@cd headlamp && npm ci --ignore-scripts --loglevel=error
	@touch $@

.PHONY: headlamp
headlamp: packages headlamp/node_modules/.package-lock.json ## Build the Headlamp plugin into headlamp/dist.
	@$(IN_HEADLAMP) && npm run -s tsc && npm run -s build
	@echo "built headlamp/dist: copy it to Headlamp's plugins/atwatch"

site/node_modules/.package-lock.json: site/package-lock.json site/package.json
	@echo "Installing the npm packages of site/ ..." >&2
	@cd site && npm ci --ignore-scripts --loglevel=error
	@touch $@

.PHONY: site
site: packages site/node_modules/.package-lock.json ## Build the documents as a static site with search into site/dist/html; SITE_BASE=/PATH/ where it is not served from /.
	@cd site && export PATH="$(abspath $(BIN)):$$PATH" && npm run -s tsc && npm run -s build
	@echo "built site/dist/html"

RELEASE_DIR ?= dist/release
.PHONY: release
release: export IMG := $(if $(filter file,$(origin IMG)),,$(IMG))
release: build ## Make and sign release VERSION into RELEASE_DIR; IMG, SOURCE, KEY, see docs/verify.md.
	@VERSION=$(VERSION) SOURCE=$(SOURCE) URL=$(URL) KEY=$(KEY) BASES=$(BASES) $(NODE) hack/release.ts make $(RELEASE_DIR)

.PHONY: verify-release
verify-release: packages ## Verify the release in RELEASE_DIR by the public key KEY, as docs/verify.md says.
	@KEY=$(KEY) $(NODE) hack/release.ts verify $(RELEASE_DIR)

.PHONY: clean
clean: ## Remove what was built.
	@rm -rf dist

##@ Deployment

.PHONY: install
install: packages ## Install the CRDs into KUBECONFIG's cluster or the local one.
	@$(KUBECTL) apply --server-side -k crds

.PHONY: uninstall
uninstall: packages ## Remove the CRDs, and with them every At and ConfigWatcher.
	@$(KUBECTL) delete --ignore-not-found -k crds

.PHONY: deploy
deploy: packages ## Deploy the operator with image IMG, CRDs included; CONFIG names another folder of config/.
	@$(RENDER) | $(KUBECTL) apply --server-side -f -

.PHONY: undeploy
undeploy: packages ## Remove the operator, CRDs included.
	@$(RENDER) | $(KUBECTL) delete --ignore-not-found -f -

.PHONY: build-installer
build-installer: packages ## Write dist/install.yaml: all of CONFIG with image IMG, for one kubectl apply --server-side -f.
	@mkdir -p dist && $(RENDER) > dist/install.yaml && echo "wrote dist/install.yaml with the image $(IMG)"

##@ Local cluster

.PHONY: cluster-up
cluster-up: packages ## Start a local Kubernetes, with a real node when run as root on Linux.
	@$(CLUSTER) up --node-if-possible

.PHONY: cluster-down
cluster-down: packages ## Stop it and remove every trace of it.
	@$(NODE) hack/demo.ts --end-kept
	@$(CLUSTER) down

.PHONY: kubectl
kubectl: packages ## Run kubectl: make kubectl ARGS="get ats".
	@$(KUBECTL) $(ARGS)

.PHONY: helm
helm: packages ## Run helm: make helm ARGS="list --all-namespaces".
	@$(HELM) $(ARGS)
