// A function of two instructions, which goes on in another: its jump lies in the bytes that a hook at its entry replaces.
// build: gcc -O1 -g thunk.c
//
// Interval: run_interval > (through a pointer) thunk, which jumps to general > work, by bit 0 of a balanced design:
//   work  10,000 or 50,000 ticks  variance 4e8, which is all of it
// thunk is met by its pointer and hooked at its entry; work is one call an interval, below thunk. Redis' sortCommand is made so.
#include "spin.h"

FUNCTION uint64_t work(uint64_t value) {
    spin(value & 1 ? 50000 : 10000);
    return value & 1;
}

__attribute__((noinline, noipa, used)) uint64_t general(uint64_t value, uint64_t more) {
    return work(value) + more + 1;
}

uint64_t thunk(uint64_t value);
__asm__(".text\n.globl thunk\n.type thunk, @function\nthunk:\n.cfi_startproc\n"
        "xor %esi, %esi\njmp general\n.cfi_endproc\n.size thunk, . - thunk\n");

FUNCTION uint64_t nothing(uint64_t value) {
    return value;
}

static uint64_t (*volatile commands[2])(uint64_t) = {thunk, nothing};

FUNCTION uint64_t run_interval(uint64_t value) {
    return commands[0](value) + 1;
}

int main(int argc, char **argv) {
    unsigned long count = intervals(argc, argv, 8000);
    struct design design = {.state = 3};
    uint64_t checksum = CHECKSUM_START;
    for (unsigned long i = 0; more(i, &count); i++) {
        checksum = mix(checksum, run_interval(draw(&design)));
    }
    print_result("thunk", count, checksum);
    return 0;
}
