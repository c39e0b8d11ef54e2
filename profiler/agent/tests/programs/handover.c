/* One waits for something, the other gives it when the first sleeps. What it is, the first argument says; the second:
 * "thread" for two threads, "process" for parent and child. The one who gives is main. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <mqueue.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "blocked.h"

/* Mapped twice: the waiter uses the second mapping, so that a key must not be made of an address. */
struct shared {
    pthread_mutex_t mutex;
    pthread_rwlock_t rwlock;
    pthread_cond_t condition;
    pthread_barrier_t barrier;
    pthread_spinlock_t spin;
    sem_t semaphore;
    int futex;
    volatile int given;
};
static struct shared *mine, *theirs;
static int ends[2], number;
static pid_t child;
static char name[64];
static struct sockaddr_storage address;
static socklen_t address_len;

static int listen_at(int domain, void *at, socklen_t len) {
    number = socket(domain, SOCK_STREAM, 0);
    CHECK(bind(number, at, len) == 0 && listen(number, 4) == 0);
    address_len = sizeof address;
    CHECK(getsockname(number, (void *)&address, &address_len) == 0);
    return number;
}

static void connected(int domain, void *at, socklen_t len) {
    listen_at(domain, at, len);
    ends[1] = socket(domain, SOCK_STREAM, 0);
    CHECK(connect(ends[1], (void *)&address, address_len) == 0);
    ends[0] = accept(number, 0, 0);
    CHECK(ends[0] >= 0);
}

static void at_loopback(void (*make)(int, void *, socklen_t)) {
    struct sockaddr_in in = {.sin_family = AF_INET};
    in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    make(AF_INET, &in, sizeof in);
}

static void at_path(void (*make)(int, void *, socklen_t)) {
    struct sockaddr_un un = {.sun_family = AF_UNIX};
    snprintf(un.sun_path, sizeof un.sun_path, "%s", name);
    make(AF_UNIX, &un, sizeof un);
}

static void only_listen(int domain, void *at, socklen_t len) { listen_at(domain, at, len); }

static void get_byte(void) {
    char byte;
    CHECK(read(ends[0], &byte, 1) == 1);
}
static void put_byte(void) { CHECK(write(ends[1], "x", 1) == 1); }

/* ---- what can be handed over ---- */

static void lock_mutex(void) { CHECK(pthread_mutex_lock(&mine->mutex) == 0); }
static void wait_mutex(void) {
    CHECK(pthread_mutex_lock(&theirs->mutex) == 0);
    pthread_mutex_unlock(&theirs->mutex);
}
static void wait_mutex_timed(void) {
    struct timespec limit;
    clock_gettime(CLOCK_REALTIME, &limit);
    limit.tv_sec += 100;
    CHECK(pthread_mutex_timedlock(&theirs->mutex, &limit) == 0);
    pthread_mutex_unlock(&theirs->mutex);
}
static void give_mutex(void) { pthread_mutex_unlock(&mine->mutex); }

static void lock_write(void) { CHECK(pthread_rwlock_wrlock(&mine->rwlock) == 0); }
static void lock_read(void) { CHECK(pthread_rwlock_rdlock(&mine->rwlock) == 0); }
static void wait_read(void) {
    CHECK(pthread_rwlock_rdlock(&theirs->rwlock) == 0);
    pthread_rwlock_unlock(&theirs->rwlock);
}
static void wait_write(void) {
    CHECK(pthread_rwlock_wrlock(&theirs->rwlock) == 0);
    pthread_rwlock_unlock(&theirs->rwlock);
}
static void give_rwlock(void) { pthread_rwlock_unlock(&mine->rwlock); }

static void wait_condition(void) {
    pthread_mutex_lock(&theirs->mutex);
    while (!theirs->given) pthread_cond_wait(&theirs->condition, &theirs->mutex);
    pthread_mutex_unlock(&theirs->mutex);
}
static void give_condition(void) {
    pthread_mutex_lock(&mine->mutex);
    mine->given = 1;
    pthread_cond_signal(&mine->condition);
    pthread_mutex_unlock(&mine->mutex);
}
static void give_broadcast(void) {
    pthread_mutex_lock(&mine->mutex);
    mine->given = 1;
    pthread_mutex_unlock(&mine->mutex);
    pthread_cond_broadcast(&mine->condition);
}

