// Semaphores between two processes, in shared memory that each has at an address of its own.
// build: gcc -O1 -g -pthread waits_semaphore.c
//
// Interval, in the parent: run_interval > fetch > sem_post of the request, sem_wait for the answer. The child, forked at the start,
// maps the memory once more and lets go of the parent's address; it waits for a request, works in produce, and posts the answer:
//   produce  300,000 or 900,000 ticks, each in half of the intervals of a balanced design: mean 600,000, variance 9e10
// The parent cannot go on before the answer is there, so at least 600,000 ticks of the mean latency are
// fetch > waits: semaphore > thread outside of intervals > produce, and on a quiet machine all of the variance.
#define _GNU_SOURCE
#include <semaphore.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "spin.h"

struct shared {
    sem_t request, answer;
    uint64_t ticks, result;
};

FUNCTION uint64_t produce(uint64_t ticks) {
    spin(ticks);
    return ticks * 7;
}

FUNCTION int answer(struct shared *shared) {
    sem_wait(&shared->request);
    if (!shared->ticks) {
        return 0;
    }
    shared->result = produce(shared->ticks);
    sem_post(&shared->answer);
    return 1;
}

FUNCTION uint64_t fetch(struct shared *shared, uint64_t ticks) {
    shared->ticks = ticks;
    sem_post(&shared->request);
    sem_wait(&shared->answer);
    return shared->result;
}

static volatile uint64_t begun; // something for the hook at the function's entry to lie on

FUNCTION uint64_t run_interval(struct shared *shared, uint64_t ticks) {
    begun++;
    return fetch(shared, ticks) + 1;
}

static struct shared *map(int file) {
    struct shared *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (shared == MAP_FAILED) {
        perror("mmap");
        exit(1);
    }
    return shared;
}

int main(int argc, char **argv) {
    unsigned long count = intervals(argc, argv, 800);
    int file = memfd_create("waits_semaphore", 0);
    if (file < 0 || ftruncate(file, sizeof(struct shared))) {
        perror("memfd_create");
        return 1;
    }
    struct shared *shared = map(file);
    sem_init(&shared->request, 1, 0);
    sem_init(&shared->answer, 1, 0);
    pid_t child = fork();
    if (child == 0) {
        struct shared *elsewhere = map(file);
        munmap(shared, sizeof *shared);
        while (answer(elsewhere)) {
        }
        _exit(7);
    }
    struct design design = {.state = 1};
    uint64_t checksum = CHECKSUM_START;
    for (unsigned long i = 0; i < count; i++) {
        checksum = mix(checksum, run_interval(shared, draw(&design) & 1 ? 900000 : 300000));
    }
    shared->ticks = 0;
    sem_post(&shared->request);
    int status = -1;
    if (waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 7) {
        return 1;
    }
    print_result("waits_semaphore", count, checksum);
}
