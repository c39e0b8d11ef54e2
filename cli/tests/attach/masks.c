// Threads that work with every signal blocked: by their mask, in a handler, and by a mask that siglongjmp puts back, which was saved
// before anybody attached. The kernel ends a process that meets a breakpoint with SIGTRAP blocked.
// build: gcc -O1 -g -pthread masks.c
//
// Interval: run_interval > *stage, called through a pointer by an instruction too short for anything but a breakpoint. Makes the file
// that READY names when the mask is saved, ends when that is there that UNTIL names. Prints "intervals" and "wrong".
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define FUNCTION __attribute__((noinline, noipa))

static volatile int over, saved;
static uint64_t done, wrong;
static sigset_t all, none;
static sigjmp_buf there;

FUNCTION uint64_t add(uint64_t n) {
    uint64_t sum = 0;
    for (uint64_t i = 1; i <= n; i++) {
        sum += i;
        __asm__ volatile("" : "+r"(sum));
    }
    return sum;
}

static uint64_t (*volatile stage)(uint64_t) = add;

FUNCTION void run_interval(void) {
    int right = stage(2000) == 2001000 && stage(1000) == 500500;
    __atomic_fetch_add(right ? &done : &wrong, 1, __ATOMIC_RELAXED);
}

static void *by_mask(void *unused) {
    while (!over) {
        pthread_sigmask(SIG_SETMASK, &all, 0);
        run_interval();
        pthread_sigmask(SIG_SETMASK, &none, 0);
    }
    return unused;
}

static void handler(int signal) {
    (void)signal;
    run_interval();
}

static void *in_handlers(void *unused) {
    struct sigaction action = {.sa_handler = handler, .sa_mask = all};
    while (!over) {
        sigaction(SIGUSR1, &action, 0);
        pthread_kill(pthread_self(), SIGUSR1);
    }
    return unused;
}

FUNCTION void go_back(void) { siglongjmp(there, 1); }

static void *by_jumps(void *unused) {
    pthread_sigmask(SIG_SETMASK, &all, 0);
    sigsetjmp(there, 1);
    saved = 1;
    run_interval();
    pthread_sigmask(SIG_SETMASK, &none, 0);
    if (!over) go_back();
    return unused;
}

int main(void) {
    const char *ready = getenv("READY"), *until = getenv("UNTIL");
    void *(*ways[])(void *) = {by_mask, in_handlers, by_jumps};
    pthread_t threads[3];
    sigfillset(&all);
    for (int i = 0; i < 3; i++) {
        if (pthread_create(&threads[i], 0, ways[i], 0)) return 2;
    }
    while (!saved) usleep(1000);
    if (ready) close(open(ready, O_CREAT | O_WRONLY, 0600));
    while (access(until, F_OK)) usleep(1000);
    over = 1;
    for (int i = 0; i < 3; i++) pthread_join(threads[i], 0);
    printf("%lu intervals, %lu wrong\n", (unsigned long)done, (unsigned long)wrong);
    return wrong != 0 || done == 0;
}
