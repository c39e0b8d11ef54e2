// A hand-over through two locks: who holds the one waits for the other.
// build: gcc -O1 -g -pthread waits_chain.c
//
// Interval: run_interval > take > pthread_mutex_lock of the first lock. The middle thread has it and waits in relay for the
// second; the last thread has that and works under it in produce:
//   produce  300,000 or 900,000 ticks, each in half of the intervals of a balanced design: mean 600,000, variance 9e10
// The clock of produce starts when both are blocked (the C library writes 2 into a mutex that is waited for), so all of it lies in
// both waits: at least 600,000 ticks of the mean latency are
//   take > waits: mutex > thread outside of intervals > hold_first > relay > waits: mutex > thread outside of intervals >
//   hold_second > produce
// whatever the machine does, and on a quiet machine all of the variance. The middle thread does nothing itself.
#include <pthread.h>
#include <stdatomic.h>

#include "spin.h"

#define NOTHING 0
#define OVER 1

static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER, second = PTHREAD_MUTEX_INITIALIZER;
static _Atomic uint64_t asked_middle, asked_last, is_second_held, is_first_held;

static int is_waited_for(pthread_mutex_t *mutex) {
    return __atomic_load_n(&mutex->__data.__lock, __ATOMIC_RELAXED) == 2;
}

static void await(_Atomic uint64_t *flag) {
    while (!atomic_load(flag)) {
        give_way();
    }
}

// What is asked for next.
static uint64_t next(_Atomic uint64_t *asked) {
    await(asked);
    return atomic_exchange(asked, NOTHING);
}

FUNCTION uint64_t produce(uint64_t ticks) {
    spin(ticks);
    return ticks;
}

FUNCTION void hold_second(uint64_t ticks) {
    pthread_mutex_lock(&second);
    atomic_store(&is_second_held, 1);
    while (!is_waited_for(&first) || !is_waited_for(&second)) {
        give_way();
    }
    produce(ticks);
    pthread_mutex_unlock(&second);
}

static void *last(void *unused) {
    for (uint64_t ticks; (ticks = next(&asked_last)) != OVER;) {
        hold_second(ticks);
    }
    return unused;
}

FUNCTION int relay(int value) {
    pthread_mutex_lock(&second);
    pthread_mutex_unlock(&second);
    return value + 1;
}

FUNCTION int hold_first(int value) {
    pthread_mutex_lock(&first);
    atomic_store(&is_first_held, 1);
    value = relay(value);
    pthread_mutex_unlock(&first);
    return value;
}

static void *middle(void *unused) {
    while (next(&asked_middle) != OVER) {
        await(&is_second_held);
        hold_first(1);
    }
    return unused;
}

FUNCTION uint64_t take(uint64_t value) {
    pthread_mutex_lock(&first);
    pthread_mutex_unlock(&first);
    return value * 3;
}

static volatile uint64_t begun; // something for the hook at the function's entry to lie on

FUNCTION uint64_t run_interval(uint64_t value) {
    begun++;
    return take(value) + 1;
}

int main(int argc, char **argv) {
    unsigned long count = intervals(argc, argv, 800);
    struct design design = {.state = 1};
    uint64_t checksum = CHECKSUM_START;
    pthread_t threads[2];
    if (pthread_create(&threads[0], NULL, middle, NULL) || pthread_create(&threads[1], NULL, last, NULL)) {
        perror("pthread_create");
        return 1;
    }
    for (unsigned long i = 0; i < count; i++) {
        atomic_store(&is_first_held, 0);
        atomic_store(&is_second_held, 0);
        atomic_store(&asked_last, draw(&design) & 1 ? 900000 : 300000);
        atomic_store(&asked_middle, 2);
        await(&is_first_held);
        checksum = mix(checksum, run_interval(i));
    }
    atomic_store(&asked_last, OVER);
    atomic_store(&asked_middle, OVER);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    print_result("waits_chain", count, checksum);
}
