/* Annotations: two intervals interleaved on one thread; then one that begins here, goes through a queue as a task, is worked for
 * and ended by another thread; then one that begins in a process and ends in its child. */
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>

#include "evenkeel.h"

static long request;

static void *serve(void *) {
    evenkeel_dequeue(EVENKEEL_ID(&request));
    evenkeel_work(EVENKEEL_ID(&request));
    evenkeel_attribute(EVENKEEL_ID(&request), "rows", -12);
    evenkeel_end(EVENKEEL_ID(&request));
    return nullptr;
}

int main() {
    evenkeel_begin(7);
    evenkeel_begin(8);
    evenkeel_class(8, "a class of fourteen and more");
    evenkeel_work(7);
    evenkeel_end(8);
    evenkeel_end(7);

    pthread_t thread;
    evenkeel_begin(EVENKEEL_ID(&request));
    evenkeel_enqueue(EVENKEEL_ID(&request));
    evenkeel_work(0);
    pthread_create(&thread, nullptr, serve, nullptr);
    pthread_join(thread, nullptr);

    evenkeel_begin(EVENKEEL_SHARED(7));
    fflush(stdout);
    if (fork() == 0) {
        evenkeel_end(EVENKEEL_SHARED(7));
        _exit(0);
    }
    int status;
    wait(&status);
    std::puts(status == 0 ? "done" : "failed");
    return status;
}
