// A mutex that a background thread holds while it works.
// build: gcc -O1 -g -pthread waits_mutex.c
//
// Interval: run_interval > take > pthread_mutex_lock. Before each interval the background thread is asked to take the mutex,
// and has it when the interval begins; it works on in hold, under the mutex, for H ticks from then on:
//   hold  300,000 or 900,000 ticks, each in half of the intervals of a balanced design: mean 600,000, variance 9e10
// The interval does nothing but wait for it. So all but some microseconds of the latency, at least 600,000 ticks in the mean, is
// take > waits: mutex > thread outside of intervals > hold, and on a quiet machine so is all of the variance. The clock of hold
// starts when the interval has begun, so that the wait is as long as was planted whatever the machine does.
#include <pthread.h>
#include <stdatomic.h>

#include "spin.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static _Atomic uint64_t asked, is_held, is_begun;

FUNCTION uint64_t hold(uint64_t ticks) {
    while (!atomic_load(&is_begun)) {
        give_way();
    }
    spin(ticks);
    return ticks;
}

FUNCTION void hold_locked(uint64_t ticks) {
    pthread_mutex_lock(&mutex);
    atomic_store(&is_held, 1);
    hold(ticks);
    pthread_mutex_unlock(&mutex);
}

static void *background(void *unused) {
    (void)unused;
    for (;;) {
        uint64_t ticks = atomic_exchange(&asked, 0);
        if (ticks == 1) {
            return NULL;
        }
        if (ticks) {
            hold_locked(ticks);
        }
        give_way();
    }
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
    unsigned long count = intervals(argc, argv, 800);
    struct design design = {.state = 1};
    uint64_t checksum = CHECKSUM_START;
    pthread_t thread;
    if (pthread_create(&thread, NULL, background, NULL)) {
        perror("pthread_create");
        return 1;
    }
    for (unsigned long i = 0; i < count; i++) {
        atomic_store(&is_begun, 0);
        atomic_store(&is_held, 0);
        atomic_store(&asked, draw(&design) & 1 ? 900000 : 300000);
        while (!atomic_load(&is_held)) {
            give_way();
        }
        checksum = mix(checksum, run_interval(i));
    }
    atomic_store(&asked, 1);
    pthread_join(thread, NULL);
    print_result("waits_mutex", count, checksum);
}
