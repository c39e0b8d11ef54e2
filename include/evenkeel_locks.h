/* evenkeel_locks.h: C interface of Evenkeel's lock manager.
 *
 * Strict two-phase locking over 64-bit object numbers, in which a schedule decides who is granted when several
 * transactions wait for a lock. Compile and link with what `pkg-config --cflags --libs
 * evenkeel_locks` prints (libevenkeel_locks.so.0); with --static for libevenkeel_locks.a.
 *
 * Threads: a lock manager and a canceller may be used by any number of threads at once, a transaction by one at a time.
 * Pointers may be null everywhere: such a call does nothing, or returns EVK_INVALID, 0 or null.
 */
#ifndef EVENKEEL_LOCKS_H
#define EVENKEEL_LOCKS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct evk_locks evk_locks;
typedef struct evk_txn evk_txn;
typedef struct evk_canceller evk_canceller;

/* Lock modes: intention shared, intention exclusive, shared, shared with intention exclusive, exclusive. */
enum evk_mode { EVK_IS = 0, EVK_IX = 1, EVK_S = 2, EVK_SIX = 3, EVK_X = 4 };

/* Result of a request. After DEADLOCK, UPGRADE_CONFLICT, CANCELLED, DIED and WOUNDED other transactions rely on this
 * one to release its locks. End it; except when cancelled, retry with the same birth. */
typedef enum evk_status {
    EVK_OK = 0,
    EVK_DEADLOCK = 1,         /* the victim of a deadlock; evk_txn_cycle tells the cycle */
    EVK_UPGRADE_CONFLICT = 2, /* another holder of the same object waits to upgrade, too */
    EVK_TIMEOUT = 3,          /* not granted in time; locks held stay held */
    EVK_CANCELLED = 4,        /* evk_cancel was called */
    EVK_WOULD_BLOCK = 5,      /* not granted at once */
    EVK_DIED = 6,             /* wait-die: an older transaction is in the way */
    EVK_WOUNDED = 7,          /* wound-wait: an older transaction waits for this one */
    EVK_TOO_MANY_LOCKS = 8,   /* the transaction holds locks_max locks */
    EVK_INVALID = 9           /* a null pointer, or a value outside its enumeration */
} evk_status;

/* What resolves deadlocks: detection with one of three victims, or a policy that prevents them. */
enum evk_deadlocks {
    EVK_ABORT_YOUNGEST = 0,
    EVK_ABORT_FEWEST_LOCKS = 1,
    EVK_ABORT_SMALLEST_DEPENDENCY_SET = 2,
    EVK_WAIT_DIE = 3,
    EVK_WOUND_WAIT = 4,
    EVK_NO_WAIT = 5
};

/* The most of the configuration's numbers. */
#define EVK_SHARDS_MAX UINT32_C(65536)
#define EVK_LOCKS_MAX UINT64_C(4294967295)

/* Zero in a field means its default, except for the size, which EVK_CONFIG_INIT sets:
 *     evk_config config = {EVK_CONFIG_INIT, .schedule = "vats"};
 * Later versions add fields at the end. A program compiled against an older header keeps working: missing fields have
 * their defaults. A program compiled against a newer header is refused only if it sets a field unknown to this library. */
typedef struct evk_config {
    size_t size;          /* sizeof(evk_config) */
    const char *schedule; /* "fifo", "random", "vats", "mlf", "mblf", "ddf", "ldsf" (default), "bldsf", "bldsf:f1" to
                             "bldsf:f6", "hldsf"; beyond the papers "svats", "edsf", "ldaf", "ldaf:1", "hldaf" */
    int deadlocks;        /* enum evk_deadlocks */
    uint32_t shards;      /* parts of the table locked separately; at most EVK_SHARDS_MAX */
    uint64_t locks_max;   /* locks one transaction may hold; at most EVK_LOCKS_MAX */
} evk_config;

#define EVK_CONFIG_INIT .size = sizeof(evk_config)

#define EVK_FOREVER UINT64_MAX

/* Makes a lock manager; config may be null. Null if the configuration is invalid: evk_config_error says why. */
evk_locks *evk_locks_new(const evk_config *config);
/* Why evk_locks_new refuses a configuration, as a text that need not be freed; null if it accepts it. */
const char *evk_config_error(const evk_config *config);
/* Frees it. Transactions may outlive it. */
void evk_locks_free(evk_locks *locks);
/* Grants by another schedule from now on, while transactions hold and wait; 0 if none is called so. */
int evk_locks_set_schedule(evk_locks *locks, const char *schedule);
/* Number of objects locked now. */
uint64_t evk_locks_locked_objects(const evk_locks *locks);
/* Number of transactions that wait now. */
uint64_t evk_locks_waiting(const evk_locks *locks);

/* Begins a transaction. class: its type, for hldsf. birth_ns: 0, or the birth of the transaction this one retries. */
evk_txn *evk_txn_begin(const evk_locks *locks, uint32_t class_, uint64_t birth_ns);
/* Releases every lock and frees the transaction: after the commit or after the undo of an abort. */
void evk_txn_end(evk_txn *txn);
uint64_t evk_txn_id(const evk_txn *txn);
uint64_t evk_txn_birth_ns(const evk_txn *txn);

/* Locks an object; of a lock held already, upgrades it to cover both modes. timeout_ns: 0 tries once, EVK_FOREVER waits
 * as long as it takes. */
evk_status evk_lock(evk_txn *txn, uint64_t object, int mode, uint64_t timeout_ns);
/* Copies the transactions of the last deadlock: each waits for the next, the last for the first. Returns their number,
 * which may be more than ids_max. */
size_t evk_txn_cycle(const evk_txn *txn, uint64_t *ids, size_t ids_max);
/* Releases one lock before the end (read committed); 1 if it was held. */
int evk_release(evk_txn *txn, uint64_t object);
/* Releases every lock; the transaction may go on. */
void evk_release_all(evk_txn *txn);

/* A handle with which another thread ends the transaction's waits; may outlive it. */
evk_canceller *evk_canceller_new(const evk_txn *txn);
/* Ends the wait, if any, and refuses all further requests with EVK_CANCELLED. */
void evk_cancel(const evk_canceller *canceller);
void evk_canceller_free(evk_canceller *canceller);

#ifdef __cplusplus
}
#endif

#endif
