// An interval whose starting segment is not on its critical path (dissertation figure 2.2).
// build: gcc -O1 -g -pthread -I../../../../include waits_start.c
//
// Interval, annotated: main begins it and works for it in prologue until after its end. Nobody waits for that. What decides when it
// ends is a thread that works for no interval:
//   produce  300,000 or 900,000 ticks from the beginning on, each in half of the intervals: mean 600,000, variance 9e10
// and then signals a third thread, which has waited in await since before the beginning. That one takes the interval over, works
// in complete for 100,000 ticks, and ends it. (Had main begun earlier, nothing would have ended earlier.)
//   path: waiting for its turn > await > waits: condition variable > thread outside of intervals > produce, then complete:
//   at least 600,000 and 100,000 ticks of the mean; of prologue nothing, though main is in it all the time
#include <pthread.h>
#include <stdatomic.h>

#include "evenkeel.h"
#include "spin.h"

#define INTERVAL 1
#define OVER 1

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t is_produced = PTHREAD_COND_INITIALIZER;
static int waits, produced; // under the mutex; produced: the last
static _Atomic uint64_t asked, is_ended;

FUNCTION uint64_t produce(uint64_t ticks) {
    spin(ticks);
    return ticks;
}

static void signal_produced(int is_last) {
    pthread_mutex_lock(&mutex);
    produced = is_last ? -1 : 1;
    pthread_cond_signal(&is_produced);
    pthread_mutex_unlock(&mutex);
}

static void *producer(void *unused) {
    for (;;) {
        uint64_t ticks = atomic_exchange(&asked, 0);
        if (ticks == OVER) {
            signal_produced(1);
            return unused;
        }
        if (ticks) {
            produce(ticks);
            signal_produced(0);
        }
        give_way();
    }
}

FUNCTION int await(void) {
    pthread_mutex_lock(&mutex);
    while (!produced) {
        waits = 1;
        pthread_cond_wait(&is_produced, &mutex);
    }
    int what = produced;
    waits = produced = 0;
    pthread_mutex_unlock(&mutex);
    return what;
}

FUNCTION uint64_t complete(uint64_t value) {
    spin(100000);
    return value;
}

static void *completer(void *unused) {
    while (await() > 0) {
        evenkeel_work(INTERVAL);
        complete(1);
        evenkeel_end(INTERVAL);
        atomic_store(&is_ended, 1);
    }
    return unused;
}

static void watch(void) {
    while (!__atomic_load_n(&waits, __ATOMIC_RELAXED)) {
        give_way();
    }
    pthread_mutex_lock(&mutex); // it waits as soon as the mutex is free
    pthread_mutex_unlock(&mutex);
}

FUNCTION uint64_t prologue(uint64_t value) {
    while (!atomic_load(&is_ended)) {
        give_way();
    }
    return value * 3;
}

static uint64_t start(uint64_t value, uint64_t ticks) {
    watch();
    atomic_store(&is_ended, 0);
    evenkeel_begin(INTERVAL);
    atomic_store(&asked, ticks);
    value = prologue(value);
    evenkeel_work(0);
    return value;
}

int main(int argc, char **argv) {
    unsigned long count = intervals(argc, argv, 800);
    struct design design = {.state = 1};
    uint64_t checksum = CHECKSUM_START;
    pthread_t threads[2];
    if (pthread_create(&threads[0], NULL, producer, NULL) || pthread_create(&threads[1], NULL, completer, NULL)) {
        perror("pthread_create");
        return 1;
    }
    for (unsigned long i = 0; i < count; i++) {
        checksum = mix(checksum, start(i, draw(&design) & 1 ? 900000 : 300000));
    }
    atomic_store(&asked, OVER);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    print_result("waits_start", count, checksum);
}