static void wait_barrier(void) { pthread_barrier_wait(&theirs->barrier); }
static void give_barrier(void) { pthread_barrier_wait(&mine->barrier); }

static void lock_spin(void) { CHECK(pthread_spin_lock(&mine->spin) == 0); }
static void wait_spin(void) {
    CHECK(pthread_spin_lock(&theirs->spin) == 0);
    pthread_spin_unlock(&theirs->spin);
}
static void give_spin(void) { pthread_spin_unlock(&mine->spin); }

static void wait_semaphore(void) { CHECK(sem_wait(&theirs->semaphore) == 0); }
static void give_semaphore(void) { CHECK(sem_post(&mine->semaphore) == 0); }

static void wait_futex(void) {
    while (!theirs->given) syscall(SYS_futex, &theirs->futex, FUTEX_WAIT, 0, 0, 0, 0);
}
static void give_futex(void) {
    mine->given = mine->futex = 1;
    syscall(SYS_futex, &mine->futex, FUTEX_WAKE, 1, 0, 0, 0);
}
static int private_word;
static void wait_futex_private(void) {
    while (!theirs->given) syscall(SYS_futex, &private_word, FUTEX_WAIT_PRIVATE, 0, 0, 0, 0);
}
static void give_futex_private(void) {
    mine->given = private_word = 1;
    syscall(SYS_futex, &private_word, FUTEX_WAKE_PRIVATE, 1, 0, 0, 0);
}

static sem_t *named_semaphore;
static void make_named(void) {
    snprintf(name, sizeof name, "/evenkeel-handover-%d", getpid());
    named_semaphore = sem_open(name, O_CREAT | O_EXCL, 0600, 0);
    CHECK(named_semaphore != SEM_FAILED);
    sem_unlink(name);
}
static void wait_named(void) { CHECK(sem_wait(named_semaphore) == 0); }
static void give_named(void) { CHECK(sem_post(named_semaphore) == 0); }

static void make_pipe(void) { CHECK(pipe(ends) == 0); }
static void make_full_pipe(void) {
    char page[4096] = {0};
    CHECK(pipe(ends) == 0 && fcntl(ends[1], F_SETFL, O_NONBLOCK) == 0);
    while (write(ends[1], page, sizeof page) > 0) {}
    fcntl(ends[1], F_SETFL, 0);
}
static void wait_room(void) { put_byte(); }
static void give_room(void) {
    char bytes[65536];
    CHECK(read(ends[0], bytes, sizeof bytes) == sizeof bytes);
}
static void make_fifo(void) {
    snprintf(name, sizeof name, "/tmp/evenkeel-handover-%d", getpid());
    CHECK(mkfifo(name, 0600) == 0);
    ends[0] = open(name, O_RDWR);
    ends[1] = open(name, O_WRONLY);
    unlink(name);
}
static void wait_end_of_file(void) {
    char byte;
    close(ends[1]);
    CHECK(read(ends[0], &byte, 1) == 0);
}
static void give_end_of_file(void) { close(ends[1]); }

static void make_pair(void) { CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0); }
static void make_tcp(void) { at_loopback(connected); }
/* One number has just led to another connection, and nobody was seen to close it: the C library did inside of fclose. */
static void make_tcp_again(void) {
    char byte;
    make_tcp();
    int before = ends[0];
    CHECK(send(ends[1], "x", 1, 0) == 1 && recv(before, &byte, 1, 0) == 1);
    CHECK(fclose(fdopen(before, "r")) == 0);
    ends[1] = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(ends[1] == before && connect(ends[1], (void *)&address, address_len) == 0);
    CHECK((ends[0] = accept(number, 0, 0)) >= 0);
}
static void make_unix(void) {
    snprintf(name, sizeof name, "/tmp/evenkeel-handover-%d", getpid());
    at_path(connected);
    unlink(name);
}
static void wait_receive(void) {
    char byte;
    CHECK(recv(ends[0], &byte, 1, 0) == 1);
}
static void give_send(void) { CHECK(send(ends[1], "x", 1, 0) == 1); }
static void make_listener(void) { at_loopback(only_listen); }
static void wait_accept(void) { CHECK(accept(number, 0, 0) >= 0); }
static void give_connect(void) {
    CHECK(connect(socket(AF_INET, SOCK_STREAM, 0), (void *)&address, address_len) == 0);
}

