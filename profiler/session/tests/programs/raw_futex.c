// Waits that no function of the C library sees: futexes by the system call's own instruction.
// build: gcc -O1 -g -pthread raw_futex.c
//
// Interval, in the first thread: run_interval > fetch, which hands a request to the worker and sleeps until the answer is there. The
// worker works in produce, outside of intervals:
//   produce  300,000 or 900,000 ticks, each in half of the intervals of a balanced design: mean 600,000
// The first thread cannot go on before the answer is there, so at least 600,000 ticks of the mean latency are
// fetch > waits: something unannounced > thread outside of intervals > produce, where the kernel reports who woke whom. Where it does not,
// they are fetch > off the processor.
#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>

#include "spin.h"

static long futex(volatile uint32_t *word, long operation, long value) {
    long result;
    register long timeout __asm__("r10") = 0;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(SYS_futex), "D"(word), "S"(operation), "d"(value), "r"(timeout)
                     : "rcx", "r11", "memory");
    return result;
}

static volatile uint32_t request, answer;

static void put(volatile uint32_t *word, uint32_t value) {
    *word = value;
    futex(word, FUTEX_WAKE_PRIVATE, 1);
}

static uint32_t take(volatile uint32_t *word) {
    uint32_t value;
    while (!(value = *word)) {
        futex(word, FUTEX_WAIT_PRIVATE, 0);
    }
    *word = 0;
    return value;
}

FUNCTION uint32_t produce(uint32_t ticks) {
    spin(ticks);
    return ticks * 7;
}

#define END 1

static void *worker(void *nothing) {
    for (uint32_t ticks; (ticks = take(&request)) != END;) {
        put(&answer, produce(ticks));
    }
    return nothing;
}

FUNCTION uint32_t fetch(uint32_t ticks) {
    put(&request, ticks);
    return take(&answer);
}

static volatile uint64_t begun; // something for the hook at the function's entry to lie on

FUNCTION uint32_t run_interval(uint32_t ticks) {
    begun++;
    return fetch(ticks) + 1;
}

int main(int argc, char **argv) {
    unsigned long count = intervals(argc, argv, 800);
    pthread_t thread;
    if (pthread_create(&thread, NULL, worker, NULL)) {
        return 1;
    }
    struct design design = {.state = 1};
    uint64_t checksum = CHECKSUM_START;
    for (unsigned long i = 0; more(i, &count); i++) {
        checksum = mix(checksum, run_interval(draw(&design) & 1 ? 900000 : 300000));
    }
    put(&request, END);
    pthread_join(thread, NULL);
    print_result("raw_futex", count, checksum);
    return 0;
}
