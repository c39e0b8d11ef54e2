// A fork while another thread is shown the loader's list of files: in the child the list's lock belongs to nobody.
// build: gcc -O1 -g -pthread fork_while_listed.c
//
// Each of N rounds: a thread goes through the list (dl_iterate_phdr), and stays there until there is a child. The child runs intervals
// for a fifth of a second, and ends with 7. Who asks for the list in it never gets it. Prints how many children there were, and how many ended in another way,
// or not within half a minute.
#define _GNU_SOURCE
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "spin.h"

#define CHILD_MS 200
// The parent's thread may need the list before it forks.
#define LISTED_MS 2000
#define ENDED_MS 30000

static volatile int listed, forked;

static long now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

FUNCTION uint64_t work(uint64_t request) {
    spin(5000);
    return request * 3;
}

FUNCTION uint64_t run_interval(uint64_t request) { return work(request) + 1; }

static int stay(struct dl_phdr_info *info, size_t size, void *data) {
    (void)info, (void)size, (void)data;
    listed = 1;
    for (long begin = now_ms(); !forked && now_ms() < begin + LISTED_MS;) {
        usleep(100);
    }
    return 1;
}

static void *list(void *unused) {
    dl_iterate_phdr(stay, NULL);
    return unused;
}

static int ends_well(pid_t child) {
    int status;
    for (long begin = now_ms(); now_ms() < begin + ENDED_MS; usleep(1000)) {
        if (waitpid(child, &status, WNOHANG) == child) {
            return WIFEXITED(status) && WEXITSTATUS(status) == 7;
        }
    }
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    return 0;
}

int main(int argc, char **argv) {
    int rounds = argc > 1 ? atoi(argv[1]) : 5, wrong = 0;
    uint64_t sum = 0;
    for (int round = 0; round < rounds; round++) {
        for (int i = 0; i < 100; i++) {
            sum += run_interval(i);
        }
        pthread_t lister;
        listed = forked = 0;
        pthread_create(&lister, NULL, list, NULL);
        while (!listed) {
            usleep(100);
        }
        pid_t child = fork();
        if (child == 0) {
            for (long begin = now_ms(); now_ms() < begin + CHILD_MS;) {
                sum += run_interval(1);
            }
            _exit(7);
        }
        forked = 1;
        wrong += !ends_well(child);
        pthread_join(lister, NULL);
    }
    printf("%d children, %d wrong, %d\n", rounds, wrong, sum > 0);
    return wrong != 0;
}
