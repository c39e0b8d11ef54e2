/* A small transactional key-value store on the lock manager: an array of accounts, transfers between them, audits.
 *
 *   cc kv.c $(pkg-config --cflags --libs evenkeel_locks) -lpthread -o kv
 *   ./kv ldsf
 *
 * Shows what an engine has to do: lock before it reads or writes, keep an undo log, undo and release on an abort, and
 * retry with the same birth so that a transaction keeps its age. A table lock in intention modes lets transfers on
 * different accounts run side by side, while an audit takes the whole table shared.
 */
#include "evenkeel_locks.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { ACCOUNTS = 64, TRANSFERS = 2000, WORKERS = 4, AUDIT_EVERY = 100, UNDO_MAX = 8 };
enum { START_BALANCE = 1000 };

/* Objects: 0 is the table, 1 to ACCOUNTS its accounts. */
static const uint64_t TABLE = 0;
static uint64_t account_object(size_t account) { return account + 1; }

struct store {
    evk_locks *locks;
    int64_t balances[ACCOUNTS];
};

/* A transaction of the store: its locks, and what it overwrote. */
struct kv_txn {
    struct store *store;
    evk_txn *locks;
    struct {
        size_t account;
        int64_t balance;
    } undo[UNDO_MAX];
    size_t undo_count;
};

static void kv_begin(struct kv_txn *txn, struct store *store, uint32_t class_, uint64_t birth_ns) {
    txn->store = store;
    txn->locks = evk_txn_begin(store->locks, class_, birth_ns);
    txn->undo_count = 0;
}

static evk_status kv_get(struct kv_txn *txn, size_t account, int64_t *balance) {
    evk_status status = evk_lock(txn->locks, TABLE, EVK_IS, EVK_FOREVER);
    if (status == EVK_OK)
        status = evk_lock(txn->locks, account_object(account), EVK_S, EVK_FOREVER);
    if (status == EVK_OK)
        *balance = txn->store->balances[account];
    return status;
}

static evk_status kv_put(struct kv_txn *txn, size_t account, int64_t balance) {
    evk_status status = evk_lock(txn->locks, TABLE, EVK_IX, EVK_FOREVER);
    if (status == EVK_OK)
        status = evk_lock(txn->locks, account_object(account), EVK_X, EVK_FOREVER);
    if (status != EVK_OK)
        return status;
    if (txn->undo_count == UNDO_MAX)
        return EVK_TOO_MANY_LOCKS;
    txn->undo[txn->undo_count].account = account;
    txn->undo[txn->undo_count++].balance = txn->store->balances[account];
    txn->store->balances[account] = balance;
    return EVK_OK;
}

static void kv_commit(struct kv_txn *txn) { evk_txn_end(txn->locks); }

/* Undoes in reverse order, then releases; returns the birth for the retry. */
static uint64_t kv_abort(struct kv_txn *txn) {
    while (txn->undo_count > 0) {
        txn->undo_count--;
        txn->store->balances[txn->undo[txn->undo_count].account] = txn->undo[txn->undo_count].balance;
    }
    uint64_t birth_ns = evk_txn_birth_ns(txn->locks);
    evk_txn_end(txn->locks);
    return birth_ns;
}

/* Moves one unit; returns how many times it was aborted. */
static unsigned transfer(struct store *store, size_t from, size_t to) {
    uint64_t birth_ns = 0;
    for (unsigned aborts = 0;; aborts++) {
        struct kv_txn txn;
        int64_t source, target;
        kv_begin(&txn, store, 0, birth_ns);
        if (kv_get(&txn, from, &source) == EVK_OK && kv_put(&txn, from, source - 1) == EVK_OK &&
            kv_get(&txn, to, &target) == EVK_OK && kv_put(&txn, to, target + 1) == EVK_OK) {
            kv_commit(&txn);
            return aborts;
        }
        birth_ns = kv_abort(&txn);
    }
}

/* The sum of all balances, under one shared lock on the table. */
static int64_t audit(struct store *store) {
    uint64_t birth_ns = 0;
    for (;;) {
        struct kv_txn txn;
        kv_begin(&txn, store, 1, birth_ns);
        if (evk_lock(txn.locks, TABLE, EVK_S, EVK_FOREVER) == EVK_OK) {
            int64_t sum = 0;
            for (size_t account = 0; account < ACCOUNTS; account++)
                sum += store->balances[account];
            kv_commit(&txn);
            return sum;
        }
        birth_ns = kv_abort(&txn);
    }
}

struct worker {
    struct store *store;
    pthread_t thread;
    uint64_t random;
    unsigned aborts, wrong_audits;
};

/* xorshift64; skewed towards the first accounts, so that there is something to schedule. */
static size_t draw_account(uint64_t *random) {
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    return (*random >> 32) % (*random & 1 ? ACCOUNTS : 4);
}

static void *work(void *argument) {
    struct worker *worker = argument;
    for (unsigned round = 0; round < TRANSFERS; round++) {
        if (round % AUDIT_EVERY == 0)
            worker->wrong_audits += audit(worker->store) != (int64_t)ACCOUNTS * START_BALANCE;
        size_t from = draw_account(&worker->random), to = draw_account(&worker->random);
        worker->aborts += transfer(worker->store, from, to);
    }
    return NULL;
}

int main(int argc, char **argv) {
    evk_config config = {EVK_CONFIG_INIT, .schedule = argc > 1 ? argv[1] : NULL};
    struct store store = {.locks = evk_locks_new(&config)};
    if (!store.locks) {
        fprintf(stderr, "kv: %s: %s; try fifo, vats, ldsf or bldsf\n", argv[1], evk_config_error(&config));
        return 2;
    }
    for (size_t account = 0; account < ACCOUNTS; account++)
        store.balances[account] = START_BALANCE;
    struct worker workers[WORKERS];
    for (unsigned at = 0; at < WORKERS; at++) {
        workers[at] = (struct worker){.store = &store, .random = 88172645463325252u + at};
        pthread_create(&workers[at].thread, NULL, work, &workers[at]);
    }
    unsigned aborts = 0, wrong_audits = 0;
    for (unsigned at = 0; at < WORKERS; at++) {
        pthread_join(workers[at].thread, NULL);
        aborts += workers[at].aborts;
        wrong_audits += workers[at].wrong_audits;
    }
    int64_t sum = audit(&store);
    printf("%d transfers, %u aborts, %u wrong audits, sum %lld\n", WORKERS * TRANSFERS, aborts, wrong_audits,
           (long long)sum);
    evk_locks_free(store.locks);
    return wrong_audits == 0 && sum == (int64_t)ACCOUNTS * START_BALANCE ? 0 : 1;
}
