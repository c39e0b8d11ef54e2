// Threads that each have an interval every tenth of a second: threads N
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

__attribute__((noinline, noipa)) void run_interval(void) {
    usleep(100);
}

static void *work(void *unused) {
    for (;;) {
        run_interval();
        usleep(100000);
    }
    return unused;
}

int main(int argc, char **argv) {
    int threads = argc > 1 ? atoi(argv[1]) : 1;
    for (int i = 0; i < threads; i++) {
        pthread_t thread;
        if (pthread_create(&thread, 0, work, 0) != 0) {
            return 1;
        }
    }
    pause();
}
