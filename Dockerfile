# One image for console and agents: Valkey 9 built from Debian's sources, Python, the built page and the endpoint proxy.
# Everything is pinned by digest or by lock; `make check` asserts it.

FROM node:22-trixie-slim@sha256:b26b04c123d9ff8ab646ceb18b9d75a1173acf64b9a401094b906d27b29338d4 AS page
WORKDIR /opt/shardboard
COPY package.json package-lock.json ./
COPY frontend/package.json frontend/
RUN npm ci --include=dev --ignore-scripts --no-audit --no-fund --workspace frontend
COPY docs/guide docs/guide
COPY frontend frontend
RUN npm run build

FROM rust:1.94-slim-trixie@sha256:cf09adf8c3ebaba10779e5c23ff7fe4df4cccdab8a91f199b0c142c53fef3e1a AS proxy
WORKDIR /opt/shardboard/engine
COPY engine ./
RUN cargo build --release --locked --package proxy --package load --package mover --package tier

FROM python:3.13-slim-trixie@sha256:9d2e5553305c7c7b0097999bb17187c69b921ccd6bc9d40e4bb5ebe652c00285 AS engine
COPY scripts/build-engine /usr/local/sbin/
RUN apt-get update && apt-get install --yes --no-install-recommends gcc libc6-dev make patch pkg-config libssl-dev
RUN build-engine /opt/engine && mv /opt/engine/*/bin /opt/engine/bin

FROM python:3.13-slim-trixie@sha256:9d2e5553305c7c7b0097999bb17187c69b921ccd6bc9d40e4bb5ebe652c00285 AS packages
WORKDIR /opt/shardboard
COPY requirements-container.lock ./
RUN python -m venv .venv && .venv/bin/pip install --no-cache-dir --require-hashes --requirement requirements-container.lock
COPY pyproject.toml hatch_build.py LICENSE ./
COPY backend/shardboard backend/shardboard
RUN .venv/bin/pip install --no-cache-dir --no-deps --no-build-isolation --editable .

FROM python:3.13-slim-trixie@sha256:9d2e5553305c7c7b0097999bb17187c69b921ccd6bc9d40e4bb5ebe652c00285
RUN apt-get update && apt-get install --yes --no-install-recommends ldap-utils libssl3t64 \
  && rm -rf /var/lib/apt/lists/* \
  && useradd --system --uid 10001 --create-home --home-dir /var/lib/shardboard shardboard \
  && install --directory --owner shardboard --mode 700 /var/lib/shardboard-join \
  && install --directory --owner shardboard --mode 750 /var/backups/shardboard
WORKDIR /opt/shardboard
COPY --from=packages /opt/shardboard /opt/shardboard
COPY --from=page /opt/shardboard/frontend/dist frontend/dist
COPY --from=engine /opt/engine/bin /usr/local/bin
COPY --from=proxy /opt/shardboard/engine/target/release/libshardboard_tier.so /usr/local/lib/shardboard/
COPY --from=proxy /opt/shardboard/engine/target/release/shardboard-proxy /opt/shardboard/engine/target/release/shardboard-load \
  /opt/shardboard/engine/target/release/shardboard-mover /usr/local/bin/
COPY migrations migrations
COPY scripts/container-entrypoint /usr/local/bin/
ENV PATH=/opt/shardboard/.venv/bin:$PATH PYTHONUNBUFFERED=1 SHARDBOARD_STATE_DIR=/var/lib/shardboard
VOLUME /var/lib/shardboard
ENTRYPOINT ["container-entrypoint"]
CMD ["shardboard", "console"]
