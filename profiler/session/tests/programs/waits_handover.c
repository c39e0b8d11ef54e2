// An interval that goes on on another thread while the first still works.
// build: gcc -O1 -g -pthread -I../../../../include waits_handover.c
//
// Interval, annotated: main begins it, works in parse, hands it over through a queue, and works on for it in record until after its end.
// The worker works in handle, and ends it:
//   parse   100,000 or 300,000 ticks, each in half of the intervals: mean 200,000, variance 1e10
//   handle  300,000 or 900,000 ticks, independently: mean 600,000, variance 9e10
// So the latency is that of parse, the queue and handle; record runs at the same time as handle and is not on the path, nor is what
// the worker does before it takes the interval up. On a quiet machine the queue is as good as nothing, a tenth of the
// variance is parse's and nine tenths are handle's.
#include <pthread.h>
#include <stdatomic.h>

#include "evenkeel.h"
#include "spin.h"

#define INTERVAL 1
#define OVER 1

static _Atomic uint64_t queue, is_ended;

FUNCTION uint64_t parse(uint64_t ticks) {
    spin(ticks);
    return ticks * 3;
}

FUNCTION uint64_t handle(uint64_t ticks) {
    spin(ticks);
    return ticks * 5;
}

FUNCTION uint64_t record(uint64_t value) {
    while (!atomic_load(&is_ended)) {
        give_way();
    }
    spin(20000);
    return value + 1;
}

static void *worker(void *unused) {
    for (;;) {
        uint64_t ticks = atomic_exchange(&queue, 0);
        if (ticks == OVER) {
            return unused;
        }
        if (ticks) {
            evenkeel_dequeue(INTERVAL);
            evenkeel_work(INTERVAL);
            handle(ticks);
            evenkeel_end(INTERVAL);
            atomic_store(&is_ended, 1);
        }
        give_way();
    }
}

static uint64_t serve(uint64_t parse_ticks, uint64_t handle_ticks) {
    atomic_store(&is_ended, 0);
    evenkeel_begin(INTERVAL);
    uint64_t parsed = parse(parse_ticks);
    evenkeel_enqueue(INTERVAL);
    atomic_store(&queue, handle_ticks);
    parsed = record(parsed);
    evenkeel_work(0);
    return parsed;
}

int main(int argc, char **argv) {
    unsigned long count = intervals(argc, argv, 800);
    struct design design = {.state = 1};
    uint64_t checksum = CHECKSUM_START;
    pthread_t thread;
    if (pthread_create(&thread, NULL, worker, NULL)) {
        perror("pthread_create");
        return 1;
    }
    for (unsigned long i = 0; i < count; i++) {
        unsigned bits = draw(&design);
        checksum = mix(checksum, serve(bits & 1 ? 300000 : 100000, bits & 2 ? 900000 : 300000));
    }
    atomic_store(&queue, OVER);
    pthread_join(thread, NULL);
    print_result("waits_handover", count, checksum);
}
