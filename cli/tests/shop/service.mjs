// Two of the shop's services, with OpenTelemetry's SDK for JavaScript: `service.mjs NAME PORT [CALLEE=PORT ..]`.

import http from "node:http";
import { context, propagation, SpanKind, trace } from "@opentelemetry/api";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { resourceFromAttributes } from "@opentelemetry/resources";
import { BatchSpanProcessor, NodeTracerProvider } from "@opentelemetry/sdk-trace-node";

const [name, port, ...words] = process.argv.slice(2);
const callees = Object.fromEntries(words.map((word) => word.split("=")));
const provider = new NodeTracerProvider({
  resource: resourceFromAttributes({ "service.name": name }),
  spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter(), { scheduledDelayMillis: 200 })],
});
provider.register();
const tracer = trace.getTracer("shop");

const call = (callee, path) =>
  tracer.startActiveSpan(`call ${callee}`, { kind: SpanKind.CLIENT }, async (span) => {
    const headers = {};
    propagation.inject(context.active(), headers);
    await new Promise((resolve, reject) => {
      http.get({ host: "127.0.0.1", port: callees[callee], path, headers }, (answer) => {
        answer.resume().on("end", resolve);
      }).on("error", reject);
    });
    span.end();
  });

const work = {
  "/cart": () => call("stock", "/stock"),
  "/stock": () => new Promise((resolve) => setTimeout(resolve, 2)),
};

http
  .createServer(async (request, response) => {
    if (request.url === "/end") {
      await provider.forceFlush();
    } else if (work[request.url]) {
      const caller = propagation.extract(context.active(), request.headers);
      const options = { kind: SpanKind.SERVER };
      await tracer.startActiveSpan(`GET ${request.url}`, options, caller, async (span) => {
        await work[request.url]();
        span.end();
      });
    }
    response.end();
  })
  .listen(Number(port), "127.0.0.1");
