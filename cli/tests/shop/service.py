"""Two of the shop's services, with OpenTelemetry's SDK for Python: `service.py NAME PORT [CALLEE=PORT ..]`.

The culprit is planted in `payment`: one of eight lookups misses its cache and takes 800 ms instead of 1.
"""

import itertools
import os
import sys
import time
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from opentelemetry import propagate, trace
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

if os.environ.get("OTEL_EXPORTER_OTLP_PROTOCOL") == "grpc":
    from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
else:
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

name, port = sys.argv[1], int(sys.argv[2])
callees = dict(word.split("=") for word in sys.argv[3:])
provider = TracerProvider(resource=Resource.create({"service.name": name}))
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(), schedule_delay_millis=200))
trace.set_tracer_provider(provider)
tracer = trace.get_tracer("shop")
lookups = itertools.count()


def call(callee, path):
    with tracer.start_as_current_span(f"call {callee}", kind=trace.SpanKind.CLIENT):
        headers = {}
        propagate.inject(headers)
        request = urllib.request.Request(f"http://127.0.0.1:{callees[callee]}{path}", headers=headers)
        with urllib.request.urlopen(request) as answer:
            answer.read()


def checkout():
    call("cart", "/cart")
    call("payment", "/pay")


def pay():
    with tracer.start_as_current_span("lookup balance"):
        time.sleep(0.800 if next(lookups) % 8 == 3 else 0.001)


work = {"/checkout": checkout, "/pay": pay}


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path == "/end":
            provider.force_flush()
        elif self.path in work:
            caller = propagate.extract({name.lower(): value for name, value in self.headers.items()})
            kind = trace.SpanKind.SERVER
            with tracer.start_as_current_span(f"GET {self.path}", context=caller, kind=kind):
                work[self.path]()
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()
