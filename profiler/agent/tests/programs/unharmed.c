/* Everything around waiting that a wrapper could get wrong: error numbers, errno, time limits, cancellation, jumps out of
 * handlers, recursion, death of owners, forks, thread ends. Prints what it finds; the same with and without the agent. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <threads.h>

#include "blocked.h"

extern char **environ;

static void say(const char *what, long value) { printf("%s %ld\n", what, value); }
static void say_errno(const char *what, long value) {
    int number = errno;
    printf("%s %ld %s\n", what, value, strerrorname_np(number));
    errno = 0;
}
static struct timespec past = {1, 0};

static pthread_mutex_t of(int type, int robust) {
    pthread_mutexattr_t attributes;
    pthread_mutex_t mutex;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, type);
    if (robust) pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&mutex, &attributes);
    return mutex;
}

static pthread_mutex_t robust;
static void *dies(void *nothing) {
    pthread_mutex_lock(&robust);
    return nothing;
}

static void mutexes(void) {
    pthread_t thread;
    pthread_mutex_t checked = of(PTHREAD_MUTEX_ERRORCHECK, 0), recursive = of(PTHREAD_MUTEX_RECURSIVE, 0);
    say("lock", pthread_mutex_lock(&checked));
    say("again", pthread_mutex_lock(&checked));
    say("again timed", pthread_mutex_timedlock(&checked, &past));
    say("unlock", pthread_mutex_unlock(&checked));
    say("unlock again", pthread_mutex_unlock(&checked));
    for (int i = 0; i < 3; i++) say("recursive", pthread_mutex_lock(&recursive));
    for (int i = 0; i < 4; i++) say("unlock", pthread_mutex_unlock(&recursive));
    robust = of(PTHREAD_MUTEX_NORMAL, 1);
    pthread_create(&thread, 0, dies, 0);
    pthread_join(thread, 0);
    say("owner dead", pthread_mutex_lock(&robust));
    say("not made consistent", pthread_mutex_unlock(&robust));
    say("lost", pthread_mutex_lock(&robust));
    pthread_mutex_t normal = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&normal);
    say("timed out", pthread_mutex_timedlock(&normal, &past));
    say("clock", pthread_mutex_clocklock(&normal, CLOCK_MONOTONIC, &past));
    pthread_mutex_unlock(&normal);
    mtx_t c11;
    mtx_init(&c11, mtx_plain);
    say("mtx", mtx_lock(&c11) == thrd_success && mtx_trylock(&c11) == thrd_busy && mtx_unlock(&c11) == thrd_success);
}

static void others(void) {
    pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
    pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_spinlock_t spin;
    sem_t semaphore;
    say("rdlock", pthread_rwlock_rdlock(&rwlock));
    say("rdlock", pthread_rwlock_rdlock(&rwlock));
    say("wrlock timed", pthread_rwlock_timedwrlock(&rwlock, &past));
    say("unlock", pthread_rwlock_unlock(&rwlock) + pthread_rwlock_unlock(&rwlock));
    say("wrlock", pthread_rwlock_wrlock(&rwlock));
    say("wrlock own", pthread_rwlock_wrlock(&rwlock));
    say("rdlock own", pthread_rwlock_rdlock(&rwlock));
    pthread_mutex_lock(&mutex);
    say("condition", pthread_cond_timedwait(&condition, &mutex, &past));
    say("condition clock", pthread_cond_clockwait(&condition, &mutex, CLOCK_MONOTONIC, &past));
    say("held", pthread_mutex_trylock(&mutex));
    pthread_spin_init(&spin, 0);
    say("spin", pthread_spin_lock(&spin) + pthread_spin_unlock(&spin));
    errno = 0;
    sem_init(&semaphore, 0, 1);
    say_errno("sem_wait", sem_wait(&semaphore));
    say_errno("sem_timedwait", sem_timedwait(&semaphore, &past));
    say_errno("sem_clockwait", sem_clockwait(&semaphore, CLOCK_MONOTONIC, &past));
    struct timespec wrong = {0, 2000000000};
    say_errno("sem_timedwait", sem_timedwait(&semaphore, &wrong));
    say_errno("sem_post", sem_post(&semaphore));
    sem_init(&semaphore, 0, INT_MAX);
    say_errno("sem_post", sem_post(&semaphore));
    say_errno("nanosleep", nanosleep(&wrong, 0));
    say("clock_nanosleep", clock_nanosleep(CLOCK_MONOTONIC, 0, &wrong, 0));
    say("join self", pthread_join(pthread_self(), 0));
}

static void descriptors(void) {
    int ends[2], pair[2];
    char bytes[16] = "0123456789";
    pipe2(ends, O_NONBLOCK);
    errno = 0;
    say_errno("read nothing", read(ends[0], bytes, 4));
    say_errno("write", write(ends[1], bytes, 10));
    say_errno("read", read(ends[0], bytes, 16));
    say_errno("read -1", read(-1, bytes, 16));
    say_errno("write bad", write(ends[1], (void *)8, 16));
    say_errno("close", close(ends[0]));
    say_errno("close again", close(ends[0]));
    signal(SIGPIPE, SIG_IGN);
    say_errno("broken", write(ends[1], bytes, 10));
    socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair);
    say_errno("recv nothing", recv(pair[0], bytes, 4, 0));
    say_errno("send", send(pair[1], bytes, 4, 0));
    struct pollfd fd = {.fd = pair[0], .events = POLLIN};
    say_errno("poll", poll(&fd, 1, 0) * 100 + fd.revents);
    say_errno("dup2", dup2(pair[0], 200));
    say_errno("recv", recv(200, bytes, 16, 0));
    say_errno("shutdown", shutdown(pair[1], SHUT_RDWR));
    say_errno("recv end", recv(200, bytes, 16, 0));
    say_errno("accept", accept(pair[0], 0, 0));
    fd.fd = -5;
    say_errno("poll timed out", poll(&fd, 1, 3));
    int event = eventfd(3, EFD_SEMAPHORE);
    uint64_t value;
    say_errno("eventfd", eventfd_read(event, &value));
    say("value", value);
    say_errno("fsync", fsync(event));
    say_errno("connect", connect(pair[0], 0, 0));
    say_errno("waitpid", waitpid(-1, 0, WNOHANG));
    say_errno("kill", kill(getpid(), 0));
    say_errno("kill", kill(0x3fffffff, 9));
    say_errno("syscall", syscall(SYS_getppid) == getppid());
    say_errno("syscall 6", syscall(SYS_mmap, 0, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != -1);
    say_errno("syscall bad", syscall(100000));
    sigset_t set, old;
    sigfillset(&set);
    say_errno("mask", syscall(SYS_rt_sigprocmask, SIG_BLOCK, &set, &old, 8));
    say_errno("mask", syscall(SYS_rt_sigprocmask, SIG_SETMASK, &old, &set, 8));
    say("blocked", sigismember(&set, SIGUSR1) && sigismember(&set, SIGTERM) && !sigismember(&set, SIGKILL));
    say_errno("mask", syscall(SYS_rt_sigprocmask, SIG_SETMASK, (void *)16, 0, 8));
    say_errno("mask", syscall(SYS_rt_sigprocmask, 77, &old, 0, 8));
    int word = 1;
    say_errno("futex", syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, 0, 0, 0));
    struct timespec soon = {0, 1000000};
    say_errno("futex", syscall(SYS_futex, &word, FUTEX_WAIT, 1, &soon, 0, 0));
    say_errno("futex", syscall(SYS_futex, &word, FUTEX_WAKE, 1, 0, 0, 0));
}

/* Cancellation: clean-up handlers run, the mutex is held again in them. */
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static sem_t empty;
static int silent[2];

