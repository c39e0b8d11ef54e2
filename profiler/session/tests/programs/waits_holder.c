// The cause is two calls deep in a thread outside of intervals.
// build: gcc -O1 -g -pthread waits_holder.c
//
// With NAMED defined the background thread names itself, as a worker of a pool does.
// Interval: run_interval > take > pthread_mutex_lock, and nothing else. A background thread holds the mutex when the interval begins.
// It runs keep_house > hold_locked, which calls sweep for 50,000 ticks and then write_out > flush_page:
//   flush_page  3,000,000 or 9,000,000 ticks, each in half of the intervals of a balanced design: mean 6,000,000, variance 9e12
// Both start when the interval has begun. So flush_page has at least 6,000,000 ticks of the mean latency, and on a quiet machine all of
// the variance. The interval does not call flush_page, and keep_house is outside of intervals. The times are milliseconds, which are
// long compared with the time slices of a busy machine.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>

#include "spin.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static _Atomic uint64_t asked, is_held, is_begun;
static volatile uint64_t pages;

FUNCTION void sweep(void) {
    while (!atomic_load(&is_begun)) {
        give_way();
    }
    spin(50000);
}

FUNCTION void flush_page(uint64_t ticks) {
    spin(ticks);
    pages++;
}

FUNCTION void write_out(uint64_t ticks) {
    flush_page(ticks);
    pages++;
}

FUNCTION void hold_locked(uint64_t ticks) {
    pthread_mutex_lock(&mutex);
    atomic_store(&is_held, 1);
    sweep();
    write_out(ticks);
    pthread_mutex_unlock(&mutex);
}

FUNCTION int keep_house(void) {
    uint64_t ticks;
    while (!(ticks = atomic_exchange(&asked, 0))) {
        give_way();
    }
    if (ticks == 1) {
        return 0;
    }
    hold_locked(ticks);
    return 1;
}

static void *background(void *unused) {
#ifdef NAMED
    pthread_setname_np(pthread_self(), "keeper-1");
#endif
    while (keep_house()) {
    }
    return unused;
}

FUNCTION uint64_t take(uint64_t value) {
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    return value * 3;
}

FUNCTION uint64_t run_interval(uint64_t value) {
    atomic_store(&is_begun, 1);
    return take(value) + 1;
}

int main(int argc, char **argv) {
    unsigned long count = intervals(argc, argv, 480);
    struct design design = {.state = 1};
    uint64_t checksum = CHECKSUM_START;
    pthread_t thread;
    if (pthread_create(&thread, NULL, background, NULL)) {
        perror("pthread_create");
        return 1;
    }
    for (unsigned long i = 0; more(i, &count); i++) {
        atomic_store(&is_begun, 0);
        atomic_store(&is_held, 0);
        atomic_store(&asked, draw(&design) & 1 ? 9000000 : 3000000);
        while (!atomic_load(&is_held)) {
            give_way();
        }
        checksum = mix(checksum, run_interval(i));
    }
    atomic_store(&asked, 1);
    pthread_join(thread, NULL);
    print_result("waits_holder", count, checksum);
}
