// A function behind a pointer, whose entry cannot be hooked and one of whose calls cannot be timed.
// build: gcc -O1 -g behind_pointer.c
//
// Interval: handle. It calls work through a pointer, by an instruction that is long enough to be timed, or with -DSHORT by one that is
// not. A branch leads into the first five bytes of work, so that no jump fits there: its calls are timed below the call through the
// pointer, or below handle. It calls warm, 2,000 ticks, and goes on in rest by a jump of two bytes, which cannot be redirected, nor can
// the entry of rest be hooked: 10,000 or 50,000 ticks, as often the one as the other. All of the variance is there, and nothing but work's
// name leads to it.
#include "spin.h"

FUNCTION uint64_t warm(uint64_t ticks) {
    spin(ticks);
    return ticks;
}

uint64_t work(uint64_t ticks);
__asm__(".text\n"
        ".type work, @function\n"
        "work: push %rdi\n"
        "1:    dec %rdi\n"
        "      js 1b\n"
        "      mov $2000, %edi\n"
        "      call warm\n"
        "      pop %rdi\n"
        "      jmp rest\n"
        ".size work, . - work\n"
        ".type rest, @function\n"
        "rest: xor %ecx, %ecx\n"
        "2:    rdtsc\n"
        "      shl $32, %rdx\n"
        "      or %rdx, %rax\n"
        "      test %rcx, %rcx\n"
        "      cmovz %rax, %rcx\n"
        "      mov %rax, %rdx\n"
        "      sub %rcx, %rdx\n"
        "      cmp %rdi, %rdx\n"
        "      jb 2b\n"
        "      mov %rdi, %rax\n"
        "      ret\n"
        ".size rest, . - rest\n");

uint64_t (*volatile through)(uint64_t) = work;

FUNCTION uint64_t handle(unsigned choice) {
    uint64_t ticks = choice & 1 ? 50000 : 10000;
    // Written out, because a compiler is free to load the pointer first.
#ifdef SHORT
    register uint64_t (*target)(uint64_t) __asm__("rax") = through;
#define CALL "call *%%rax"
#else
    register uint64_t target __asm__("rax") = 0;
#define CALL "call *through(%%rip)"
#endif
    __asm__ volatile(CALL : "+D"(ticks), "+r"(target) : : "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "memory", "cc");
    return ticks + 1;
}

int main(int argc, char **argv) {
    unsigned long count = intervals(argc, argv, 8000);
    struct design design = {.state = 37};
    uint64_t checksum = CHECKSUM_START;
    for (unsigned long i = 0; more(i, &count); i++) {
        checksum = mix(checksum, handle(draw(&design)));
    }
    print_result("behind_pointer", count, checksum);
}
