// All of its work is done in the handler of a signal, which it never leaves: PostgreSQL before version 16 starts its processes so. The
// handler has interrupted the function that sent the signal, or that no longer blocked it.
// build: gcc -O1 -g in_handler.c
//
// in_handler KIND: KIND is sigprocmask, pthread_sigmask or kill. Makes the file that READY names when it works, ends when that is there
// that UNTIL names.
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FUNCTION __attribute__((noinline, noipa))

FUNCTION void handle_request(void) { usleep(200); }

static void work(int signal) {
    (void)signal;
    long done = 0;
    close(open(getenv("READY"), O_CREAT | O_WRONLY, 0600));
    while (access(getenv("UNTIL"), F_OK) != 0) {
        handle_request();
        done++;
    }
    printf("%s\n", done > 0 ? "it worked" : "it did nothing");
    fflush(stdout);
    _exit(0);
}

int main(int count, char **words) {
    if (count != 2)
        return 2;
    signal(SIGUSR1, work);
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGUSR1);
    if (strcmp(words[1], "kill") != 0)
        sigprocmask(SIG_BLOCK, &signals, NULL);
    kill(getpid(), SIGUSR1);
    if (strcmp(words[1], "sigprocmask") == 0)
        sigprocmask(SIG_UNBLOCK, &signals, NULL);
    else
        pthread_sigmask(SIG_UNBLOCK, &signals, NULL);
    return 1;
}
