// A server, one of whose threads uses the thread-local memory of the first one: `clone` without CLONE_SETTLS.
// build: gcc -O1 -g shared.c
//
// That thread begins when the file exists that WHEN names, with an argument before READY is made. All work until the file
// UNTIL exists, then the program prints the number of requests that had a "wrong" result.
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile int stops;
static volatile unsigned long served[2], wrong[2];
static char stack[256 << 10] __attribute__((aligned(64)));

__attribute__((noinline)) unsigned long inner(unsigned long number) {
    for (int turn = 0; turn < 200 + (number % 8 == 0) * 4000; turn++)
        number = number * 6364136223846793005 + 1442695040888963407;
    asm volatile("" : "+r"(number));
    return number;
}

__attribute__((noinline)) unsigned long handle_request(unsigned long number) {
    return inner(number) + inner(number + 1);
}

static int serve(void *argument) {
    long which = (long)argument;
    unsigned long expected[16];
    for (unsigned long number = 0; number < 16; number++)
        expected[number] = handle_request(number);
    for (unsigned long number = 0; !stops; number++, served[which]++) {
        wrong[which] += handle_request(number % 16) != expected[number % 16];
        if (which == 0 && number % 64 == 0) {
            usleep(100);
            if (!access(getenv("UNTIL"), F_OK))
                stops = 1;
        }
        if (which == 0 && !access(getenv("WHEN"), F_OK) && !served[1]) {
            served[1] = 1;
            clone(serve, stack + sizeof stack, CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM, (void *)1);
        }
    }
    return 0;
}

int main(int arguments, char **argument) {
    if (arguments > 1 && argument[1])
        close(open(getenv("WHEN"), O_CREAT | O_WRONLY, 0600));
    close(open(getenv("READY"), O_CREAT | O_WRONLY, 0600));
    serve((void *)0);
    usleep(100000);
    printf("%d threads, %lu wrong\n", served[1] > 1 ? 2 : 1, wrong[0] + wrong[1]);
    return 0;
}
