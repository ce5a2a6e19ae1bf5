# syntax=docker/dockerfile:1
# A small image with the papertape binary: no shell, no package manager, not root. See docs/deploy.md.
#
#   docker build -t papertape .
#   docker build -t papertape --build-arg FEATURES=full .

ARG RUST_VERSION=1.95

FROM rust:${RUST_VERSION}-bookworm AS build
# Features of papertape-cli beyond its defaults, separated by commas.
ARG FEATURES=
WORKDIR /src
COPY . .
# What cargo downloads and compiles is kept between builds; the binary must be copied out of the cache.
RUN --mount=type=cache,target=/usr/local/cargo/registry \
    --mount=type=cache,target=/src/target \
    cargo build --locked --profile dist --package papertape-cli --features "${FEATURES}" \
    && strip -o /papertape target/dist/papertape \
    && mkdir /data

FROM gcr.io/distroless/cc-debian12:nonroot
COPY --from=build /papertape /usr/local/bin/papertape
# Keys and indexes. Mount a volume here to keep them.
COPY --from=build --chown=65532:65532 /data /data
ENV XDG_DATA_HOME=/data
USER 65532:65532
EXPOSE 8080
ENTRYPOINT ["/usr/local/bin/papertape"]
CMD ["--help"]
