/* Knowing that somebody else waits, without a guess at how long that takes. */
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

/* The next thing that can block is what it is about. */
static void about_to_wait(void) {
    waiter->pid = getpid();
    waiter->tid = (int)syscall(SYS_gettid);
    __sync_synchronize();
    waiter->about = 1;
}

static char state_of_waiter(void) {
    char path[64], state = '?';
    snprintf(path, sizeof path, "/proc/%d/task/%d/stat", waiter->pid, waiter->tid);
    FILE *file = fopen(path, "r");
    if (file) {
        if (fscanf(file, "%*d (%*[^)]) %c", &state) != 1) state = '?';
        fclose(file);
    }
    return state;
}

/* Returns when the other sleeps in what it was about to wait for. */
static void await_blocked(void) {
    while (!waiter->about) nap_ms(1);
    while (state_of_waiter() != 'S') nap_ms(1);
    nap_ms(5);
}

#define CHECK(what)                                         \
    do {                                                    \
        if (!(what)) {                                      \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #what); \
            exit(1);                                        \
        }                                                   \
    } while (0)

#endif
