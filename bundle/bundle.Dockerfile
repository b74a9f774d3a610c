# Generated from hack/generate/bundle.ts by hack/generate.ts (make generate). Do not edit.
#
#   make bundle IMG=registry.example/atwatch:0.1.0
#   docker build --file dist/bundle/bundle.Dockerfile --tag registry.example/atwatch-bundle:0.1.0 dist/bundle
FROM scratch
LABEL operators.operatorframework.io.bundle.mediatype.v1=registry+v1
LABEL operators.operatorframework.io.bundle.manifests.v1=manifests/
LABEL operators.operatorframework.io.bundle.metadata.v1=metadata/
LABEL operators.operatorframework.io.bundle.package.v1=atwatch
LABEL operators.operatorframework.io.bundle.channels.v1=candidate
LABEL operators.operatorframework.io.bundle.channel.default.v1=candidate
COPY manifests /manifests/
COPY metadata /metadata/
