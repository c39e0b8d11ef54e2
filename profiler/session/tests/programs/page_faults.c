// Pages that have to be read from a device.
// build: gcc -O1 -g page_faults.c
//
// Interval: run_interval > touch, which reads a byte of a page of a mapped file that is not in memory, where the file's system keeps
// it elsewhere at all. Before each interval the file is dropped from memory again. The second argument names the file. How many major
// faults the system counted goes to standard error.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "spin.h"

#define PAGES 64
#define APART (1 << 18) // bytes between the pages touched: more than is read ahead

FUNCTION unsigned touch(const volatile unsigned char *page) {
    return *page;
}

static volatile uint64_t begun; // something for the hook at the function's entry to lie on

FUNCTION unsigned run_interval(const volatile unsigned char *page) {
    begun++;
    return touch(page) + 1;
}

static long major_faults(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_majflt;
}

int main(int argc, char **argv) {
    unsigned long count = intervals(argc, argv, 200);
    int file = argc > 2 ? open(argv[2], O_RDWR | O_CREAT | O_TRUNC, 0600) : -1;
    if (file < 0 || ftruncate(file, PAGES * APART)) {
        perror("the file");
        return 1;
    }
    for (int page = 0; page < PAGES; page++) {
        if (pwrite(file, "1", 1, (off_t)page * APART) != 1) {
            return 1;
        }
    }
    fsync(file);
    uint64_t checksum = CHECKSUM_START;
    long before = major_faults();
    for (unsigned long i = 0; i < count; i++) {
        posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
        unsigned char *map = mmap(NULL, PAGES * APART, PROT_READ, MAP_PRIVATE, file, 0);
        if (map == MAP_FAILED) {
            return 1;
        }
        checksum = mix(checksum, run_interval(map + i % PAGES * APART));
        munmap(map, PAGES * APART);
    }
    fprintf(stderr, "major faults: %ld\n", major_faults() - before);
    print_result("page_faults", count, checksum);
    return 0;
}
