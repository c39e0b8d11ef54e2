// An interval whose work is recorded as an attribute.
// build: gcc -O1 -g -I../../../../include attributes.c
//
// Interval: annotated, with calls of serve: `rows` rows of 100,000 ticks each, 1, 2, 4 or 8 by two bits of a balanced design, set
// before the work; its number in the run is set after it. Each quarter of the intervals has each number of rows:
//   mean of rows 15/4, latency at least 100,000 ticks a row
#include "evenkeel.h"
#include "spin.h"

FUNCTION uint64_t serve(unsigned rows) {
    spin(100000 * (uint64_t)rows);
    return rows;
}

FUNCTION uint64_t run(uint64_t number, unsigned rows) {
    evenkeel_begin(number);
    evenkeel_attribute(number, "rows", rows);
    uint64_t result = serve(rows);
    evenkeel_attribute(number, "number in the run", (int64_t)number);
    evenkeel_end(number);
    return result;
}

int main(int argc, char **argv) {
    unsigned long count = intervals(argc, argv, 800);
    struct design design = {.state = 5};
    uint64_t checksum = CHECKSUM_START;
    for (unsigned long i = 0; i < count; i++) {
        checksum = mix(checksum, run(i + 1, 1u << (draw(&design) & 3)));
    }
    print_result("attributes", count, checksum);
    return 0;
}
