/* Waits until another thread is blocked, without a guess at how long that takes. */
#ifndef BLOCKED_H
#define BLOCKED_H

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

struct waiter {
    volatile int pid, tid, about;
};

static struct waiter *waiter;

static void nap_ms(long ms) {
    struct timespec time = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&time, 0);
}

static void prepare_waiter(void) {
    waiter = (struct waiter *)mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

/* Called just before a call that can block. */
static void about_to_wait(void) {
    waiter->pid = getpid();
    waiter->tid = (int)syscall(SYS_gettid);
    __sync_synchronize();
    waiter->about = 1;
}

/* The waiter's state, and its own processor time in clock ticks of the C library. */
static char state_of_waiter(unsigned long *spent) {
    char path[64], state = '?';
    snprintf(path, sizeof path, "/proc/%d/task/%d/stat", waiter->pid, waiter->tid);
    FILE *file = fopen(path, "r");
    if (file) {
        const char *format = "%*d (%*[^)]) %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu";
        if (fscanf(file, format, &state, spent) != 2) state = '?';
        fclose(file);
    }
    return state;
}

/* Returns when the waiter sleeps in its call. */
static void await_blocked(void) {
    unsigned long spent;
    while (!waiter->about) nap_ms(1);
    while (state_of_waiter(&spent) != 'S') nap_ms(1);
    nap_ms(5);
}

/* Returns when the waiter spins in its call. */
__attribute__((unused)) static void await_spinning(void) {
    unsigned long before = 0, spent = 0;
    while (!waiter->about) nap_ms(1);
    state_of_waiter(&before);
    while (spent < before + 2) {
        nap_ms(1);
        state_of_waiter(&spent);
    }
}

#define CHECK(what)                                         \
    do {                                                    \
        if (!(what)) {                                      \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #what); \
            exit(1);                                        \
        }                                                   \
    } while (0)

#endif
