// A condition variable whose waiter is woken for nothing twice before its condition comes true.
// build: gcc -O1 -g -pthread waits_condition.c
//
// Interval: run_interval > await > pthread_cond_wait, until `ready`. The other thread waits on a second condition until the
// interval is there, then works in prepare for 150,000 ticks and signals for nothing, twice, and at last works in finish:
//   finish  300,000 or 900,000 ticks, each in half of the intervals of a balanced design: mean 600,000, variance 9e10
// and signals for good. It begins each work when the waiter waits (again), so each interval waits exactly three times, and all of
// 2 x 150,000 ticks in prepare and of finish is on its path, below waits: condition variable > thread outside of
// intervals: at least 900,000 ticks of the mean latency. On a quiet machine finish has all of the variance, prepare none.
#include <pthread.h>

#include "spin.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t is_ready = PTHREAD_COND_INITIALIZER, is_asked = PTHREAD_COND_INITIALIZER;
static uint64_t asked;
static int ready, waits;

FUNCTION uint64_t prepare(uint64_t ticks) {
    spin(150000);
    return ticks;
}

FUNCTION uint64_t finish(uint64_t ticks) {
    spin(ticks);
    return ticks;
}

// Until the waiter is in its wait of this number.
static void watch(int wait) {
    while (__atomic_load_n(&waits, __ATOMIC_RELAXED) < wait) {
        give_way();
    }
    pthread_mutex_lock(&mutex); // it waits as soon as the mutex is free
    pthread_mutex_unlock(&mutex);
}

static void notify(int value) {
    pthread_mutex_lock(&mutex);
    ready = value;
    pthread_cond_signal(&is_ready);
    pthread_mutex_unlock(&mutex);
}

FUNCTION int serve(void) {
    pthread_mutex_lock(&mutex);
    while (!asked) {
        pthread_cond_wait(&is_asked, &mutex);
    }
    uint64_t ticks = asked;
    asked = 0;
    pthread_mutex_unlock(&mutex);
    if (ticks == 1) {
        return 0;
    }
    watch(1);
    prepare(ticks);
    notify(0);
    watch(2);
    prepare(ticks);
    notify(0);
    watch(3);
    finish(ticks);
    notify(1);
    return 1;
}

static void *other(void *unused) {
    while (serve()) {
    }
    return unused;
}

FUNCTION uint64_t await(uint64_t ticks) {
    pthread_mutex_lock(&mutex);
    asked = ticks;
    waits = 0;
    pthread_cond_signal(&is_asked);
    while (!ready) {
        waits++;
        pthread_cond_wait(&is_ready, &mutex);
    }
    ready = 0;
    pthread_mutex_unlock(&mutex);
    return ticks;
}

static volatile uint64_t begun; // something for the hook at the function's entry to lie on

FUNCTION uint64_t run_interval(uint64_t ticks) {
    begun++;
    return await(ticks) + 1;
}

int main(int argc, char **argv) {
    unsigned long count = intervals(argc, argv, 800);
    struct design design = {.state = 1};
    uint64_t checksum = CHECKSUM_START;
    pthread_t thread;
    if (pthread_create(&thread, NULL, other, NULL)) {
        perror("pthread_create");
        return 1;
    }
    for (unsigned long i = 0; i < count; i++) {
        checksum = mix(checksum, run_interval(draw(&design) & 1 ? 900000 : 300000));
    }
    pthread_mutex_lock(&mutex);
    asked = 1;
    pthread_cond_signal(&is_asked);
    pthread_mutex_unlock(&mutex);
    pthread_join(thread, NULL);
    print_result("waits_condition", count, checksum);
}
