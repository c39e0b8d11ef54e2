// One interval in 5,000 stalls, in one call below two others.
// build: gcc -O1 -g stalls.c
//
// Interval: serve. It calls parse and store, which calls write_log: each takes 2,000 to 20,000 ticks. One write_log in 5,000 sleeps for
// 40 ms, at the least a thousand times what all others take: more than 99 % of the variance is there.
#include "spin.h"
#include <time.h>

FUNCTION uint64_t write_log(uint64_t ticks, int stalls) {
    if (stalls) {
        struct timespec wait = {0, 40 * 1000 * 1000};
        nanosleep(&wait, 0);
    }
    spin(ticks);
    return ticks + 1;
}

FUNCTION uint64_t parse(uint64_t ticks) {
    spin(ticks);
    return ticks + 2;
}

FUNCTION uint64_t store(uint64_t ticks, int stalls) {
    spin(2000);
    return write_log(ticks, stalls) + 3;
}

FUNCTION uint64_t serve(uint64_t first, uint64_t second, int stalls) {
    return parse(first) + store(second, stalls) + 4;
}

int main(int argc, char **argv) {
    unsigned long count = intervals(argc, argv, 50000);
    struct design design = {.state = 5};
    uint64_t checksum = CHECKSUM_START;
    for (unsigned long done = 0; more(done, &count); done++) {
        uint64_t first = draw(&design) & 1 ? 20000 : 2000;
        uint64_t second = draw(&design) & 1 ? 20000 : 2000;
        checksum = mix(checksum, serve(first, second, done % 5000 == 4000));
    }
    print_result("stalls", count, checksum);
}
