// Indirect calls too short for a five-byte patch, in the two forms that matter.
// build: gcc -O1 -g indirect.c
//
// Interval: run_interval > call_register (`call *%rax`, 2 bytes) and call_memory (`call *8(%rax)`, 3 bytes), whose callees
// are `quick` or `slow`. By bits 0 and 1 of a balanced design:
//   through call_register  quick 20,000 or slow 100,000 ticks   sd 40,000
//   through call_memory    quick 20,000 or slow 100,000 ticks   sd 40,000
// Var(L) = 3.2e9: call_register and call_memory 50 % each, covariance 0. Mean of L: 120,000.
#include "spin.h"

struct table {
    void *unused;
    uint64_t (*function)(uint64_t);
};

uint64_t call_register(uint64_t (*function)(uint64_t), uint64_t value);
uint64_t call_memory(const struct table *table, uint64_t value);

// Written out, because a compiler is free to choose another register or to load the pointer first.
__asm__(".text\n"
        ".globl call_register\n"
        ".type call_register, @function\n"
        "call_register:\n"
        "  .cfi_startproc\n"
        "  subq $8, %rsp\n"
        "  .cfi_adjust_cfa_offset 8\n"
        "  movq %rdi, %rax\n"
        "  movq %rsi, %rdi\n"
        "  call *%rax\n"
        "  addq $8, %rsp\n"
        "  .cfi_adjust_cfa_offset -8\n"
        "  ret\n"
        "  .cfi_endproc\n"
        ".size call_register, .-call_register\n"
        ".globl call_memory\n"
        ".type call_memory, @function\n"
        "call_memory:\n"
        "  .cfi_startproc\n"
        "  subq $8, %rsp\n"
        "  .cfi_adjust_cfa_offset 8\n"
        "  movq %rdi, %rax\n"
        "  movq %rsi, %rdi\n"
        "  call *8(%rax)\n"
        "  addq $8, %rsp\n"
        "  .cfi_adjust_cfa_offset -8\n"
        "  ret\n"
        "  .cfi_endproc\n"
        ".size call_memory, .-call_memory\n");

FUNCTION uint64_t quick(uint64_t value) {
    spin(20000);
    return value + 1;
}

FUNCTION uint64_t slow(uint64_t value) {
    spin(100000);
    return value + 2;
}

static const struct table tables[2] = {{NULL, quick}, {NULL, slow}};

FUNCTION uint64_t run_interval(unsigned choice) {
    uint64_t result = call_register(choice & 1 ? slow : quick, choice);
    return result + 10 * call_memory(&tables[choice >> 1 & 1], choice);
}

int main(int argc, char **argv) {
    unsigned long count = intervals(argc, argv, 4000);
    struct design design = {.state = 9};
    uint64_t checksum = CHECKSUM_START;
    for (unsigned long i = 0; more(i, &count); i++) {
        checksum = mix(checksum, run_interval(draw(&design)));
    }
    print_result("indirect", count, checksum);
}
