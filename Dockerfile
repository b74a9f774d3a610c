# The operator's image: Node.js and one bundled file, without a shell, as a user that is not root.
#
#   make image IMG=registry.example/atwatch:0.1.0
#
# A build on top of other images: --build-arg BUILD_IMAGE=... --build-arg RUN_IMAGE=...
# BUILD_IMAGE needs node, npm and a shell; RUN_IMAGE needs /nodejs/bin/node and nothing else.
ARG BUILD_IMAGE=docker.io/library/node:24-slim@sha256:0e0ff40c39bc087845bfb27465a0df4ea419520094bc35842ff83dd8cbe6f9b6
ARG RUN_IMAGE=gcr.io/distroless/nodejs24-debian13:nonroot@sha256:9eeb7f5887d0e239e78264b06f7f11d2e14be534050481803a9e4728fcdd278e

FROM ${RUN_IMAGE} AS base

FROM ${BUILD_IMAGE} AS build
WORKDIR /src
COPY package.json package-lock.json .npmrc ./
RUN npm ci --ignore-scripts
COPY tsconfig.json ./
COPY LICENSE ./
COPY hack/build.ts hack/image-root.ts hack/
COPY hack/build hack/build
COPY src src
RUN node hack/build.ts
RUN --mount=type=bind,from=base,target=/base node hack/image-root.ts /base

FROM base
ARG VERSION=0.0.0
ARG REVISION=unknown
LABEL org.opencontainers.image.title="atwatch" \
      org.opencontainers.image.description="Run a command at a time (At), restart Pods when their configuration changes (ConfigWatcher)" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
COPY --from=build /src/dist/image /
WORKDIR /
USER 65532:65532
ENV NODE_ENV=production
# What the C library would keep after a peak goes back to the kernel: the compilers' memory of each thread apart from what
# stays, and its large pieces as mappings of their own (10 MB).
ENV MALLOC_ARENA_MAX=8 MALLOC_MMAP_THRESHOLD_=32768 MALLOC_TRIM_THRESHOLD_=131072
# V8 with what an operator needs, for the memory that the rest takes: a young generation that does not slow a thousand
# launches at once by collections, and no larger; two threads for collections and compilers (1 MB); the HTTP parser,
# which is WebAssembly, as the fast compiler makes it (20 MB). With --expose-gc the garbage of the start is collected once
# (10 MB). All of them here and none set by the running program: V8 does not promise that its flags may change once it is
# at work.
ENTRYPOINT ["/nodejs/bin/node", "--max-semi-space-size=8", "--v8-pool-size=2", "--liftoff-only", "--no-wasm-tier-up", "--no-wasm-dynamic-tiering", "--expose-gc", "/atwatch.js"]
