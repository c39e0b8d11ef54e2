// Calls every function of the corpus (profiler/patch/tests/programs/entries.s) without pause, in threads, in children that are forked, in programs
// that are executed, and in a copy of the library that comes and goes.
// build: gcc -O1 -g -pthread random_plans.c -ldl
//
// random_plans LIBRARY COPY SEED UNTIL: ends when the file UNTIL is there; 0 if every function returned what it has to, every time.
// random_plans LIBRARY COPY SEED: the same a few times.
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *const names[] = {
    "plus_one", "jump_r", "jump_m", "jump_far_m", "jump_indexed_m", "jump_slot", "jump_plt", "jump_notrack_r", "jump_notrack_m", "endbr_r",
    "endbr_m", "behind_test_r", "jump_two_bytes", "jump_five_bytes", "call_m", "call_r", "call_slot", "call_direct", "call_at_once",
    "call_later_m", "plain",
};
#define COUNT (sizeof names / sizeof *names)
#define TURNS_SHORT 40

typedef int64_t function(int64_t, void *);
struct corpus {
    void *handle;
    function *functions[COUNT];
    void *arguments[COUNT];
};

static volatile int over, wrong;

static int check(const struct corpus *corpus) {
    for (unsigned i = 0; i < COUNT; i++) {
        if (corpus->functions[i](41, corpus->arguments[i]) != 42) {
            fprintf(stderr, "%s\n", names[i]);
            return wrong = 1;
        }
    }
    return 0;
}

static int load(struct corpus *corpus, const char *path) {
    corpus->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!corpus->handle) return wrong = 2;
    for (unsigned i = 0; i < COUNT; i++) {
        unsigned long length = strlen(names[i]);
        int takes_table = length > 2 && !strcmp(names[i] + length - 2, "_m");
        corpus->functions[i] = (function *)dlsym(corpus->handle, names[i]);
        corpus->arguments[i] = dlsym(corpus->handle, takes_table ? "table" : "plus_one");
    }
    return 0;
}

static void *work(void *corpus) {
    while (!over && !check(corpus)) {
    }
    return 0;
}

static void reap(pid_t child) {
    int status;
    if (child < 0 || waitpid(child, &status, 0) != child || status) {
        fprintf(stderr, "child: status %x\n", status);
        wrong = 3;
    }
}

// A child goes on for a while, or executes the program, which then begins under the plan of that moment.
static void start(char **arguments, const struct corpus *corpus, int executes) {
    pid_t child = fork();
    if (child) return reap(child);
    for (int i = 0; i < TURNS_SHORT && !check(corpus); i++) {
        if (i % 8 == 0) usleep(300);
    }
    if (executes) execl("/proc/self/exe", arguments[0], arguments[1], arguments[2], arguments[3], (char *)0);
    _exit(wrong);
}

int main(int count, char **arguments) {
    if (count < 4) return 4;
    struct corpus corpus, copy;
    if (load(&corpus, arguments[1])) return wrong;
    if (count == 4) {
        for (int i = 0; i < TURNS_SHORT && !check(&corpus); i++) usleep(100);
        return wrong;
    }
    uint64_t seed = strtoull(arguments[3], 0, 10);
    pthread_t thread;
    if (pthread_create(&thread, 0, work, &corpus)) return 5;
    while (!wrong && access(arguments[4], F_OK)) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        switch (seed >> 33 & 7) {
        case 0: start(arguments, &corpus, 1); break;
        case 1: start(arguments, &corpus, 0); break;
        case 2:
        case 3:
            if (load(&copy, arguments[2])) break;
            for (int i = 0; i < TURNS_SHORT && !check(&copy); i++) {
            }
            dlclose(copy.handle);
            break;
        default:
            for (int i = 0; i < TURNS_SHORT && !check(&corpus); i++) {
            }
        }
    }
    over = 1;
    pthread_join(thread, 0);
    return wrong;
}