static void make_event(void) { ends[0] = ends[1] = eventfd(0, 0); }
static void wait_event(void) {
    uint64_t count;
    CHECK(read(ends[0], &count, 8) == 8 && count == 1);
}
static void give_event(void) {
    uint64_t one = 1;
    CHECK(write(ends[1], &one, 8) == 8);
}

static void make_signal(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigprocmask(SIG_BLOCK, &set, 0);
    ends[0] = signalfd(-1, &set, 0);
}
static void wait_signal(void) {
    sigset_t set;
    int signal;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    CHECK(sigwait(&set, &signal) == 0 && signal == SIGUSR1);
}
static void wait_signalfd(void) {
    struct signalfd_siginfo info;
    CHECK(read(ends[0], &info, sizeof info) == sizeof info);
}
static void give_signal(void) { CHECK(kill(child ? child : getpid(), SIGUSR1) == 0); }

static void make_mq(void) {
    struct mq_attr attributes = {.mq_maxmsg = 4, .mq_msgsize = 8};
    snprintf(name, sizeof name, "/evenkeel-handover-%d", getpid());
    number = mq_open(name, O_CREAT | O_EXCL | O_RDWR, 0600, &attributes);
    CHECK(number >= 0);
    mq_unlink(name);
}
static void wait_mq(void) {
    char bytes[8];
    CHECK(mq_receive(number, bytes, 8, 0) == 1);
}
static void give_mq(void) { CHECK(mq_send(number, "x", 1, 0) == 0); }

struct message {
    long type;
    char bytes[8];
};
static void make_msg(void) { CHECK((number = msgget(IPC_PRIVATE, 0600)) >= 0); }
static void wait_msg(void) {
    struct message message;
    CHECK(msgrcv(number, &message, 8, 0, 0) == 8);
    msgctl(number, IPC_RMID, 0);
}
static void give_msg(void) {
    struct message message = {.type = 1};
    CHECK(msgsnd(number, &message, 8, 0) == 0);
}

static void make_sem(void) { CHECK((number = semget(IPC_PRIVATE, 1, 0600)) >= 0); }
static void wait_sem(void) {
    struct sembuf take = {0, -1, 0};
    CHECK(semop(number, &take, 1) == 0);
    semctl(number, 0, IPC_RMID);
}
static void give_sem(void) {
    struct sembuf give = {0, 1, 0};
    CHECK(semop(number, &give, 1) == 0);
}

static void wait_poll(void) {
    struct pollfd fds[2] = {{.fd = 0, .events = 0}, {.fd = ends[0], .events = POLLIN}};
    CHECK(poll(fds + 1, 1, -1) == 1);
}
static void wait_select(void) {
    fd_set set;
    FD_ZERO(&set);
    FD_SET(ends[0], &set);
    CHECK(select(ends[0] + 1, &set, 0, 0, 0) == 1);
}
static int epoll;
static void make_epoll(void) {
    struct epoll_event event = {.events = EPOLLIN, .data = {.ptr = &event}};
    make_pair();
    epoll = epoll_create1(0);
    CHECK(epoll_ctl(epoll, EPOLL_CTL_ADD, ends[0], &event) == 0);
}
static void wait_epoll(void) {
    struct epoll_event events[4];
    CHECK(epoll_wait(epoll, events, 4, -1) == 1);
}

static void nothing(void) {}

