// A program that meets faults of its own in its intervals, as runtimes with checks by the processor do, and goes on.
// build: gcc -O1 -g faults.c
//
// Each interval reads nothing (SIGSEGV), reads behind the end of a file (SIGBUS), executes an invalid instruction (SIGILL), or jumps through a
// pointer that leads nowhere, the first words of a function. Its handlers see what the kernel says, on the stack and with the signals
// blocked that they asked for, and either go on behind the instruction or leave by siglongjmp. sigaction(2) and signal(2) answer with what was
// installed. Interval: run_interval.
#define _GNU_SOURCE
#include "spin.h"

#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

static sigjmp_buf back;
static volatile uint64_t met, wrong;
static char *stack;
static char *beyond;
#define STACK_BYTES 65536

static int on_stack(void *here) {
    return (char *)here >= stack && (char *)here < stack + STACK_BYTES;
}

static int is_blocked(int signal) {
    sigset_t mask;
    sigprocmask(SIG_SETMASK, 0, &mask);
    return sigismember(&mask, signal) == 1;
}

static void on_segv(int signal, siginfo_t *info, void *context) {
    (void)context;
    wrong += signal != SIGSEGV || info->si_code <= 0 || (uint64_t)info->si_addr > 0x1018;
    wrong += !on_stack(&signal) || !is_blocked(SIGUSR1) || is_blocked(SIGSEGV);
    met++;
    siglongjmp(back, 1);
}

static void on_bus(int signal, siginfo_t *info, void *context) {
    (void)context;
    wrong += signal != SIGBUS || (char *)info->si_addr != beyond || on_stack(&signal) || !is_blocked(SIGBUS);
    met++;
    siglongjmp(back, 1);
}

static void on_ill(int signal, siginfo_t *info, void *context) {
    ucontext_t *ucontext = context;
    wrong += signal != SIGILL || info->si_code <= 0;
    ucontext->uc_mcontext.gregs[REG_RIP] += 2;
    met++;
}

static void install(int signal, void (*handler)(int, siginfo_t *, void *), int flags) {
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | flags}, was;
    sigaddset(&action.sa_mask, SIGUSR1);
    wrong += sigaction(signal, &action, 0) != 0;
    wrong += sigaction(signal, 0, &was) != 0 || was.sa_sigaction != handler;
    wrong += (was.sa_flags & (SA_ONSTACK | SA_NODEFER | SA_RESETHAND)) != flags || sigismember(&was.sa_mask, SIGUSR1) != 1;
}

struct table {
    void *words[4];
};

uint64_t leads_nowhere(struct table *table);
__asm__(".text\n.p2align 4\n.globl leads_nowhere\n.type leads_nowhere, @function\nleads_nowhere:\n.cfi_startproc\n"
        "jmp *0x18(%rdi)\n.cfi_endproc\n.size leads_nowhere, . - leads_nowhere\n.p2align 4\n");

FUNCTION uint64_t reads_nothing(struct table *table) {
    return *(volatile uint64_t *)table->words;
}

FUNCTION uint64_t does_nothing(void) {
    __asm__ volatile("ud2");
    return 3;
}

FUNCTION uint64_t run_interval(unsigned choice) {
    spin(1000 + 200 * (choice & 7));
    if (sigsetjmp(back, 1))
        return choice + 1;
    switch (choice & 3) {
    case 0: return reads_nothing((struct table *)0x10);
    case 1: return leads_nowhere((struct table *)0x1000);
    case 2: return *beyond;
    default: return does_nothing();
    }
}

int main(int argc, char **argv) {
    unsigned long count = intervals(argc, argv, 400);
    struct design design = {.state = 5};
    uint64_t checksum = CHECKSUM_START;
    stack = malloc(STACK_BYTES);
    stack_t alternate = {.ss_sp = stack, .ss_size = STACK_BYTES};
    wrong += sigaltstack(&alternate, 0) != 0;
    int file = memfd_create("faults", 0);
    beyond = mmap(0, 4096, PROT_READ, MAP_SHARED, file, 0);
    wrong += signal(SIGILL, SIG_IGN) != SIG_DFL || signal(SIGILL, SIG_DFL) != SIG_IGN;
    for (unsigned long i = 0; more(i, &count); i++) {
        if (i % 64 == 0)
            install(SIGSEGV, on_segv, SA_ONSTACK | SA_NODEFER);
        if (i % 100 == 0)
            install(SIGBUS, on_bus, 0);
        // Gone once it was met.
        install(SIGILL, on_ill, SA_RESETHAND);
        checksum = mix(checksum, run_interval(draw(&design)));
    }
    if (wrong)
        printf("%lu of %lu were wrong\n", (unsigned long)wrong, (unsigned long)met);
    print_result("faults", count, checksum);
    return 0;
}
