// Functions that consist of one jump, in every form. Each jumps to `vary`, which takes 50,000 or 1,000,000 ticks.
// build: gcc -O1 -g jumps.c
//
// jumps live: makes requests until the file that UNTIL names exists; prints the number of "wrong" answers.
// jumps starts: starts programs one after another, which make a hundred requests each; prints how many
// ended otherwise than without the profiler.
// jumps short: one of these programs.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define FUNCTION __attribute__((noinline, noipa, used))

struct table {
    void *a, *b, *c;
    uint64_t (*function)(struct table *, uint64_t, void *);
};
typedef uint64_t function(struct table *, uint64_t, void *);

FUNCTION uint64_t vary(struct table *table, uint64_t value, void *self) {
    uint64_t from = __builtin_ia32_rdtsc();
    while (__builtin_ia32_rdtsc() - from < (value & 1 ? 1000000 : 50000))
        ;
    (void)table;
    (void)self;
    return value + 1;
}

function *slot = vary;

#define JUMP(name, code)                                                                     \
    function name;                                                                           \
    __asm__(".text\n.p2align 4\n.type " #name ", @function\n" #name ":\n"  \
            ".cfi_startproc\n" code "\n.cfi_endproc\n.size " #name ", . - " #name "\n.p2align 4\n")

JUMP(through_register, "jmp *%rdx");
JUMP(through_member, "jmp *0x18(%rdi)");
JUMP(through_slot, "jmp *slot(%rip)");
JUMP(through_notrack, "notrack jmp *0x18(%rdi)");
JUMP(through_endbr, "endbr64\njmp *0x18(%rdi)");
JUMP(two_bytes, "jmp behind_it");
JUMP(behind_it, "jmp vary");

static int request(uint64_t value) {
    struct table table = {.function = vary};
    function *all[] = {through_member, through_register, through_slot, through_notrack, two_bytes, through_endbr};
    int right = 1;
    for (int i = 0; i < 6; i++)
        right &= all[i](&table, value * 6 + i * 2 + (value >> 2), (void *)vary) == value * 6 + i * 2 + (value >> 2) + 1;
    return right;
}

static int is_over(void) {
    return access(getenv("UNTIL"), F_OK) == 0;
}

static int start_one(char **arguments) {
    pid_t child = fork();
    if (child == 0) {
        execl("/proc/self/exe", arguments[0], "short", (char *)0);
        _exit(99);
    }
    int status;
    return waitpid(child, &status, 0) == child && status == 0;
}

int main(int count, char **arguments) {
    uint64_t done = 0, wrong = 0;
    if (count < 2)
        return 2;
    if (!strcmp(arguments[1], "short")) {
        for (; done < 100; done++)
            wrong += !request(done);
        return wrong != 0;
    }
    int starts = !strcmp(arguments[1], "starts");
    if (getenv("READY"))
        fclose(fopen(getenv("READY"), "w"));
    for (; !is_over(); done++)
        wrong += starts ? !start_one(arguments) : !request(done);
    printf("%lu times, %lu wrong\n", done, wrong);
    return 0;
}
