// A child that was forked while another thread was shown the loader's list of files: it can never open a library.
// build: gcc -O1 -g -pthread listed.c
//
// Both work until the file that UNTIL names is there. The child writes its number into the file that READY names, and ends with 7.
#define _GNU_SOURCE
#include <link.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile int listed, forked;

__attribute__((noinline)) uint64_t work(uint64_t request) {
    for (volatile int i = 0; i < 20000; i++) {
    }
    return request * 3;
}

__attribute__((noinline)) uint64_t run_interval(uint64_t request) { return work(request) + 1; }

static int stay(struct dl_phdr_info *info, size_t size, void *data) {
    (void)info, (void)size, (void)data;
    listed = 1;
    while (!forked) {
        usleep(100);
    }
    return 1;
}

static void *list(void *unused) {
    dl_iterate_phdr(stay, NULL);
    return unused;
}

static uint64_t go_on(void) {
    uint64_t done = 0;
    while (access(getenv("UNTIL"), F_OK) != 0) {
        for (int i = 0; i < 20; i++) {
            done += run_interval(done) > 0;
        }
    }
    return done;
}

static void tell(void) {
    char other[4096];
    snprintf(other, sizeof other, "%s.made", getenv("READY"));
    FILE *file = fopen(other, "w");
    fprintf(file, "%d", getpid());
    fclose(file);
    rename(other, getenv("READY"));
}

int main(void) {
    pthread_t lister;
    pthread_create(&lister, NULL, list, NULL);
    while (!listed) {
        usleep(100);
    }
    pid_t child = fork();
    if (child == 0) {
        tell();
        _exit(go_on() ? 7 : 1);
    }
    forked = 1;
    pthread_join(lister, NULL);
    int status;
    uint64_t done = go_on();
    waitpid(child, &status, 0);
    printf("%llu intervals, the child ended with %d\n", (unsigned long long)done, WIFEXITED(status) ? WEXITSTATUS(status) : -1);
}
