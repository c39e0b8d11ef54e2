// A task queue with too few workers.
// build: gcc -O1 -g -pthread -I../../../../include waits_queue.c
//
// Interval: a request, from its submission until its worker is done with it, annotated. Groups of 4 requests are
// submitted at once to one worker, which handles them in turn, S = 300,000 ticks each in handle. The group's requests wait
// in the queue for 0, S, 2S and 3S, and are served for S: latencies S, 2S, 3S, 4S. (Submitting all four takes as good as nothing.)
//   mean latency 2.5 S, in the queue 1.5 S, in handle 1 S
//   Var(L) = ((1.5^2 + 0.5^2) 2 / 4) S^2 = 1.25 S^2, all of it in the queue, none in handle
// The next group is submitted when all four are done.
#include <pthread.h>

#include "evenkeel.h"
#include "spin.h"

#define GROUP 4
#define SERVICE 300000

struct request {
    uint64_t number;
    uint64_t result;
};

static struct request group[GROUP];
static int submitted, taken, done, is_over;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t is_new = PTHREAD_COND_INITIALIZER, is_done = PTHREAD_COND_INITIALIZER;

FUNCTION uint64_t handle(uint64_t number) {
    spin(SERVICE);
    return number * number;
}

static void *worker(void *unused) {
    (void)unused;
    for (;;) {
        pthread_mutex_lock(&mutex);
        while (taken == submitted && !is_over) {
            pthread_cond_wait(&is_new, &mutex);
        }
        if (taken == submitted) {
            pthread_mutex_unlock(&mutex);
            return NULL;
        }
        struct request *request = &group[taken++];
        pthread_mutex_unlock(&mutex);
        evenkeel_dequeue(EVENKEEL_ID(request));
        evenkeel_work(EVENKEEL_ID(request));
        request->result = handle(request->number);
        evenkeel_end(EVENKEEL_ID(request));
        pthread_mutex_lock(&mutex);
        if (++done == GROUP) {
            pthread_cond_signal(&is_done);
        }
        pthread_mutex_unlock(&mutex);
    }
}

static void submit(struct request *request) {
    evenkeel_begin(EVENKEEL_ID(request));
    evenkeel_enqueue(EVENKEEL_ID(request));
    evenkeel_work(0);
}

int main(int argc, char **argv) {
    unsigned long count = intervals(argc, argv, 800);
    uint64_t checksum = CHECKSUM_START;
    pthread_t thread;
    if (pthread_create(&thread, NULL, worker, NULL)) {
        perror("pthread_create");
        return 1;
    }
    for (unsigned long i = 0; i < count; i += GROUP) {
        pthread_mutex_lock(&mutex);
        submitted = taken = done = 0;
        for (int j = 0; j < GROUP; j++) {
            group[j].number = i + (unsigned long)j;
            submit(&group[j]);
        }
        submitted = GROUP;
        pthread_cond_signal(&is_new);
        while (done < GROUP) {
            pthread_cond_wait(&is_done, &mutex);
        }
        pthread_mutex_unlock(&mutex);
        for (int j = 0; j < GROUP; j++) {
            checksum = mix(checksum, group[j].result);
        }
    }
    pthread_mutex_lock(&mutex);
    is_over = 1;
    pthread_cond_signal(&is_new);
    pthread_mutex_unlock(&mutex);
    pthread_join(thread, NULL);
    print_result("waits_queue", count, checksum);
}
