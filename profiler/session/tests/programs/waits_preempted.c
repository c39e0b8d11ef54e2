// More spinning threads than processors. One is runnable without a processor; one spins for a lock whose holder is preempted.
// build: gcc -O1 -g -pthread waits_preempted.c
//
// Three threads share one processor and never give it away: main with the interval, the holder of a spin lock, and one more.
// Interval: run_interval > crunch, a fixed number of steps, then pthread_spin_lock. The holder took the lock before the interval.
// When main wants the lock, the holder runs hold, the same number of steps, and releases it.
//   crunch needs C of processor time on a third of the processor: own time C, and below it about 2 C "runnable, waiting for a CPU"
//   the lock wait has the holder's hold below it: own time H, and "runnable, waiting for a CPU" while main or the third thread runs
// So more than half of the threads' time is in no function. The truth file has a line for each interval, as the program saw it.
// The latency and the duration of crunch are in ticks; C and H are nanoseconds of processor time by the kernel's count.
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <time.h>

#include "spin.h"
#include "truth.h"

#define STEPS 6000000

static pthread_spinlock_t lock;
static _Atomic int is_asked, is_held, is_wanted, is_over;
static uint64_t held_ns; // written under the lock

static uint64_t used_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static inline __attribute__((always_inline)) uint64_t run_steps(uint64_t value) {
    for (int i = 0; i < STEPS; i++) {
        value = value * 0x5851F42D4C957F2Du + 1;
        __asm__ volatile("" : "+r"(value));
    }
    return value;
}

FUNCTION uint64_t crunch(uint64_t value) {
    return run_steps(value);
}

FUNCTION uint64_t hold(uint64_t value) {
    return run_steps(value);
}

FUNCTION void hold_locked(void) {
    pthread_spin_lock(&lock);
    atomic_store(&is_held, 1);
    while (!atomic_load(&is_wanted)) {
    }
    uint64_t used = used_ns();
    hold(1);
    held_ns = used_ns() - used;
    pthread_spin_unlock(&lock);
}

static void *holder(void *unused) {
    while (!atomic_load(&is_over)) {
        if (atomic_exchange(&is_asked, 0)) {
            hold_locked();
        }
    }
    return unused;
}

static void *third(void *unused) {
    while (!atomic_load(&is_over)) {
    }
    return unused;
}

static volatile uint64_t begun; // something for the hook at the function's entry to lie on

FUNCTION uint64_t run_interval(uint64_t value, uint64_t *row) {
    begun++;
    uint64_t used = used_ns(), begin = __rdtsc();
    value = crunch(value);
    row[1] = __rdtsc() - begin; // before the system call, in which the processor may be lost
    row[2] = used_ns() - used;
    atomic_store(&is_wanted, 1);
    pthread_spin_lock(&lock);
    row[3] = held_ns;
    pthread_spin_unlock(&lock);
    row[0] = __rdtsc() - begin;
    return value;
}

// The first processor that the process may use, for all of its threads.
static void share_one_processor(void) {
    cpu_set_t allowed, one;
    sched_getaffinity(0, sizeof allowed, &allowed);
    int cpu = 0;
    while (!CPU_ISSET(cpu, &allowed)) {
        cpu++;
    }
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    sched_setaffinity(0, sizeof one, &one);
}

int main(int argc, char **argv) {
    unsigned long count = intervals(argc, argv, 24);
    truth_open(argc, argv);
    uint64_t checksum = CHECKSUM_START;
    share_one_processor();
    pthread_spin_init(&lock, PTHREAD_PROCESS_PRIVATE);
    pthread_t threads[2];
    if (pthread_create(&threads[0], NULL, holder, NULL) || pthread_create(&threads[1], NULL, third, NULL)) {
        perror("pthread_create");
        return 1;
    }
    for (unsigned long i = 0; i < count; i++) {
        uint64_t row[4];
        atomic_store(&is_held, 0);
        atomic_store(&is_wanted, 0);
        atomic_store(&is_asked, 1);
        while (!atomic_load(&is_held)) {
            give_way();
        }
        checksum = mix(checksum, run_interval(i, row));
        truth_interval(4, row);
    }
    atomic_store(&is_over, 1);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    truth_close();
    print_result("waits_preempted", count, checksum);
}
