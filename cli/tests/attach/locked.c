// A server that locks all its memory, as `memcached -k` does, now and again, in case that something has been unlocked.
// build: gcc -O1 -g locked.c
//
// Works until the file that UNTIL names exists, then prints the number of "failed" requests and how much is locked.
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

__attribute__((noinline)) int handle_request(unsigned long number) {
    if (number % 128 == 0 && mlockall(MCL_CURRENT | MCL_FUTURE))
        return 1;
    usleep(2000);
    return 0;
}

int main(void) {
    unsigned long requests = 0, failed = 0, locked = 0;
    char line[256];
    failed += handle_request(requests++);
    fclose(fopen(getenv("READY"), "w"));
    for (; access(getenv("UNTIL"), F_OK); requests++)
        failed += handle_request(requests);
    FILE *status = fopen("/proc/self/status", "r");
    while (fgets(line, sizeof line, status))
        sscanf(line, "VmLck: %lu", &locked);
    printf("%lu requests, %lu failed, %lu MB locked\n", requests, failed, locked / 1024);
    return 0;
}
