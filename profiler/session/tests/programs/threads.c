// Many short-lived threads, each with a few intervals.
// build: gcc -O1 -g -pthread threads.c
//
// Interval: run_interval > work. Eight threads at a time, each with 4 intervals, until N intervals (a multiple of 32) are
// done: N / 4 threads in all, 504 for N = 2016. Every interval completes. work takes 10,000 or 30,000 ticks,
// equally often in each thread: mean 20,000, variance 1e8, all of it in work.
//
// With -DSTACK_SIZE=PTHREAD_STACK_MIN the threads have the smallest stacks that there are, 16 kB, of which the loader has taken some for
// their variables; no thread overruns its stack.
#include <limits.h>
#include <pthread.h>

#include "spin.h"

#define THREADS_AT_A_TIME 8
#define INTERVALS_A_THREAD 4

FUNCTION uint64_t work(uint64_t value) {
    spin(value & 1 ? 30000 : 10000);
    return value * value;
}

FUNCTION uint64_t run_interval(uint64_t value) {
    return work(value) + 1;
}

static void *serve(void *slot) {
    uint64_t *result = (uint64_t *)slot;
    uint64_t first = *result * INTERVALS_A_THREAD;
    uint64_t checksum = CHECKSUM_START;
    for (uint64_t i = 0; i < INTERVALS_A_THREAD; i++) {
        checksum = mix(checksum, run_interval(first + i));
    }
    *result = checksum;
    return NULL;
}

int main(int argc, char **argv) {
    unsigned long count = intervals(argc, argv, 2016);
    uint64_t checksum = CHECKSUM_START;
    uint64_t thread = 0;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
#ifdef STACK_SIZE
    pthread_attr_setstacksize(&attributes, STACK_SIZE);
#endif
    for (unsigned long done = 0; more(done, &count); done += THREADS_AT_A_TIME * INTERVALS_A_THREAD) {
        pthread_t threads[THREADS_AT_A_TIME];
        uint64_t slots[THREADS_AT_A_TIME];
        for (int i = 0; i < THREADS_AT_A_TIME; i++) {
            slots[i] = thread++;
            if (pthread_create(&threads[i], &attributes, serve, &slots[i])) {
                perror("pthread_create");
                return 1;
            }
        }
        for (int i = 0; i < THREADS_AT_A_TIME; i++) {
            pthread_join(threads[i], NULL);
            checksum = mix(checksum, slots[i]);
        }
    }
    print_result("threads", count, checksum);
}
