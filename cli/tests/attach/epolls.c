// A thread hands its work to another one and waits for it. Both use epoll on event descriptors that were registered
// long before the attach.
// build: gcc -O2 -g -pthread epolls.c
//
// Interval: run_interval > hand_over, which waits while the other thread is in work: once an interval. Makes the file that READY names
// when both descriptors have been waited on, ends when that is there that UNTIL names. Prints "intervals" and "wrong": a result that is
// not the other thread's.
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define FUNCTION __attribute__((noinline, noclone))

// An event descriptor, and a set that it is registered in with its own address.
struct bell {
    int event, set;
};

static struct bell is_asked, is_done;
static uint64_t asked, answer;

static int make(struct bell *bell) {
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = bell};
    bell->event = eventfd(0, 0);
    bell->set = epoll_create1(0);
    return bell->event < 0 || epoll_ctl(bell->set, EPOLL_CTL_ADD, bell->event, &event);
}

FUNCTION void ring(struct bell *bell) {
    if (eventfd_write(bell->event, 1)) abort();
}

FUNCTION void await(struct bell *bell) {
    struct epoll_event event;
    eventfd_t count;
    while (epoll_wait(bell->set, &event, 1, -1) != 1) {
    }
    if (event.data.ptr != bell || eventfd_read(bell->event, &count)) abort();
}

FUNCTION uint64_t work(uint64_t seed) {
    for (uint64_t i = 0; i < (seed % 2 ? 400000 : 80000); i++) {
        __asm__ volatile("" : "+r"(seed));
    }
    return ~seed;
}

FUNCTION int serve(void) {
    await(&is_asked);
    if (!asked) return 0;
    answer = work(asked);
    ring(&is_done);
    return 1;
}

static void *other(void *unused) {
    while (serve()) {
    }
    return unused;
}

FUNCTION uint64_t hand_over(uint64_t seed) {
    asked = seed;
    ring(&is_asked);
    await(&is_done);
    return answer;
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
    if (make(&is_asked) || make(&is_done) || pthread_create(&thread, 0, other, 0)) return 2;
    while (access(until, F_OK)) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        if (run_interval(seed >> 33 | 1u << 31)) done++; else wrong++;
        if (ready && done == 100) close(open(ready, O_CREAT | O_WRONLY, 0600));
    }
    asked = 0;
    ring(&is_asked);
    pthread_join(thread, 0);
    printf("%lu intervals, %lu wrong\n", (unsigned long)done, (unsigned long)wrong);
    return wrong != 0;
}
