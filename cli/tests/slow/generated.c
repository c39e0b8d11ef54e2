// Requests run a script, which was compiled at run time: code of no file, without frame descriptions. A few of them stall in
// a function that the script calls.
// build: gcc -O2 -g generated.c
//
// generated KIND N: makes requests until N of them have slept for 250 ms.
//   KIND: called, jumped to (how a function of the program enters the script)
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define FUNCTION __attribute__((noinline, noipa, used))
#define BETWEEN 400

#if defined(__x86_64__)
// push rbx; mov rbx, rdi; sub rsp, 0x130; mov edi, esi; call rbx; add rsp, 0x130; pop rbx; ret
static const unsigned char code[] = {0x53, 0x48, 0x89, 0xfb, 0x48, 0x81, 0xec, 0x30, 0x01, 0x00, 0x00, 0x89, 0xf7,
                                     0xff, 0xd3, 0x48, 0x81, 0xc4, 0x30, 0x01, 0x00, 0x00, 0x5b, 0xc3};
#endif

static int (*script)(int (*)(int), int);

FUNCTION void look_up(int sleeps) {
    struct timespec time = {0, sleeps ? 250000000 : 10000};
    nanosleep(&time, NULL);
    __asm__ volatile("");
}

FUNCTION int library(int sleeps) {
    look_up(sleeps);
    return 1;
}

FUNCTION int run_called(int sleeps) { return script(library, sleeps) + 1; }

FUNCTION int run_jumped(int sleeps) { return script(library, sleeps); }

static int (*volatile run)(int);

// Its call is a jump, too.
FUNCTION int request(int sleeps) { return run(sleeps); }

int main(int count, char **words) {
    if (count != 3)
        return 2;
    run = strcmp(words[1], "called") ? run_jumped : run_called;
    void *memory = mmap(NULL, sizeof code, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(memory, code, sizeof code);
    mprotect(memory, sizeof code, PROT_READ | PROT_EXEC);
    script = (int (*)(int (*)(int), int))memory;
    int sleeps = atoi(words[2]);
    for (long requests = 1; sleeps > 0; requests++) {
        int is_slow = requests % BETWEEN == 0;
        request(is_slow);
        sleeps -= is_slow;
    }
    return 0;
}
