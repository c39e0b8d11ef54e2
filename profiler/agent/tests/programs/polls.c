/* Three waits for a pipe end by their time limit, after epoll_wait has found the pipe ready once. */
#include <poll.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <unistd.h>

#define LIMIT_MS 20

int main(void) {
    int ends[2];
    char byte = 1;
    if (pipe(ends)) {
        return 1;
    }
    struct epoll_event event = {.events = EPOLLIN, .data = {.fd = ends[0]}}, found[1];
    int epoll = epoll_create1(0);
    epoll_ctl(epoll, EPOLL_CTL_ADD, ends[0], &event);
    int right = write(ends[1], &byte, 1) == 1 && epoll_wait(epoll, found, 1, LIMIT_MS) == 1 && read(ends[0], &byte, 1) == 1;
    right &= epoll_wait(epoll, found, 1, LIMIT_MS) == 0;
    struct pollfd one = {.fd = ends[0], .events = POLLIN};
    right &= poll(&one, 1, LIMIT_MS) == 0;
    fd_set set;
    FD_ZERO(&set);
    FD_SET(ends[0], &set);
    struct timeval limit = {0, LIMIT_MS * 1000};
    right &= select(ends[0] + 1, &set, NULL, NULL, &limit) == 0;
    puts(right ? "done" : "wrong");
    return 0;
}
