# The image of evenkeel, built from the sources: `docker build -t evenkeel .`. `make package` makes the same without a registry.
#
# It attaches to processes of the machine where it sees them and may trace them:
#   docker run --rm --pid=host --privileged evenkeel attach --name postgres --preset postgres --for 60s
FROM rust:1-bookworm AS build
WORKDIR /src
COPY . .
RUN make install DESTDIR=/out PREFIX=/usr

FROM debian:bookworm-slim
RUN apt-get update && apt-get install -y --no-install-recommends libgcc-s1 && rm -rf /var/lib/apt/lists/*
COPY --from=build /out/ /
WORKDIR /tmp
ENTRYPOINT ["/usr/bin/evenkeel"]
CMD ["doctor"]
