// More threads that compute than processors: an interval is preempted, and blocked.
// build: gcc -O1 -g -pthread waits_processor.c
//
// Interval: run_interval > compute, then fetch > read. Twice as many background threads as there are processors compute all the
// time, so that at any moment at least two of them share the interval's processor with it.
//   compute   20,000,000 dependent multiplications, at least 3 cycles each: some 20 ms of processor time, many times what the
//             scheduler grants in one go (CFS and EEVDF: less than 4 ms beside others). So it is preempted in every interval.
//   fetch     asks a background thread by a pipe and reads its answer, for which that one works 300,000 ticks in answer, once the
//             one that asks sleeps. So it blocks in every interval, once, in read, and below the wait is answer.
// Who sees the kernel's switches sees the first as "runnable, waiting for a CPU" below compute; who does not counts it as compute's own.
#include <pthread.h>
#include <unistd.h>

#include "spin.h"

static int questions[2], answers[2];
// The thread that asks.
static char asker[64];

FUNCTION uint64_t compute(uint64_t value) {
    for (int i = 0; i < 20000000; i++) {
        value = value * 0x100000001B3u + 1;
    }
    return value;
}

static void *compete(void *unused) {
    for (;;) {
        compute((uint64_t)(uintptr_t)unused);
    }
}

FUNCTION void answer(uint64_t question) {
    spin(300000);
    uint64_t value = question * 3;
    if (write(answers[1], &value, sizeof value) != sizeof value) {
        abort();
    }
}

// Where the one that is woken runs at once, its answer would be there before anybody waits for it.
static void until_the_asker_sleeps(void) {
    char state[64] = "";
    while (!strstr(state, ") S ")) {
        give_way();
        long file = system_call(SYS_open, (long)asker, O_RDONLY, 0);
        if (file < 0 || system_call(SYS_read, file, (long)state, sizeof state - 1) < 0) {
            abort();
        }
        system_call(SYS_close, file, 0, 0);
    }
}

static void *serve(void *unused) {
    uint64_t question;
    while (read(questions[0], &question, sizeof question) == sizeof question) {
        until_the_asker_sleeps();
        answer(question);
    }
    return unused;
}

FUNCTION uint64_t fetch(uint64_t question) {
    uint64_t value = 0;
    if (write(questions[1], &question, sizeof question) != sizeof question ||
        read(answers[0], &value, sizeof value) != sizeof value) {
        abort();
    }
    return value;
}

FUNCTION uint64_t run_interval(uint64_t value) {
    return fetch(compute(value)) + 1;
}

int main(int argc, char **argv) {
    unsigned long count = intervals(argc, argv, 24);
    uint64_t checksum = CHECKSUM_START;
    pthread_t thread;
    snprintf(asker, sizeof asker, "/proc/self/task/%d/stat", getpid());
    if (pipe(questions) || pipe(answers) || pthread_create(&thread, NULL, serve, NULL)) {
        perror("waits_processor");
        return 1;
    }
    for (long i = 2 * sysconf(_SC_NPROCESSORS_ONLN); i > 0; i--) {
        if (pthread_create(&thread, NULL, compete, NULL)) {
            perror("waits_processor");
            return 1;
        }
    }
    for (unsigned long i = 0; i < count; i++) {
        checksum = mix(checksum, run_interval(i));
    }
    print_result("waits_processor", count, checksum);
}
