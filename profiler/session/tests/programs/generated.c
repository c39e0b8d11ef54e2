// Code that is made at run time, as a JIT compiler makes it, and calls the program.
// build: gcc -O1 -g generated.c
//
// Interval: run_interval > (through a pointer) generated code, which goes on in work, by bit 0 of a balanced design:
//   work  10,000 or 50,000 ticks  variance 4e8, which is all of it
// The generated code is in no file: the time is that of the call through the pointer, and where it leads is said.
#include <string.h>
#include <sys/mman.h>

#include "spin.h"

FUNCTION uint64_t work(uint64_t value) {
    spin(value & 1 ? 50000 : 10000);
    return value & 1;
}

static uint64_t (*volatile generated)(uint64_t);

FUNCTION uint64_t run_interval(uint64_t value) {
    return generated(value) + 1;
}

// mov $work, %rax; jmp *%rax
static int generate(void) {
    unsigned char code[] = {0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xe0};
    uint64_t address = (uint64_t)work;
    memcpy(code + 2, &address, sizeof address);
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) {
        return 0;
    }
    memcpy(page, code, sizeof code);
    generated = (uint64_t(*)(uint64_t))page;
    return mprotect(page, 4096, PROT_READ | PROT_EXEC) == 0;
}

int main(int argc, char **argv) {
    unsigned long count = intervals(argc, argv, 8000);
    struct design design = {.state = 3};
    uint64_t checksum = CHECKSUM_START;
    if (!generate()) {
        perror("mmap");
        return 1;
    }
    for (unsigned long i = 0; more(i, &count); i++) {
        checksum = mix(checksum, run_interval(draw(&design)));
    }
    print_result("generated", count, checksum);
    return 0;
}
