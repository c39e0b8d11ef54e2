// A thread hands its work to another one and waits for it. The condition variables are in use long before the attach.
// They are signalled by a jump: compilers make one of a function's last call.
// build: gcc -O2 -g -pthread conditions.c
//
// Interval: run_interval > hand_over, which waits while the other thread is in work: once an interval. Makes the file that READY names
// when both conditions have been waited on, ends when that is there that UNTIL names. Prints "intervals" and "wrong": a result that is
// not the other thread's, or a wake that was lost.
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define FUNCTION __attribute__((noinline, noclone))
#define LOST_AFTER_S 20

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t is_asked = PTHREAD_COND_INITIALIZER, is_done = PTHREAD_COND_INITIALIZER;
static uint64_t asked, answer;
static int over;

FUNCTION void signal_asked(void) { pthread_cond_signal(&is_asked); }
FUNCTION void signal_done(void) { pthread_cond_broadcast(&is_done); }

FUNCTION uint64_t work(uint64_t seed) {
    for (uint64_t i = 0; i < (seed % 2 ? 100000 : 20000); i++) {
        __asm__ volatile("" : "+r"(seed));
    }
    return ~seed;
}

FUNCTION int serve(void) {
    pthread_mutex_lock(&mutex);
    while (!asked && !over) pthread_cond_wait(&is_asked, &mutex);
    uint64_t seed = asked;
    asked = 0;
    pthread_mutex_unlock(&mutex);
    if (!seed) return 0;
    uint64_t done = work(seed);
    pthread_mutex_lock(&mutex);
    answer = done;
    pthread_mutex_unlock(&mutex);
    signal_done();
    return 1;
}

static void *other(void *unused) {
    while (serve()) {
    }
    return unused;
}

FUNCTION uint64_t hand_over(uint64_t seed) {
    struct timespec limit;
    clock_gettime(CLOCK_REALTIME, &limit);
    limit.tv_sec += LOST_AFTER_S;
    pthread_mutex_lock(&mutex);
    asked = seed;
    answer = 0;
    signal_asked();
    int error = 0;
    while (!answer && error != ETIMEDOUT) error = pthread_cond_timedwait(&is_done, &mutex, &limit);
    uint64_t result = answer;
    pthread_mutex_unlock(&mutex);
    return result;
}

static volatile uint64_t begun;

FUNCTION int run_interval(uint64_t seed) {
    begun++;
    return hand_over(seed) == ~seed;
}

int main(void) {
    const char *ready = getenv("READY"), *until = getenv("UNTIL");
    uint64_t done = 0, wrong = 0, seed = 1;
    pthread_t thread;
    if (pthread_create(&thread, 0, other, 0)) return 2;
    while (access(until, F_OK)) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        if (run_interval(seed >> 33 | 1u << 31)) done++; else wrong++;
        if (ready && done == 100) close(open(ready, O_CREAT | O_WRONLY, 0600));
    }
    pthread_mutex_lock(&mutex);
    over = 1;
    pthread_mutex_unlock(&mutex);
    signal_asked();
    pthread_join(thread, 0);
    printf("%lu intervals, %lu wrong\n", (unsigned long)done, (unsigned long)wrong);
    return wrong != 0;
}
