/* evenkeel.h: marks the intervals of a program for Evenkeel's profiler. C and C++, one header, nothing to link.
 *
 * A semantic interval is one request, transaction or statement. It may end on another thread or in another process than
 * it began. Each thread that works on it calls evenkeel_work. A task is a piece of work that waits in a queue.
 *
 *     evenkeel_begin(id);                 the interval begins, and this thread works on it
 *     evenkeel_work(id);                  this thread works on it from now on; 0: on none
 *     evenkeel_end(id);                   the interval ends; a thread that worked on it works on none
 *     evenkeel_enqueue(task);             just before the task is put into a queue
 *     evenkeel_dequeue(task);             just after it was taken out
 *     evenkeel_class(id, "checkout");     while the interval runs: its class
 *     evenkeel_attribute(id, "rows", n);  while the interval runs: a number that may explain its latency
 *     evenkeel_trace(id, traceparent);    while the interval runs: the span of a distributed trace that it belongs to
 *
 * A traceparent is W3C's text, "00-<32 digits: the trace>-<16 digits: the span>-01". Requests have it in the header of
 * that name, and OpenTelemetry's propagators write it. `evenkeel spans FILE.. --trace-id RUN.keel` joins the intervals
 * to their spans.
 *
 * Blocking and waking need no annotation: the profiler sees the C library's locks, queues and sockets by itself.
 *
 * Identities are 64-bit numbers other than 0, such as EVENKEEL_ID(pointer) of a structure that lives as long as the
 * interval or task. An identity is valid in one process; EVENKEEL_SHARED(number) makes one that is valid in all.
 * An interval and a task may have the same number, and it may be used again when the interval has ended.
 *
 * Without the profiler each call costs a load and a branch; in a statically linked program that never changes.
 * `evenkeel profile` records the calls when it follows intervals across threads.
 */
#ifndef EVENKEEL_H
#define EVENKEEL_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define EVENKEEL_ID(pointer) ((uint64_t)(uintptr_t)(pointer))
#define EVENKEEL_SHARED(number) ((uint64_t)(number) | UINT64_C(1) << 63)

/* What the profiler fills in. Not for direct use. */
struct evenkeel_annotations {
    uint64_t bytes;
    void (*begin)(uint64_t);
    void (*end)(uint64_t);
    void (*work)(uint64_t);
    void (*enqueue)(uint64_t);
    void (*dequeue)(uint64_t);
    void (*class_)(uint64_t, const char *, uint64_t);
    void (*attribute)(uint64_t, const char *, uint64_t, int64_t);
};

/* One pointer for each executable or library, shared by its files. */
__attribute__((weak, visibility("hidden"))) const struct evenkeel_annotations *evenkeel_found;

/* The C library's dlsym; weak, so that no program has to link libdl. */
extern void *evenkeel_dlsym(void *, const char *) __asm__("dlsym") __attribute__((weak));

/* Run before main, or when the library is loaded. The null handle is RTLD_DEFAULT. */
__attribute__((constructor, unused)) static void evenkeel_find(void) {
    if (evenkeel_dlsym)
        evenkeel_found = (const struct evenkeel_annotations *)evenkeel_dlsym((void *)0, "evenkeel_annotations_1");
}

#define EVENKEEL_TELL(call)                      \
    do {                                         \
        if (__builtin_expect(!!evenkeel_found, 0)) \
            evenkeel_found->call;                \
    } while (0)

static __inline__ void evenkeel_begin(uint64_t id) { EVENKEEL_TELL(begin(id)); }
static __inline__ void evenkeel_end(uint64_t id) { EVENKEEL_TELL(end(id)); }
static __inline__ void evenkeel_work(uint64_t id) { EVENKEEL_TELL(work(id)); }
static __inline__ void evenkeel_enqueue(uint64_t task) { EVENKEEL_TELL(enqueue(task)); }
static __inline__ void evenkeel_dequeue(uint64_t task) { EVENKEEL_TELL(dequeue(task)); }
static __inline__ void evenkeel_class(uint64_t id, const char *name) { EVENKEEL_TELL(class_(id, name, UINT64_MAX)); }
static __inline__ void evenkeel_attribute(uint64_t id, const char *name, int64_t value) {
    EVENKEEL_TELL(attribute(id, name, UINT64_MAX, value));
}

/* What a traceparent is, its form says: it travels as a class does, and an interval has both. */
static __inline__ void evenkeel_trace(uint64_t id, const char *traceparent) { EVENKEEL_TELL(class_(id, traceparent, UINT64_MAX)); }

#undef EVENKEEL_TELL

#ifdef __cplusplus
}
#endif

#endif
