import java.lang.management.ManagementFactory;
import java.lang.management.MemoryPoolMXBean;
import java.util.concurrent.atomic.AtomicLong;

/** The clients of a server: how many of their requests succeeded and failed, and when they end. */
final class Clients {
    static final AtomicLong DONE = new AtomicLong();
    static final AtomicLong FAILED = new AtomicLong();
    static volatile boolean ends;

    /**
     * Answers each line of the input with a line: the requests that succeeded and failed, and kilobytes of metaspace and of compiled code. Ends
     * the clients with the input.
     */
    static void untilTold(Thread[] clients) throws Exception {
        while (System.in.read() != -1) {
            printCounts();
        }
        ends = true;
        for (Thread client : clients) {
            client.join();
        }
    }

    static void printCounts() {
        System.out.println(DONE + " " + FAILED + " " + kilobytes("Metaspace") + " " + kilobytes("Code"));
    }

    /** Programs of the tests have a neighbour that writes to their disk. Here it would only add noise. */
    static void startNeighbour() {}

    private static long kilobytes(String pool) {
        long sum = 0;
        for (MemoryPoolMXBean bean : ManagementFactory.getMemoryPoolMXBeans()) {
            if (bean.getName().contains(pool)) {
                sum += bean.getUsage().getUsed();
            }
        }
        return sum / 1024;
    }
}
