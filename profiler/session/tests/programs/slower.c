// Intervals that are so short at first that to time a call costs as much as the call, and then slow, in that call.
// build: gcc -O1 -g slower.c
//
// Interval: serve, which calls work. Until the file exists that CHANGE names, work returns at once; then it is 20,000 or 200,000 ticks
// by a bit of a balanced design, two calls below it, in deepest. All of the variance is there.
#include "spin.h"

FUNCTION uint64_t deepest(uint64_t ticks) {
    spin(ticks);
    return ticks + 1;
}

FUNCTION uint64_t inner(uint64_t ticks) {
    return deepest(ticks) + 2;
}

FUNCTION uint64_t work(uint64_t ticks) {
    return ticks ? inner(ticks) + 3 : 3;
}

FUNCTION uint64_t serve(uint64_t ticks) {
    return work(ticks) + 4;
}

int main(int argc, char **argv) {
    unsigned long count = intervals(argc, argv, 20000), quick = 0;
    const char *change = getenv("CHANGE");
    struct design design = {.state = 11};
    uint64_t checksum = CHECKSUM_START;
    for (; change && (quick % 1000 || access(change, F_OK) != 0); quick++) {
        checksum = mix(checksum, serve(0));
    }
    for (unsigned long done = 0; more(done, &count); done++) {
        checksum = mix(checksum, serve(draw(&design) & 1 ? 200000 : 20000));
    }
    print_result("slower", quick + count, checksum);
}