static void cleaned(void *what) { say(what, pthread_mutex_trylock(&guard)); }
static void *in_condition(void *nothing) {
    pthread_mutex_lock(&guard);
    pthread_cleanup_push(cleaned, "cleaned condition");
    about_to_wait();
    for (;;) pthread_cond_wait(&never, &guard);
    pthread_cleanup_pop(0);
    return nothing;
}
static void *in_semaphore(void *nothing) {
    pthread_cleanup_push(cleaned, "cleaned semaphore");
    about_to_wait();
    sem_wait(&empty);
    pthread_cleanup_pop(0);
    return nothing;
}
static void *in_read(void *nothing) {
    char byte;
    pthread_cleanup_push(cleaned, "cleaned read");
    about_to_wait();
    read(silent[0], &byte, 1);
    pthread_cleanup_pop(0);
    return nothing;
}
static void *in_poll(void *nothing) {
    struct pollfd fd = {.fd = silent[0], .events = POLLIN};
    about_to_wait();
    poll(&fd, 1, -1);
    return nothing;
}
static void *in_join(void *other) {
    about_to_wait();
    pthread_join(*(pthread_t *)other, 0);
    return 0;
}
static void *leaves(void *value) { pthread_exit(value); }

static void cancelled(const char *what, void *(*routine)(void *), void *argument) {
    pthread_t thread;
    void *result;
    waiter->about = 0;
    pthread_create(&thread, 0, routine, argument);
    await_blocked();
    pthread_cancel(thread);
    pthread_join(thread, &result);
    say(what, result == PTHREAD_CANCELED);
    pthread_mutex_unlock(&guard);
}

