#!/bin/sh
# Installs OpenTelemetry's SDKs for Python and JavaScript into the folder $1, once; says why not on standard error.
set -eu
mkdir -p "$1"
cd "$1"
[ -e installed-with-grpc ] && exit 0
python3 -m venv python
python/bin/pip install --quiet --disable-pip-version-check opentelemetry-sdk \
    opentelemetry-exporter-otlp-proto-http opentelemetry-exporter-otlp-proto-grpc
npm install --silent --no-fund --no-audit --prefix . @opentelemetry/api @opentelemetry/resources \
    @opentelemetry/sdk-trace-node @opentelemetry/exporter-trace-otlp-http
touch installed-with-grpc
