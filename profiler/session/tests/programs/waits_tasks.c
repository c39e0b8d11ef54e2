// Tasks that spawn tasks, for a pool of workers. Nothing in the source tells the profiler of it: the functions are named to it.
// build: gcc -O1 -g -pthread waits_tasks.c
//
// Interval: a request, from new_request to end_request. It is a tree of tasks: each works in step, S = 100,000 or 200,000 ticks (one
// choice for all tasks of a request, each in half of the requests), and then puts two more into the queue, two levels deep: 1 + 2 + 4
// tasks. The leaf that is done last ends the request. The queue is first in, first out.
//
// The second argument is the number of workers. However many: the path from the end leads through the last leaf, the queue, the task
// that spawned it, the queue, and the first task: 3 tasks, so 3 S in step.
// With one worker the order is known: 0, 1 2, 3 4 5 6, the task 6 being spawned by 2, and 2 by 0:
//   2 is queued while 1 runs, 6 while 3, 4 and 5 do: queued 4 S; latency 3 S + 4 S = 7 S, mean 1,050,000 ticks
//   of the variance, all of which is S's, 3/7 are step's and 4/7 the queue's
#include <pthread.h>
#include <stdatomic.h>

#include "spin.h"

#define LEVELS 2
#define LEAVES 4
#define WORKERS_MAX 16

struct request {
    uint64_t ticks;
    _Atomic uint64_t leaves_done;
    _Atomic uint64_t sum;
};

struct task {
    struct task *next;
    struct request *request;
    unsigned level;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t is_new = PTHREAD_COND_INITIALIZER, is_done = PTHREAD_COND_INITIALIZER;
static struct task *first, **behind_last = &first;
static int is_over, requests_done;

FUNCTION struct request *new_request(uint64_t ticks) {
    struct request *request = calloc(1, sizeof *request);
    request->ticks = ticks;
    return request;
}

FUNCTION void end_request(struct request *request) {
    request->ticks = 0;
}

FUNCTION void put(struct task *task) {
    pthread_mutex_lock(&mutex);
    *behind_last = task;
    behind_last = &task->next;
    pthread_cond_signal(&is_new);
    pthread_mutex_unlock(&mutex);
}

FUNCTION struct task *get(void) {
    pthread_mutex_lock(&mutex);
    while (!first && !is_over) {
        pthread_cond_wait(&is_new, &mutex);
    }
    struct task *task = first;
    if (task && !(first = task->next)) {
        behind_last = &first;
    }
    pthread_mutex_unlock(&mutex);
    return task;
}

static void spawn(struct request *request, unsigned level) {
    struct task *task = calloc(1, sizeof *task);
    task->request = request;
    task->level = level;
    put(task);
}

FUNCTION void step(struct request *request) {
    spin(request->ticks);
    atomic_fetch_add(&request->sum, request->ticks);
}

static void finish(struct request *request) {
    if (atomic_fetch_add(&request->leaves_done, 1) + 1 < LEAVES) {
        return;
    }
    end_request(request);
    pthread_mutex_lock(&mutex);
    requests_done++;
    pthread_cond_signal(&is_done);
    pthread_mutex_unlock(&mutex);
}

FUNCTION void run_task(struct request *request, unsigned level) {
    step(request);
    if (level == LEVELS) {
        finish(request);
        return;
    }
    spawn(request, level + 1);
    spawn(request, level + 1);
}

static void *work(void *unused) {
    for (struct task *task; (task = get());) {
        run_task(task->request, task->level);
        free(task);
    }
    return unused;
}

static uint64_t serve(uint64_t ticks) {
    struct request *request = new_request(ticks);
    spawn(request, 0);
    pthread_mutex_lock(&mutex);
    while (!requests_done) {
        pthread_cond_wait(&is_done, &mutex);
    }
    requests_done = 0;
    pthread_mutex_unlock(&mutex);
    uint64_t sum = request->sum;
    free(request);
    return sum;
}

int main(int argc, char **argv) {
    unsigned long count = intervals(argc, argv, 800);
    unsigned long workers = argc > 2 ? strtoul(argv[2], NULL, 10) : 1;
    struct design design = {.state = 1};
    uint64_t checksum = CHECKSUM_START;
    pthread_t pool[WORKERS_MAX];
    for (unsigned long i = 0; i < workers && i < WORKERS_MAX; i++) {
        if (pthread_create(&pool[i], NULL, work, NULL)) {
            perror("pthread_create");
            return 1;
        }
    }
    for (unsigned long i = 0; i < count; i++) {
        checksum = mix(checksum, serve(draw(&design) & 1 ? 200000 : 100000));
    }
    pthread_mutex_lock(&mutex);
    is_over = 1;
    pthread_cond_broadcast(&is_new);
    pthread_mutex_unlock(&mutex);
    for (unsigned long i = 0; i < workers && i < WORKERS_MAX; i++) {
        pthread_join(pool[i], NULL);
    }
    print_result("waits_tasks", count, checksum);
}
