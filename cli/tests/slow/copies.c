// Each request has a frame pointer, and copies of its return address among its locals, as calls before it leave them.
// build: gcc -O1 -g -fno-omit-frame-pointer copies.c
//
// copies N: makes requests until N of them have slept for 250 ms.
#include <stdlib.h>
#include <time.h>

#define FUNCTION __attribute__((noinline, noipa, used))
#define BETWEEN 400
#define WORDS 64

FUNCTION void request(int sleeps) {
    void *volatile words[WORDS];
    for (int i = 0; i < WORDS; i += 2) {
        // What a frame of a function with a frame pointer looks like.
        words[i] = (char *)__builtin_frame_address(0) + 256;
        words[i + 1] = __builtin_return_address(0);
    }
    struct timespec time = {0, sleeps ? 250000000 : 10000};
    nanosleep(&time, NULL);
    __asm__ volatile("" ::"r"(words) : "memory");
}

int main(int count, char **words) {
    long sleeps = count == 2 ? atoi(words[1]) : 0;
    for (long requests = 1; sleeps > 0; requests++) {
        int is_slow = requests % BETWEEN == 0;
        request(is_slow);
        sleeps -= is_slow;
    }
    return 0;
}
