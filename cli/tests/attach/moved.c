// A program whose code does not lie where the kernel's link to it leads.
// build: gcc -O1 -g moved.c
//
// moved [code]: makes the file that READY names, and ends when that is there that UNTIL names. With an argument it first moves its code to
// memory of no file, as programs do that want it on huge pages.
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define FUNCTION __attribute__((noinline, noipa))

FUNCTION unsigned quick(unsigned n) {
    for (volatile int i = 0; i < 1000; i++) {
    }
    return n * 5;
}

FUNCTION unsigned slow(unsigned n) {
    for (volatile int i = 0; i < (n % 8 == 0) * 100000; i++) {
    }
    return n * 3;
}

FUNCTION unsigned run_interval(unsigned n) {
    return quick(n) + slow(n);
}

static void move_code(void) {
    FILE *maps = fopen("/proc/self/maps", "r");
    uintptr_t low, high, own = (uintptr_t)run_interval;
    for (char line[4096]; fgets(line, sizeof line, maps);) {
        if (sscanf(line, "%lx-%lx", &low, &high) == 2 && low <= own && own < high) {
            break;
        }
    }
    fclose(maps);
    size_t size = high - low;
    void *copy = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(copy, (void *)low, size);
    mprotect(copy, size, PROT_READ | PROT_EXEC);
    mremap(copy, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, (void *)low);
}

int main(int argc, char **argv) {
    (void)argv;
    if (argc > 1) {
        move_code();
    }
    fclose(fopen(getenv("READY"), "w"));
    for (unsigned n = 0; access(getenv("UNTIL"), F_OK) != 0; n++) {
        run_interval(n);
    }
}
