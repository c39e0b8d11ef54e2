// Shared by the known-answer programs: exact busy waiting, deterministic choices, a checksum of results.
#ifndef SPIN_H
#define SPIN_H

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <x86intrin.h>

// A function that the compiler does not optimise across calls: not inlined or cloned, no assumptions about registers.
#define FUNCTION __attribute__((noinline, noipa))

// Busy for `ticks` of the time stamp counter, whatever the processor's frequency does.
static inline __attribute__((always_inline)) void spin(uint64_t ticks) {
    uint64_t begin = __rdtsc();
    while (__rdtsc() - begin < ticks) {
    }
}

// A system call without a function's call, which could be timed.
static inline __attribute__((always_inline)) long system_call(long number, long first, long second, long third) {
    __asm__ volatile("syscall" : "+a"(number) : "D"(first), "S"(second), "d"(third) : "rcx", "r11", "memory");
    return number;
}

// Yields without a record. A thread may wait in a loop for a long time, and records of the loop would fill its ring. A full
// ring loses records, and the intervals with them.
static inline __attribute__((always_inline)) void give_way(void) {
    system_call(SYS_sched_yield, 0, 0, 0);
}

// SplitMix64 (Steele, Lea and Flood 2014).
static inline uint64_t next_random(uint64_t *state) {
    uint64_t z = *state += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

// A balanced design: each group of 16 draws holds every number 0..15 once, in a pseudo-random order. So over any
// multiple of 16 intervals the four bits are exactly balanced and exactly uncorrelated. The planted variances are therefore
// exact, not only expected.
struct design {
    uint64_t state;
    unsigned used;
    unsigned char order[16];
};

static inline unsigned draw(struct design *design) {
    if (design->used % 16 == 0) {
        for (unsigned i = 0; i < 16; i++) {
            unsigned j = (unsigned)(next_random(&design->state) % (i + 1));
            design->order[i] = design->order[j];
            design->order[j] = (unsigned char)i;
        }
    }
    return design->order[design->used++ % 16];
}

// FNV-1a over the eight bytes of a value.
static inline uint64_t mix(uint64_t checksum, uint64_t value) {
    for (int byte = 0; byte < 8; byte++) {
        checksum = (checksum ^ (value >> (8 * byte) & 0xff)) * 0x100000001B3u;
    }
    return checksum;
}

#define CHECKSUM_START 0xCBF29CE484222325u

// The number of intervals: the first argument, or `otherwise`. Creates the file that READY names when the program has begun.
static inline unsigned long intervals(int argc, char **argv, unsigned long otherwise) {
    const char *ready = getenv("READY");
    if (ready) {
        close(open(ready, O_CREAT | O_WRONLY, 0600));
    }
    return argc > 1 ? strtoul(argv[1], NULL, 10) : otherwise;
}

// Passes of the profiler over the rings: the parent's main thread sleeps after each pass. -1 without a readable parent.
static inline long drains(void) {
    char path[32], text[4096];
    snprintf(path, sizeof path, "/proc/%ld/status", system_call(SYS_getppid, 0, 0, 0));
    long file = system_call(SYS_open, (long)path, O_RDONLY, 0);
    if (file < 0) {
        return -1;
    }
    long length = system_call(SYS_read, file, (long)text, sizeof text - 1);
    system_call(SYS_close, file, 0, 0);
    text[length > 0 ? length : 0] = 0;
    static const char sleeps[] = "\nvoluntary_ctxt_switches:";
    const char *found = strstr(text, sleeps);
    return found ? atol(found + sizeof sleeps - 1) : -1;
}

// Intervals that a ring has room for. A program with more than some fifty records an interval defines a smaller number.
#ifndef PACE_INTERVALS
#define PACE_INTERVALS 250
#endif
#define PACE_AHEAD 4

// With PACED in the environment, a program is at most PACE_AHEAD times PACE_INTERVALS ahead of the profiler. So no ring is full, however
// slow the profiler is. After two sleeps of its main thread, a complete pass has read all records that were written before.
static inline void pace(unsigned long done) {
    static long at[PACE_AHEAD];
    if (done % PACE_INTERVALS || !getenv("PACED")) {
        return;
    }
    long *then = &at[done / PACE_INTERVALS % PACE_AHEAD], now;
    while ((now = drains()) >= 0 && *then > 0 && now < *then + 2) {
        struct { long seconds, nanoseconds; } millisecond = {0, 1000000};
        system_call(SYS_nanosleep, (long)&millisecond, 0, 0);
    }
    *then = now;
}

// Whether to run one more interval. If UNTIL names a file, blocks of `*count` intervals are repeated until the file exists, and
// then once more. So a run lasts until the test has seen enough, however fast the machine is, and the last change is seen in a
// whole block of intervals.
static inline int more(unsigned long done, unsigned long *count) {
    pace(done);
    if (done < *count) {
        return 1;
    }
    static unsigned long block;
    static int is_last;
    const char *until = getenv("UNTIL");
    if (!until || is_last || *count == 0) {
        return 0;
    }
    is_last = access(until, F_OK) == 0;
    if (!block) {
        block = *count;
    }
    *count += block;
    return 1;
}

// The one line every program ends with.
static inline void print_result(const char *name, unsigned long count, uint64_t checksum) {
    printf("%s: %lu intervals, checksum %016llx\n", name, count, (unsigned long long)checksum);
}

#endif
