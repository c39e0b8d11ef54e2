// A function in assembly that goes on in the middle of another by a jump, as the entries of LuaJIT's interpreter do.
// build: gcc -O1 -g jumps_inside.c
//
// Interval: run_interval > enter, by bit 0 of a balanced design:
//   0: vary, 10,000 ticks
//   1: vary, 50,000 ticks
// The latency's variance is 4e8, all of it enter's. The call of vary is in interpret's code, which nobody calls.
// With -DCALLS_TOO enter makes a call where it is, as well.
#include "spin.h"

#ifdef CALLS_TOO
#define CALL_OF_LOOK "mov %rdi, (%rsp)\n call look\n mov (%rsp), %rdi\n"
#else
#define CALL_OF_LOOK ""
#endif

__attribute__((noinline, noipa, used)) void look(void) {}

__attribute__((noinline, noipa, used)) uint64_t vary(uint64_t ticks) {
    spin(ticks);
    return ticks;
}

uint64_t enter(uint64_t value);
__asm__(".text\n.globl enter\n.type enter, @function\nenter:\n.cfi_startproc\n"
        "sub $8, %rsp\n.cfi_def_cfa_offset 16\n" CALL_OF_LOOK
        "and $1, %edi\n"
        "imul $40000, %rdi, %rdi\n"
        "add $10000, %rdi\n"
        "jmp .Linside\n"
        ".cfi_endproc\n.size enter, . - enter\n"
        ".p2align 4\n"
        ".type interpret, @function\ninterpret:\n.cfi_startproc\n"
        "sub $8, %rsp\n.cfi_def_cfa_offset 16\n"
        "mov $10000, %edi\n"
        ".Linside: call vary\n"
        "add $8, %rsp\n.cfi_def_cfa_offset 8\n"
        "ret\n"
        ".cfi_endproc\n.size interpret, . - interpret\n");

FUNCTION uint64_t run_interval(uint64_t value) {
    return enter(value) + 1;
}

int main(int argc, char **argv) {
    unsigned long count = intervals(argc, argv, 8000);
    struct design design = {.state = 13};
    uint64_t checksum = CHECKSUM_START;
    for (unsigned long i = 0; more(i, &count); i++) {
        checksum = mix(checksum, run_interval(draw(&design)));
    }
    print_result("jumps_inside", count, checksum);
    return 0;
}
