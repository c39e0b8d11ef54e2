// Workers of a library's pool, which give themselves no name: they are called by the function that they run.
// build: g++ -O1 -g -pthread waits_pool.cpp
//
// Interval: run_interval > pool::Scheduler::run, which puts a task into the pool's queue and waits until a worker has done it, for
//   pool::work  1,000,000 or 3,000,000 ticks, each in half of the intervals of a balanced design
// A worker's stack: std::thread's start and wrappers > pool::Scheduler::run_worker > pool::work.
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "spin.h"

static volatile uint64_t worked;

namespace pool {

FUNCTION void work(uint64_t ticks) {
    spin(ticks);
    worked++;
}

class Scheduler {
public:
    explicit Scheduler(int workers) {
        for (int i = 0; i < workers; i++) {
            threads.emplace_back(&Scheduler::run_worker, this);
        }
    }

    ~Scheduler() {
        {
            std::lock_guard<std::mutex> lock(mutex);
            is_over = true;
        }
        has_task.notify_all();
        for (std::thread &thread : threads) {
            thread.join();
        }
    }

    FUNCTION void run(uint64_t ticks) {
        std::unique_lock<std::mutex> lock(mutex);
        task = ticks;
        is_done = false;
        has_task.notify_one();
        has_result.wait(lock, [this] { return is_done; });
    }

private:
    FUNCTION void run_worker() {
        std::unique_lock<std::mutex> lock(mutex);
        while (!is_over) {
            if (!task) {
                has_task.wait(lock);
                continue;
            }
            uint64_t ticks = task;
            task = 0;
            lock.unlock();
            work(ticks);
            lock.lock();
            is_done = true;
            has_result.notify_one();
        }
    }

    std::mutex mutex;
    std::condition_variable has_task, has_result;
    uint64_t task = 0;
    bool is_done = false, is_over = false;
    std::vector<std::thread> threads;
};

} // namespace pool

FUNCTION uint64_t run_interval(pool::Scheduler &scheduler, uint64_t ticks) {
    scheduler.run(ticks);
    return ticks * 3;
}

int main(int argc, char **argv) {
    unsigned long count = intervals(argc, argv, 480);
    struct design design = {1, 0, {}};
    uint64_t checksum = CHECKSUM_START;
    pool::Scheduler scheduler(2);
    for (unsigned long i = 0; more(i, &count); i++) {
        checksum = mix(checksum, run_interval(scheduler, draw(&design) & 1 ? 3000000 : 1000000));
    }
    print_result("waits_pool", count, checksum);
}
