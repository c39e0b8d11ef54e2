// A server that works a little, looks at its own code, and lives as oddly as servers do.
// build: gcc -O1 -g server.c
//
// server MODE SECONDS [DIRECTORY]: serves one request a millisecond for that long, or until the file that
// UNTIL names exists. Prints the first bytes of run_interval before and after, which show hooks. Checks every
// result. SECONDS bounds a server that nobody ends.
//   serve      at once
//   closing    after closing every descriptor but the standard streams
//   starting   like closing, then executes itself again with `serve`
//   daemon     in the background: two forks and a new session; the first process ends at once
//   changing   for that long, then becomes /bin/echo
//   chroot     with DIRECTORY as its root
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define FUNCTION __attribute__((noinline, noipa))
#define CODE_BYTES 40

static volatile uint64_t requests;

FUNCTION uint64_t work(uint64_t value) {
    uint64_t sum = 0;
    for (volatile int i = 0; i < 2000; i++) {
        sum += value;
    }
    return sum;
}

FUNCTION uint64_t run_interval(uint64_t value) {
    requests = requests + 1;
    uint64_t result = work(value);
    return result + 1;
}

static void print_code(const char *when) {
    printf("code %s:", when);
    for (int i = 0; i < CODE_BYTES; i++) {
        printf(" %02x", ((volatile unsigned char *)run_interval)[i]);
    }
    printf("\n");
    fflush(stdout);
}

static void serve(double seconds) {
    struct timespec now, end, pause = {0, 1000000};
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_sec += (time_t)seconds;
    print_code("before");
    uint64_t wrong = 0;
    const char *until = getenv("UNTIL");
    do {
        wrong += run_interval(requests) != 2000 * (requests - 1) + 1;
        nanosleep(&pause, NULL);
        clock_gettime(CLOCK_MONOTONIC, &now);
        // In another root the file lies elsewhere: a test ends that server by a file there.
        if (until && access(until, F_OK) == 0) {
            break;
        }
    } while (now.tv_sec < end.tv_sec || (now.tv_sec == end.tv_sec && now.tv_nsec < end.tv_nsec));
    print_code("after");
    printf("%llu wrong\n", (unsigned long long)wrong);
    fflush(stdout);
}

int main(int argc, char **argv) {
    if (argc < 3) {
        return 64;
    }
    const char *mode = argv[1];
    if (!strcmp(mode, "closing") || !strcmp(mode, "starting")) {
        close_range(3, ~0u, 0);
    }
    if (!strcmp(mode, "starting")) {
        execl("/proc/self/exe", "server", "serve", argv[2], (char *)NULL);
        return 65;
    }
    if (!strcmp(mode, "daemon")) {
        if (fork()) {
            return 0;
        }
        setsid();
        if (fork()) {
            _exit(0);
        }
    }
    if (!strcmp(mode, "chroot") && (argc < 4 || chroot(argv[3]) || chdir("/"))) {
        perror("chroot");
        return 66;
    }
    serve(atof(argv[2]));
    if (!strcmp(mode, "changing")) {
        execl("/bin/echo", "echo", "another program", (char *)NULL);
        return 67;
    }
    return 0;
}
