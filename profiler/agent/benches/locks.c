/* What an uncontended lock costs: run by locks.rs with and without the agent. Prints ns a round for each primitive: the median of
 * many batches that take turns. */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { ROUNDS = 10000, BATCHES = 101 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static pthread_spinlock_t spin;
static sem_t semaphore;

static void lock_mutex(void) {
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
}
static void lock_read(void) {
    pthread_rwlock_rdlock(&rwlock);
    pthread_rwlock_unlock(&rwlock);
}
static void lock_write(void) {
    pthread_rwlock_wrlock(&rwlock);
    pthread_rwlock_unlock(&rwlock);
}
static void lock_spin(void) {
    pthread_spin_lock(&spin);
    pthread_spin_unlock(&spin);
}
static void take_semaphore(void) {
    sem_wait(&semaphore);
    sem_post(&semaphore);
}
static void signal_nobody(void) { pthread_cond_signal(&condition); }

static const struct {
    const char *name;
    void (*run)(void);
} all[] = {{"mutex lock and unlock", lock_mutex}, {"rwlock, to read", lock_read}, {"rwlock, to write", lock_write},
           {"spin lock and unlock", lock_spin},   {"semaphore wait, post", take_semaphore}, {"condition signal", signal_nobody}};
enum { COUNT = sizeof all / sizeof *all };

static double now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1e9 + time.tv_nsec;
}
static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}
static void *nothing(void *argument) { return argument; }

int main(void) {
    static double ns[COUNT][BATCHES];
    pthread_t thread;
    /* A second thread, even one that has ended, takes the C library's single-thread shortcuts away, as in any server. */
    pthread_create(&thread, 0, nothing, 0);
    pthread_join(thread, 0);
    pthread_spin_init(&spin, 0);
    sem_init(&semaphore, 0, 1);
    for (int batch = 0; batch < BATCHES; batch++)
        for (int i = 0; i < COUNT; i++) {
            double start = now_ns();
            for (int round = 0; round < ROUNDS; round++) all[i].run();
            ns[i][batch] = (now_ns() - start) / ROUNDS;
        }
    for (int i = 0; i < COUNT; i++) {
        qsort(ns[i], BATCHES, sizeof **ns, by_size);
        printf("%s\t%.2f\n", all[i].name, ns[i][BATCHES / 2]);
    }
    return 0;
}
