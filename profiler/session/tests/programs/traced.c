// A service that works for spans of distributed traces, and says for which.
// build: gcc -O1 -g -I../../../../include traced.c
//
// Interval: annotated,within=handle or, of a program that announces nothing, handle,label=text:0. The second argument names a file for the spans,
// OTLP's JSON, a line a request; they come from the clock of the time of day, as a library's would.
//   gate: GET /buy                a little longer than what it calls
//     gate: call shop             the same
//       shop: GET /price          the same, around handle
//         handle
//           look_up               100,000 ticks; in one of eight requests it misses, and sleeps for 100 ms
//           rpc                   around shop: call stock, a span of 400,000 ticks
//           render                200,000 ticks
// Of 16 requests two are not joined: the spans of one are not written, another names a span that is not there.
#define _DEFAULT_SOURCE
#include "evenkeel.h"
#include "spin.h"

#include <time.h>

// With -DSILENT nothing is announced: then the argument of handle says it.
#ifdef SILENT
#define ANNOUNCE(call) (void)0
#else
#define ANNOUNCE(call) evenkeel_##call
#endif

enum { GATE = 1, CALL_SHOP, SHOP, CALL_STOCK, MISSING };

static uint64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static uint64_t called_ns, answered_ns;

FUNCTION uint64_t look_up(int misses) {
    spin(100000);
    if (misses)
        usleep(100000);
    return (uint64_t)misses;
}

FUNCTION uint64_t rpc(void) {
    called_ns = now_ns();
    spin(400000);
    answered_ns = now_ns();
    return 1;
}

FUNCTION uint64_t render(uint64_t of) {
    spin(200000);
    return of + 1;
}

FUNCTION uint64_t handle(const char *traceparent, uint64_t number, int misses) {
    ANNOUNCE(begin(number));
    ANNOUNCE(class(number, "price"));
    ANNOUNCE(trace(number, traceparent));
    uint64_t result = look_up(misses);
    result += rpc();
    result = render(result);
    ANNOUNCE(end(number));
    return result;
}

static void write_span(FILE *out, uint64_t trace, int id, const char *name, int kind, uint64_t start, uint64_t end) {
    fprintf(out,
            "{\"traceId\":\"%032lx\",\"spanId\":\"%016lx\",\"parentSpanId\":\"%016lx\",\"name\":\"%s\",\"kind\":%d,"
            "\"startTimeUnixNano\":\"%lu\",\"endTimeUnixNano\":\"%lu\"}",
            trace, trace << 8 | (uint64_t)id, id == GATE ? 0 : trace << 8 | (uint64_t)(id - 1), name, kind, start, end);
}

static void service(FILE *out, const char *name) {
    fprintf(out, "{\"resource\":{\"attributes\":[{\"key\":\"service.name\",\"value\":{\"stringValue\":\"%s\"}}]},\"scopeSpans\":[{\"spans\":[", name);
}

int main(int argc, char **argv) {
    unsigned long count = intervals(argc, argv, 320);
    FILE *out = argc > 2 ? fopen(argv[2], "w") : NULL;
    uint64_t checksum = CHECKSUM_START;
    for (unsigned long i = 0; i < count; i++) {
        uint64_t trace = i + 1;
        int id = i % 16 == 5 ? MISSING : SHOP;
        char traceparent[64];
        snprintf(traceparent, sizeof traceparent, "00-%032lx-%016lx-01", trace, trace << 8 | (uint64_t)id);
        uint64_t asked = now_ns(), sent = now_ns(), begin = now_ns();
        checksum = mix(checksum, handle(traceparent, i + 1, i % 8 == 3));
        uint64_t end = now_ns(), came = now_ns(), shown = now_ns();
        if (out && i % 16 != 7) {
            fprintf(out, "{\"resourceSpans\":[");
            service(out, "gate");
            write_span(out, trace, GATE, "GET /buy", 2, asked, shown);
            fprintf(out, ",");
            write_span(out, trace, CALL_SHOP, "call shop", 3, sent, came);
            fprintf(out, "]}]},");
            service(out, "shop");
            write_span(out, trace, SHOP, "GET /price", 2, begin, end);
            fprintf(out, ",");
            write_span(out, trace, CALL_STOCK, "call stock", 3, called_ns, answered_ns);
            fprintf(out, "]}]}]}\n");
        }
    }
    if (out)
        fclose(out);
    print_result("traced", count, checksum);
    return 0;
}