static const struct {
    const char *name;
    void (*make)(void), (*wait)(void), (*give)(void);
} all[] = {
    {"mutex", lock_mutex, wait_mutex, give_mutex},
    {"mutex-timed", lock_mutex, wait_mutex_timed, give_mutex},
    {"rwlock-read", lock_write, wait_read, give_rwlock},
    {"rwlock-write", lock_read, wait_write, give_rwlock},
    {"condition", nothing, wait_condition, give_condition},
    {"broadcast", nothing, wait_condition, give_broadcast},
    {"barrier", nothing, wait_barrier, give_barrier},
    {"spin", lock_spin, wait_spin, give_spin},
    {"semaphore", nothing, wait_semaphore, give_semaphore},
    {"semaphore-named", make_named, wait_named, give_named},
    {"futex", nothing, wait_futex, give_futex},
    {"futex-private", nothing, wait_futex_private, give_futex_private},
    {"pipe", make_pipe, get_byte, put_byte},
    {"pipe-room", make_full_pipe, wait_room, give_room},
    {"pipe-end", make_pipe, wait_end_of_file, give_end_of_file},
    {"fifo", make_fifo, get_byte, put_byte},
    {"socketpair", make_pair, get_byte, put_byte},
    {"unix", make_unix, wait_receive, give_send},
    {"tcp", make_tcp, wait_receive, give_send},
    {"tcp-again", make_tcp_again, wait_receive, give_send},
    {"accept", make_listener, wait_accept, give_connect},
    {"event", make_event, wait_event, give_event},
    {"signal", make_signal, wait_signal, give_signal},
    {"signalfd", make_signal, wait_signalfd, give_signal},
    {"mq", make_mq, wait_mq, give_mq},
    {"msg", make_msg, wait_msg, give_msg},
    {"sem", make_sem, wait_sem, give_sem},
    {"poll", make_pipe, wait_poll, put_byte},
    {"select", make_pipe, wait_select, put_byte},
    {"epoll", make_epoll, wait_epoll, put_byte},
};

static void make_shared(int shared) {
    int file = memfd_create("handover", 0);
    CHECK(ftruncate(file, 8192) == 0);
    mine = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 4096);
    theirs = shared ? mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 4096) : mine;
    int how = shared ? PTHREAD_PROCESS_SHARED : PTHREAD_PROCESS_PRIVATE;
    pthread_mutexattr_t mutex;
    pthread_rwlockattr_t rwlock;
    pthread_condattr_t condition;
    pthread_barrierattr_t barrier;
    pthread_mutexattr_init(&mutex);
    pthread_mutexattr_setpshared(&mutex, how);
    pthread_mutex_init(&mine->mutex, &mutex);
    pthread_rwlockattr_init(&rwlock);
    pthread_rwlockattr_setpshared(&rwlock, how);
    pthread_rwlock_init(&mine->rwlock, &rwlock);
    pthread_condattr_init(&condition);
    pthread_condattr_setpshared(&condition, how);
    pthread_cond_init(&mine->condition, &condition);
    pthread_barrierattr_init(&barrier);
    pthread_barrierattr_setpshared(&barrier, how);
    pthread_barrier_init(&mine->barrier, &barrier, 2);
    sem_init(&mine->semaphore, shared, 0);
    pthread_spin_init(&mine->spin, how);
}

static int chosen;

static void await_waiter(void) {
    if (strcmp(all[chosen].name, "spin") == 0) await_spinning();
    else await_blocked();
}

static void *run_waiter(void *nothing) {
    about_to_wait();
    all[chosen].wait();
    return nothing;
}

int main(int argc, char **argv) {
    CHECK(argc == 3);
    int process = strcmp(argv[2], "process") == 0;
    while (strcmp(all[chosen].name, argv[1]) != 0) {
        chosen++;
        CHECK(chosen < (int)(sizeof all / sizeof *all));
    }
    prepare_waiter();
    make_shared(process);
    all[chosen].make();
    if (process) {
        child = fork();
        if (child == 0) {
            run_waiter(0);
            exit(0);
        }
        await_waiter();
        all[chosen].give();
        int status;
        CHECK(waitpid(child, &status, 0) == child && status == 0);
    } else {
        pthread_t thread;
        CHECK(pthread_create(&thread, 0, run_waiter, 0) == 0);
        await_waiter();
        all[chosen].give();
        CHECK(pthread_join(thread, 0) == 0);
    }
    puts("handed over");
    return 0;
}
