// A function that goes on in others by jumps that cannot be redirected: a conditional one, and one of two bytes.
// build: gcc -O1 -g jumps_on.c
//
// Interval: run_interval > decide, by bit 0 of a balanced design:
//   0: a jump of two bytes to quick > vary, 10,000 ticks
//   1: a conditional jump to slow > vary, 50,000 ticks
// The latency's variance is 4e8, that of slow 6.25e8, that of quick 0.25e8, and their covariance -1.25e8. Nothing of it is decide's own.
// Compilers make the first for functions that are close, the second where they save size or know which way is seldom taken.
#include "spin.h"

FUNCTION uint64_t vary(uint64_t ticks) {
    spin(ticks);
    return ticks;
}

__attribute__((noinline, noipa, used)) uint64_t slow(void) {
    return vary(50000) + 1;
}

uint64_t decide(uint64_t value);
__asm__(".text\n.globl decide\n.type decide, @function\ndecide:\n.cfi_startproc\n"
        "test $1, %dil\n"
        "jne slow\n"
        "jmp quick\n"
        ".cfi_endproc\n.size decide, . - decide\n"
        ".p2align 4\n"
        ".type quick, @function\nquick:\n.cfi_startproc\n"
        "sub $8, %rsp\n.cfi_def_cfa_offset 16\n"
        "mov $10000, %edi\n"
        "call vary\n"
        "add $8, %rsp\n.cfi_def_cfa_offset 8\n"
        "ret\n"
        ".cfi_endproc\n.size quick, . - quick\n");

FUNCTION uint64_t run_interval(uint64_t value) {
    return decide(value) + 1;
}

int main(int argc, char **argv) {
    unsigned long count = intervals(argc, argv, 8000);
    struct design design = {.state = 11};
    uint64_t checksum = CHECKSUM_START;
    for (unsigned long i = 0; more(i, &count); i++) {
        checksum = mix(checksum, run_interval(draw(&design)));
    }
    print_result("jumps_on", count, checksum);
    return 0;
}