static void ends(void) {
    pthread_t thread, sleeper;
    void *result;
    sem_init(&empty, 0, 0);
    pipe(silent);
    cancelled("in condition", in_condition, 0);
    cancelled("in semaphore", in_semaphore, 0);
    cancelled("in read", in_read, 0);
    cancelled("in poll", in_poll, 0);
    waiter->about = 0;
    pthread_create(&sleeper, 0, in_poll, 0);
    await_blocked();
    cancelled("in join", in_join, &sleeper);
    pthread_cancel(sleeper);
    pthread_join(sleeper, 0);
    pthread_create(&thread, 0, leaves, (void *)77);
    pthread_join(thread, &result);
    say("exited", (long)result);
    for (int i = 0; i < 300; i++) {
        pthread_create(&thread, 0, leaves, 0);
        if (i % 3 == 0) pthread_join(thread, 0);
        else pthread_detach(thread);
    }
    pthread_attr_t wrong;
    pthread_attr_init(&wrong);
    pthread_attr_setstacksize(&wrong, 1ul << 46);
    say("create", pthread_create(&thread, &wrong, leaves, 0));
}

/* Handlers that wait, give, and jump. */
static sigjmp_buf out;
static volatile int handled;
static sem_t given;
static void gives(int signal) {
    (void)signal;
    handled++;
    sem_post(&given);
    write(silent[1], "x", 1);
}
static void jumps(int signal) {
    (void)signal;
    siglongjmp(out, 1);
}
static void alarm_in_ms(int ms) {
    timer_t timer;
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM};
    struct itimerspec when = {.it_value = {0, ms * 1000000}};
    timer_create(CLOCK_MONOTONIC, &event, &timer);
    timer_settime(timer, 0, &when, 0);
}

static void handlers(void) {
    char byte;
    struct sigaction action = {.sa_handler = gives};
    sem_init(&given, 0, 0);
    sigaction(SIGALRM, &action, 0);
    alarm_in_ms(5);
    errno = 0;
    while (sem_wait(&given) != 0) say_errno("interrupted", errno == EINTR);
    say("handled", handled);
    say("read", read(silent[0], &byte, 1));
    action.sa_handler = jumps;
    sigaction(SIGALRM, &action, 0);
    for (volatile int i = 0; i < 20; i++) {
        if (sigsetjmp(out, 1) == 0) {
            alarm_in_ms(2);
            if (i % 2) read(silent[0], &byte, 1);
            else sem_wait(&given);
        }
    }
    say("jumped", 20);
    action.sa_handler = gives;
    sigaction(SIGALRM, &action, 0);
    alarm_in_ms(5);
    say_errno("pause", pause());
    alarm_in_ms(5);
    struct timespec long_time = {100, 0}, rest;
    say_errno("nanosleep", nanosleep(&long_time, &rest));
    say("rest", rest.tv_sec);
    alarm_in_ms(100);
    say("sleep", sleep(100) > 90);
}

static void processes(void) {
    pid_t child;
    int status;
    char *arguments[] = {"/bin/sh", "-c", "exit 3", 0};
    fflush(stdout);
    if ((child = fork()) == 0) {
        pthread_t thread;
        pthread_mutex_lock(&guard);
        pthread_mutex_unlock(&guard);
        pthread_create(&thread, 0, leaves, 0);
        pthread_join(thread, 0);
        if (fork() == 0) _exit(0);
        wait(0);
        exit(5);
    }
    say("forked", waitpid(child, &status, 0) == child ? WEXITSTATUS(status) : -1);
    if ((child = vfork()) == 0) {
        execv(arguments[0], arguments);
        _exit(9);
    }
    say("vforked", wait(&status) == child ? WEXITSTATUS(status) : -1);
    if ((child = vfork()) == 0) _exit(8);
    say("vforked", wait(&status) == child ? WEXITSTATUS(status) : -1);
    posix_spawn(&child, arguments[0], 0, 0, arguments, environ);
    siginfo_t info;
    say("spawned", waitid(P_PID, child, &info, WEXITED) == 0 ? info.si_status : -1);
    say("system", system("exit 4") >> 8);
    if ((child = syscall(SYS_fork)) == 0) {
        nap_ms(1);
        syscall(SYS_exit_group, 6);
    }
    say("raw", wait4(child, &status, 0, 0) == child ? WEXITSTATUS(status) : -1);
    FILE *pipe = popen("echo from a pipe", "r");
    char line[32] = "";
    fgets(line, sizeof line, pipe);
    printf("%s%d\n", line, pclose(pipe));
}

int main(void) {
    setvbuf(stdout, 0, _IOFBF, 1 << 16);
    prepare_waiter();
    mutexes();
    others();
    descriptors();
    ends();
    handlers();
    processes();
    puts("done");
    return 0;
}
