/* The C interface, function by function; prints "ok" at the end. */
#include "evenkeel_locks.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(condition) \
    do { \
        if (!(condition)) { \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
            exit(1); \
        } \
    } while (0)

struct waiter {
    evk_txn *txn;
    uint64_t object;
    evk_status status;
};

static void *wait_for_lock(void *argument) {
    struct waiter *waiter = argument;
    waiter->status = evk_lock(waiter->txn, waiter->object, EVK_X, EVK_FOREVER);
    /* A victim lets the others go on. */
    if (waiter->status != EVK_OK)
        evk_release_all(waiter->txn);
    return NULL;
}

static void modes_and_limits(void) {
    evk_config config = {EVK_CONFIG_INIT, .schedule = "bldsf:f4", .locks_max = 2};
    evk_locks *locks = evk_locks_new(&config);
    CHECK(locks);
    evk_txn *a = evk_txn_begin(locks, 0, 0), *b = evk_txn_begin(locks, 0, 0);
    CHECK(evk_txn_id(a) != evk_txn_id(b));
    CHECK(evk_lock(a, 1, EVK_S, 0) == EVK_OK);
    CHECK(evk_lock(b, 1, EVK_S, 0) == EVK_OK);
    CHECK(evk_lock(b, 1, EVK_X, 0) == EVK_WOULD_BLOCK);
    CHECK(evk_lock(b, 1, EVK_X, 1000) == EVK_TIMEOUT);
    CHECK(evk_release(a, 1) == 1 && evk_release(a, 1) == 0);
    CHECK(evk_lock(b, 1, EVK_X, 0) == EVK_OK);
    CHECK(evk_lock(b, 2, EVK_IX, 0) == EVK_OK);
    CHECK(evk_lock(b, 3, EVK_IS, 0) == EVK_TOO_MANY_LOCKS);
    CHECK(evk_locks_locked_objects(locks) == 2);
    evk_txn_end(b);
    evk_txn_end(a);
    CHECK(evk_locks_locked_objects(locks) == 0);
    evk_locks_free(locks);
}

static void invalid_arguments(void) {
    evk_config refused[] = {
        {EVK_CONFIG_INIT, .schedule = "lifo"},
        {EVK_CONFIG_INIT, .deadlocks = 17},
        {EVK_CONFIG_INIT, .deadlocks = -1},
        {EVK_CONFIG_INIT, .shards = UINT32_MAX},
        {EVK_CONFIG_INIT, .shards = EVK_SHARDS_MAX + 1},
        {EVK_CONFIG_INIT, .locks_max = UINT64_MAX},
        {EVK_CONFIG_INIT, .locks_max = EVK_LOCKS_MAX + 1},
        {.schedule = "fifo"},
        {.size = SIZE_MAX},
    };
    for (size_t at = 0; at < sizeof refused / sizeof *refused; at++) {
        CHECK(!evk_locks_new(&refused[at]));
        CHECK(evk_config_error(&refused[at]) && *evk_config_error(&refused[at]));
    }
    evk_config most = {EVK_CONFIG_INIT, .shards = EVK_SHARDS_MAX, .locks_max = EVK_LOCKS_MAX};
    CHECK(!evk_config_error(&most) && !evk_config_error(NULL));
    evk_locks_free(evk_locks_new(&most));
    CHECK(evk_lock(NULL, 1, EVK_X, 0) == EVK_INVALID);
    evk_locks *locks = evk_locks_new(NULL);
    evk_txn *txn = evk_txn_begin(locks, 0, 0);
    CHECK(evk_lock(txn, 1, 5, 0) == EVK_INVALID && evk_lock(txn, 1, -1, 0) == EVK_INVALID);
    evk_txn_end(txn);
    evk_locks_free(locks);
    evk_locks_free(NULL);
    evk_txn_end(NULL);
    evk_release_all(NULL);
    evk_cancel(NULL);
    evk_canceller_free(NULL);
}

/* A program compiled against a later header, which has one more field. */
static void later_configuration(void) {
    struct {
        evk_config known;
        uint64_t added;
    } later = {{.size = sizeof later, .locks_max = 1}, 0};
    evk_locks *locks = evk_locks_new(&later.known);
    CHECK(locks);
    evk_txn *txn = evk_txn_begin(locks, 0, 0);
    CHECK(evk_lock(txn, 1, EVK_X, 0) == EVK_OK);
    CHECK(evk_lock(txn, 2, EVK_X, 0) == EVK_TOO_MANY_LOCKS);
    evk_txn_end(txn);
    evk_locks_free(locks);
    later.added = 1;
    CHECK(!evk_locks_new(&later.known) && evk_config_error(&later.known));
}

