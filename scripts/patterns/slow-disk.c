/* The same slow disk on every machine, for a server with this in LD_PRELOAD: a page of 16 kB takes 2 ms to write, and a flush 4 ms. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/types.h>
#include <unistd.h>

#define PAGE_BYTES 16384
#define WRITE_US 2000
#define FLUSH_US 4000

ssize_t pwrite64(int file, const void *bytes, size_t length, off_t offset) {
    static ssize_t (*real)(int, const void *, size_t, off_t);
    if (!real)
        real = dlsym(RTLD_NEXT, "pwrite64");
    if (length >= PAGE_BYTES)
        usleep(WRITE_US);
    return real(file, bytes, length, offset);
}

ssize_t pwrite(int file, const void *bytes, size_t length, off_t offset) {
    return pwrite64(file, bytes, length, offset);
}

int fdatasync(int file) {
    static int (*real)(int);
    if (!real)
        real = dlsym(RTLD_NEXT, "fdatasync");
    usleep(FLUSH_US);
    return real(file);
}
