// Threads that never end: they check each interval, and each system call that the profiler could disturb.
// build: gcc -O1 -g -pthread threads.c
//
// threads N [interrupted]: makes the file that READY names once all run, ends when that is there that UNTIL names; prints "intervals" and "wrong".
// With a second argument a call that ends with EINTR is not wrong: nobody makes it again where the profiler is killed.
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define FUNCTION __attribute__((noinline, noipa))

static volatile int over, interruptible;
static uint64_t done, wrong;

FUNCTION double stage(uint64_t n, double x) {
    for (uint64_t i = 0; i < n; i++) {
        x = x * 0.5 + 1.0;
    }
    return x;
}

// All vector registers that a call saves are in use around the system calls, and errno.
FUNCTION int run_interval(uint64_t seed) {
    double before = stage(100 + seed % 400, 3.0);
    char *memory = malloc(100 + seed % 5000);
    memset(memory, 7, 100);
    errno = 77;
    struct pollfd nobody = {.fd = -1};
    int answer = poll(&nobody, 1, seed % 64 ? 0 : 3);
    int kept = errno;
    struct timespec time = {0, 50000};
    int slept = seed % 16 ? 0 : clock_nanosleep(CLOCK_MONOTONIC, 0, &time, 0);
    int right = answer == 0 && slept == 0 && kept == 77 && memory[99] == 7;
    free(memory);
    return right && before == stage(100 + seed % 400, 3.0);
}

static void *work(void *unused) {
    uint64_t seed = (uint64_t)&unused;
    while (!over) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        int right = run_interval(seed >> 33);
        __atomic_fetch_add(right ? &done : &wrong, 1, __ATOMIC_RELAXED);
    }
    return 0;
}

// The kernel ends it with EINTR when a thread is stopped, and does not make it again.
static void *wait_for_events(void *unused) {
    (void)unused;
    int events = epoll_create1(0);
    struct epoll_event event;
    while (!over) {
        if (epoll_wait(events, &event, 1, 50) != 0 && !(interruptible && errno == EINTR)) {
            __atomic_fetch_add(&wrong, 1, __ATOMIC_RELAXED);
        }
    }
    return 0;
}

static void *short_life(void *unused) {
    (void)unused;
    return (void *)(uintptr_t)run_interval(1);
}

int main(int argc, char **argv) {
    int count = argc > 1 ? atoi(argv[1]) : 4;
    interruptible = argc > 2;
    pthread_t threads[64];
    for (int i = 0; i < count && i < 64; i++) {
        pthread_create(&threads[i], 0, work, 0);
    }
    pthread_t waiting;
    pthread_create(&waiting, 0, wait_for_events, 0);
    const char *ready = getenv("READY"), *until = getenv("UNTIL");
    if (ready) {
        close(open(ready, O_CREAT | O_WRONLY, 0600));
    }
    while (until && access(until, F_OK) != 0) {
        pthread_t other;
        void *right = 0;
        pthread_create(&other, 0, short_life, 0);
        pthread_join(other, &right);
        wrong += !right;
        usleep(1000);
    }
    over = 1;
    pthread_join(waiting, 0);
    for (int i = 0; i < count && i < 64; i++) {
        pthread_join(threads[i], 0);
    }
    printf("%lu intervals, %lu wrong\n", (unsigned long)done, (unsigned long)wrong);
    return wrong != 0 || done == 0;
}
