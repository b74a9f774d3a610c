# The operator's image: Node.js and one bundled file, without a shell, as a user that is not root.
#
#   make image IMG=registry.example/atwatch:0.1.0
#
# A build on top of other images: --build-arg BUILD_IMAGE=... --build-arg RUN_IMAGE=...
# BUILD_IMAGE needs node, npm and a shell; RUN_IMAGE needs /nodejs/bin/node and nothing else.
ARG BUILD_IMAGE=docker.io/library/node:24-slim
ARG RUN_IMAGE=gcr.io/distroless/nodejs24-debian13:nonroot

FROM ${BUILD_IMAGE} AS build
WORKDIR /src
COPY package.json package-lock.json .npmrc ./
RUN npm ci --ignore-scripts
COPY tsconfig.json ./
COPY hack/build.ts hack/build-runtime.tsconfig.json hack/
COPY hack/build hack/build
COPY src src
RUN node hack/build.ts
RUN npm sbom --sbom-format=spdx --omit=dev > dist/sbom.spdx.json

FROM ${RUN_IMAGE}
ARG VERSION=0.0.0
ARG REVISION=unknown
LABEL org.opencontainers.image.title="atwatch" \
      org.opencontainers.image.description="Run a command at a time (At), restart Pods when their configuration changes (ConfigWatcher)" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
COPY LICENSE /licenses/LICENSE
COPY --from=build /src/dist/sbom.spdx.json /usr/share/sbom/atwatch.spdx.json
COPY --from=build /src/dist/atwatch.js /atwatch.js
WORKDIR /
USER 65532:65532
ENV NODE_ENV=production
# What the C library would keep after a peak, in a heap for each thread, goes back to the kernel: 5 MB.
ENV MALLOC_ARENA_MAX=2 MALLOC_TRIM_THRESHOLD_=131072
# Without the middle one of V8's compilers: it takes 9 MB for code that the next one makes anew when it counts. The
# program sets flags like this itself, but this one must not change once V8 is at work.
ENTRYPOINT ["/nodejs/bin/node", "--no-maglev", "/atwatch.js"]
