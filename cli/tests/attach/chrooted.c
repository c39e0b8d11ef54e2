// A server that leaves for an empty root directory once the agent is there, as FTP servers do after the login. It calls what it
// serves with through a pointer.
// build: gcc -O1 -g chrooted.c
//
// Works until the file that UNTIL names exists, then prints whether it left, and the number of wrong answers.
#define _GNU_SOURCE
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

__attribute__((noinline)) unsigned long pass_time(unsigned long number) {
    struct timespec pause = {0, 100000 + number % 8 * 100000};
    nanosleep(&pause, NULL);
    return number + 1;
}

__attribute__((noinline)) unsigned long vary(unsigned long number) {
    unsigned long answer = pass_time(number);
    __asm__ volatile("" : "+r"(answer));
    return answer;
}

unsigned long (*volatile serve)(unsigned long) = vary;

__attribute__((noinline)) unsigned long handle_request(unsigned long number) {
    unsigned long answer = serve(number);
    __asm__ volatile("" : "+r"(answer));
    return answer;
}

static int is_hooked(void) {
    char line[512];
    int found = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof line, maps))
        found |= strstr(line, "evenkeel-agent") != NULL;
    if (maps)
        fclose(maps);
    return found;
}

int main(void) {
    unsigned long requests = 0, wrong = 0;
    int left = 0;
    char *until = strdup(getenv("UNTIL")), *name = basename(strdup(until));
    int directory = open(dirname(until), O_RDONLY | O_DIRECTORY);
    if (mkdirat(directory, "empty", 0755))
        return 1;
    fclose(fopen(getenv("READY"), "w"));
    for (; faccessat(directory, name, F_OK, 0); requests++) {
        if (!left && requests % 16 == 0 && is_hooked())
            left = fchdir(directory) == 0 && chroot("empty") == 0;
        wrong += handle_request(requests) != requests + 1;
    }
    printf("left %d, %lu wrong\n", left, wrong);
    return 0;
}
