// A call through a pointer in the first five bytes of the interval's function, where the jump to its hook stands.
// build: gcc -O1 -g -fcf-protection=none under_entry_pointer.c
//
// handle_request is `sub $8, %rsp; call *work; ..`: whom it calls cannot be found out, and that is said. Named by its call,
// main>handle_request, it can. choose takes 10,000 or 50,000 ticks, as often the one as the other: all of the variance.
#include "spin.h"

FUNCTION uint64_t choose(unsigned choice) {
    spin(choice & 1 ? 50000 : 10000);
    return choice;
}

uint64_t (*work)(unsigned) = choose;

FUNCTION uint64_t handle_request(unsigned choice) {
    return work(choice) + 1;
}

int main(int argc, char **argv) {
    unsigned long count = intervals(argc, argv, 8000);
    struct design design = {.state = 31};
    uint64_t checksum = CHECKSUM_START;
    for (unsigned long i = 0; more(i, &count); i++) {
        checksum = mix(checksum, handle_request(draw(&design)));
    }
    print_result("under_entry_pointer", count, checksum);
}