static void deadlock(void) {
    evk_locks *locks = evk_locks_new(NULL);
    evk_txn *older = evk_txn_begin(locks, 0, 0), *younger = evk_txn_begin(locks, 0, 0);
    CHECK(evk_lock(older, 1, EVK_X, 0) == EVK_OK && evk_lock(younger, 2, EVK_X, 0) == EVK_OK);
    struct waiter waits = {older, 2, EVK_INVALID};
    pthread_t thread;
    pthread_create(&thread, NULL, wait_for_lock, &waits);
    /* Whoever closes the cycle, the younger one is the victim. */
    CHECK(evk_lock(younger, 1, EVK_X, EVK_FOREVER) == EVK_DEADLOCK);
    uint64_t cycle[2] = {0};
    CHECK(evk_txn_cycle(younger, cycle, 2) == 2);
    CHECK(cycle[0] + cycle[1] == evk_txn_id(older) + evk_txn_id(younger));
    uint64_t birth_ns = evk_txn_birth_ns(younger);
    evk_txn_end(younger);
    pthread_join(thread, NULL);
    CHECK(waits.status == EVK_OK);
    evk_txn *retry = evk_txn_begin(locks, 0, birth_ns);
    CHECK(evk_txn_birth_ns(retry) == birth_ns);
    evk_txn_end(retry);
    evk_txn_end(older);
    evk_locks_free(locks);
}

/* Two wait, the older one behind the younger one; the schedule becomes oldest first. */
static void schedule_changed_while_waiting(void) {
    evk_config config = {EVK_CONFIG_INIT, .schedule = "fifo"};
    evk_locks *locks = evk_locks_new(&config);
    CHECK(!evk_locks_set_schedule(locks, "lifo") && !evk_locks_set_schedule(locks, NULL));
    CHECK(!evk_locks_set_schedule(NULL, "vats"));
    evk_txn *holder = evk_txn_begin(locks, 0, 0);
    CHECK(evk_lock(holder, 1, EVK_X, 0) == EVK_OK);
    struct waiter waits[2];
    pthread_t threads[2];
    for (int at = 0; at < 2; at++) {
        waits[at] = (struct waiter){evk_txn_begin(locks, 0, (uint64_t)(2 - at)), 1, EVK_INVALID};
        pthread_create(&threads[at], NULL, wait_for_lock, &waits[at]);
        while (evk_locks_waiting(locks) < (uint64_t)at + 1)
            sched_yield();
    }
    CHECK(evk_locks_set_schedule(locks, "vats") == 1);
    evk_txn_end(holder);
    /* The older one, which came second, holds the lock: it alone can be joined. */
    pthread_join(threads[1], NULL);
    CHECK(waits[1].status == EVK_OK && evk_locks_waiting(locks) == 1);
    evk_txn_end(waits[1].txn);
    pthread_join(threads[0], NULL);
    CHECK(waits[0].status == EVK_OK);
    evk_txn_end(waits[0].txn);
    evk_locks_free(locks);
}

static void cancellation(void) {
    evk_locks *locks = evk_locks_new(NULL);
    evk_txn *holder = evk_txn_begin(locks, 0, 0), *txn = evk_txn_begin(locks, 0, 0);
    CHECK(evk_lock(holder, 1, EVK_X, 0) == EVK_OK);
    evk_canceller *canceller = evk_canceller_new(txn);
    struct waiter waits = {txn, 1, EVK_INVALID};
    pthread_t thread;
    pthread_create(&thread, NULL, wait_for_lock, &waits);
    evk_cancel(canceller);
    pthread_join(thread, NULL);
    CHECK(waits.status == EVK_CANCELLED);
    evk_canceller_free(canceller);
    evk_txn_end(txn);
    evk_txn_end(holder);
    evk_locks_free(locks);
}

int main(void) {
    modes_and_limits();
    invalid_arguments();
    later_configuration();
    deadlock();
    cancellation();
    schedule_changed_while_waiting();
    puts("ok");
    return 0;
}
