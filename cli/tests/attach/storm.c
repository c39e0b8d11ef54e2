// A program that does without pause what attaching could be disturbed by, beside threads whose intervals are checked.
// build: gcc -O1 -g -pthread storm.c
//
// storm WHAT, with WHAT one of forks, threads, libraries, signals, beside (forks during a dlopen of another thread).
// Makes the file that READY names when all threads run, and works until the file that UNTIL names exists. Prints
// "intervals" and "wrong". An interval is wrong if its sum is, a child if it does not end with 7. A signal is wrong
// if its handler finds a changed errno.
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define FUNCTION __attribute__((noinline, noipa))
#define WORKERS 3

static volatile int over;
static uint64_t done, wrong, storms;
static pthread_t workers[WORKERS];

FUNCTION uint64_t stage(uint64_t n) {
    uint64_t sum = 0;
    for (uint64_t i = 1; i <= n; i++) {
        sum += i;
        __asm__ volatile("" : "+r"(sum));
    }
    return sum;
}

FUNCTION int run_interval(uint64_t seed) {
    uint64_t n = 100 + seed % 4000;
    uint64_t sum = stage(n);
    usleep(seed % 32 ? 0 : 50);
    return sum == n * (n + 1) / 2;
}

static void count(int right) { __atomic_fetch_add(right ? &done : &wrong, 1, __ATOMIC_RELAXED); }

static void *work(void *unused) {
    uint64_t seed = (uint64_t)&unused;
    while (!over) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        count(run_interval(seed >> 33));
    }
    return 0;
}

static void *short_life(void *seed) {
    count(run_interval((uintptr_t)seed));
    return 0;
}

static void handler(int signal) {
    int before = errno;
    count(run_interval((uint64_t)signal));
    errno = before;
}

static void one_fork(void) {
    pid_t child = fork();
    if (child == 0) {
        _exit(run_interval(storms) ? 7 : 1);
    }
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 7) {
        count(0);
    }
}

static void one_thread(void) {
    pthread_t thread;
    if (pthread_create(&thread, 0, short_life, (void *)(uintptr_t)storms)) {
        count(0);
        return;
    }
    pthread_join(thread, 0);
}

// A library of the system that few programs have loaded: its initialisers run, and its memory goes again.
static void one_library(void) {
    void *library = dlopen("libresolv.so.2", RTLD_NOW | RTLD_LOCAL);
    if (!library || !dlsym(library, "ns_name_skip")) {
        count(0);
        return;
    }
    dlclose(library);
}

static void *libraries(void *unused) {
    while (!over) {
        one_library();
    }
    return unused;
}

static void one_signal(void) {
    pthread_kill(workers[storms % WORKERS], storms % 2 ? SIGUSR1 : SIGUSR2);
    if (storms % 8 == 0) {
        usleep(100);
    }
}

int main(int argc, char **argv) {
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    const char *what = argc > 1 ? argv[1] : "", *until = getenv("UNTIL");
    sigaction(SIGUSR1, &action, 0);
    sigaction(SIGUSR2, &action, 0);
    for (int i = 0; i < WORKERS; i++) {
        pthread_create(&workers[i], 0, work, 0);
    }
    pthread_t opener;
    int is_beside = what[0] == 'b';
    if (is_beside) {
        pthread_create(&opener, 0, libraries, 0);
    }
    if (getenv("READY")) {
        close(open(getenv("READY"), O_CREAT | O_WRONLY, 0600));
    }
    while (access(until, F_OK)) {
        storms++;
        switch (what[0]) {
        case 'b':
        case 'f': one_fork(); break;
        case 't': one_thread(); break;
        case 'l': one_library(); break;
        case 's': one_signal(); break;
        default: return 2;
        }
    }
    over = 1;
    for (int i = 0; i < WORKERS; i++) {
        pthread_join(workers[i], 0);
    }
    if (is_beside) {
        pthread_join(opener, 0);
    }
    printf("%llu storms, %llu intervals, %llu wrong\n", (unsigned long long)storms, (unsigned long long)done, (unsigned long long)wrong);
    return 0;
}
