/* The waits of C++'s standard library: as handover.c, between threads. */
#include <atomic>
#include <condition_variable>
#include <cstring>
#include <future>
#include <mutex>
#include <semaphore>
#include <thread>

#include "blocked.h"

static std::atomic<int> word{0};
static std::mutex mutex;
static std::condition_variable condition;
static std::counting_semaphore<4> semaphore{0};
static std::promise<int> promise;

int main(int argc, char **argv) {
    CHECK(argc == 2);
    const char *what = argv[1];
    auto is = [&](const char *name) { return std::strcmp(what, name) == 0; };
    prepare_waiter();
    std::future<int> future = promise.get_future();
    std::thread other([&] {
        about_to_wait();
        if (is("atomic")) word.wait(0);
        if (is("semaphore")) semaphore.acquire();
        if (is("future")) future.get();
        if (is("condition")) {
            std::unique_lock<std::mutex> lock(mutex);
            condition.wait(lock, [] { return word.load() != 0; });
        }
    });
    await_blocked();
    {
        std::lock_guard<std::mutex> lock(mutex);
        word = 1;
    }
    if (is("atomic")) word.notify_one();
    if (is("semaphore")) semaphore.release();
    if (is("future")) promise.set_value(1);
    if (is("condition")) condition.notify_one();
    other.join();
    std::puts("handed over");
}
