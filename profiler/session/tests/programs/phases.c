// Load that changes: another part of the dispatcher's commands runs in each phase.
// build: gcc -O1 -g phases.c
//
// Interval: serve. It calls early in the first quarter of the run and late in the rest, 20,000 or 200,000 ticks by a bit of
// a balanced design. late's time is that of inner, one call below. Neither runs in the other's phase.
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

int main(int argc, char **argv) {
    unsigned long count = intervals(argc, argv, 20000);
    struct design design = {.state = 5};
    uint64_t checksum = CHECKSUM_START;
    for (unsigned long i = 0; i < count; i++) {
        checksum = mix(checksum, serve(4 * i >= count, draw(&design) & 1 ? 200000 : 20000));
    }
    print_result("phases", count, checksum);
}
