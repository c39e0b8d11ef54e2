// Load that changes: another part of the dispatcher's commands runs in each phase.
// build: gcc -O1 -g phases.c
//
// Interval: serve. It calls early in the first quarter of the run and late in the rest, 20,000 or 200,000 ticks by a bit of
// a balanced design. late's time is that of inner, one call below. Neither runs in the other's phase. With CHANGE in the environment
// the first phase lasts until the file exists that it names.
#include "spin.h"

FUNCTION uint64_t early(uint64_t ticks) {
    spin(ticks);
    return ticks + 1;
}

FUNCTION uint64_t inner(uint64_t ticks) {
    spin(ticks);
    return ticks + 2;
}

FUNCTION uint64_t late(uint64_t ticks) {
    return inner(ticks) + 3;
}

FUNCTION uint64_t serve(int is_late, uint64_t ticks) {
    uint64_t result = is_late ? late(ticks) : early(ticks);
    return result + 1;
}

static int goes_on(unsigned long done, unsigned long quarter) {
    const char *change = getenv("CHANGE");
    return change ? access(change, F_OK) != 0 : done < quarter;
}

int main(int argc, char **argv) {
    unsigned long count = intervals(argc, argv, 20000);
    struct design design = {.state = 5};
    uint64_t checksum = CHECKSUM_START;
    unsigned long done = 0, quarter = count / 4;
    for (; goes_on(done, quarter); done++) {
        pace(done);
        checksum = mix(checksum, serve(0, draw(&design) & 1 ? 200000 : 20000));
    }
    for (count += done - quarter; more(done, &count); done++) {
        checksum = mix(checksum, serve(1, draw(&design) & 1 ? 200000 : 20000));
    }
    print_result("phases", count, checksum);
}
