/* A lock, a queue and an interval made of functions that a plan names. The lock is a word that is polled, so that nothing of the
 * C library says who waits for whom. main holds it while the other thread polls. */
#include <pthread.h>
#include <sched.h>

#include "blocked.h"

static volatile int word;
static volatile int polled;

__attribute__((noinline)) static void lock_acquire(int mode, volatile int *lock) {
    while (!__sync_bool_compare_and_swap(lock, 0, mode)) {
        polled = 1;
        sched_yield();
    }
}

__attribute__((noinline)) static void lock_release(volatile int *lock) { __sync_lock_release(lock); }

struct text {
    const char *line;
};
struct task {
    int number;
    int status;
    const struct text *text;
};
static struct task *volatile queue;

__attribute__((noinline)) static void put(struct task *task) { queue = task; }

__attribute__((noinline)) static struct task *get(void) {
    struct task *task = queue;
    queue = 0;
    return task;
}

__attribute__((noinline)) static void request_begins(struct task *request, const char *what) {
    request->number = what[0];
}
__attribute__((noinline)) static void request_runs(struct task *request) { request->number++; }
__attribute__((noinline)) static void request_ends(struct task *request) { request->number++; }
__attribute__((noinline)) static void inside(struct task *request) { lock_release(&word); request->number++; }

static void *other(void *nothing) {
    struct task *task = get();
    request_runs(task);
    lock_acquire(1, &word);
    lock_release(&word);
    request_ends(task);
    return nothing;
}

int main(void) {
    static const struct text text = {"GET /a?secret HTTP/1.1\r\nHost: b\r\n"};
    static struct task task = {0, 404, &text};
    pthread_t thread;
    request_begins(&task, "select");
    lock_acquire(1, &word);
    put(&task);
    pthread_create(&thread, 0, other, 0);
    while (!polled) sched_yield();
    nap_ms(2);
    inside(&task);
    pthread_join(thread, 0);
    printf("%d\n", task.number - 's');
    return 0;
}
