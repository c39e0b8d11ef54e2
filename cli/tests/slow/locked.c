// Requests are short, except for a few that wait for the lock of a file. Another process holds it.
// build: gcc -O1 -g locked.c
//
// locked FILE N: makes requests until N of them have taken the lock.
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <time.h>

#define FUNCTION __attribute__((noinline, noipa, used))
#define BETWEEN 400

FUNCTION void request(int file, int takes) {
    struct timespec time = {0, 10000};
    nanosleep(&time, NULL);
    if (takes) {
        flock(file, LOCK_EX);
        flock(file, LOCK_UN);
    }
}

int main(int count, char **words) {
    int file = count == 3 ? open(words[1], O_RDWR) : -1;
    if (file < 0)
        return 2;
    long takes = atoi(words[2]);
    for (long requests = 1; takes > 0; requests++) {
        int is_slow = requests % BETWEEN == 0;
        request(file, is_slow);
        takes -= is_slow;
    }
    return 0;
}
