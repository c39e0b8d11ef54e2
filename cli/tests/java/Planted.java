import java.io.File;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.function.IntConsumer;

/**
 * Known answers: an interval of five stages, each of which varies by itself, and is reached in a way of its own. Once the file exists that
 * the variable UNTIL names, it prints what it has measured itself: of each stage the covariance with the latency, as a part of the variance.
 *
 * java Planted [virtual]: on virtual threads.
 */
public final class Planted {
    static final String[] STAGES = {"throughLambdas", "throughExceptions", "recursive", "shared", "locked"};
    static final Object LOCK = new Object();
    static final List<IntConsumer> CONSUMERS = new ArrayList<>();
    static volatile boolean ends;
    static volatile long sink;

    public static void main(String[] arguments) throws Exception {
        CONSUMERS.add(micros -> onceMore(inner -> work(inner), micros));
        Thread holder = new Thread(Planted::hold);
        holder.setDaemon(true);
        holder.start();
        Runnable worker = Planted::serve;
        boolean isVirtual = arguments.length > 0 && arguments[0].equals("virtual");
        Thread thread = isVirtual
            ? (Thread) Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, worker)
            : new Thread(worker);
        if (!isVirtual) {
            thread.start();
        }
        System.out.println("ready " + ProcessHandle.current().pid());
        File until = new File(System.getenv("UNTIL"));
        while (!until.exists()) {
            Thread.sleep(20);
        }
        ends = true;
        thread.join();
    }

    static void serve() {
        Random random = new Random(7);
        Sums sums = new Sums();
        while (!ends) {
            sums.add(handle(random));
        }
        sums.print();
    }

    /** The interval. What it gives back is when each stage began, and when the last one ended. */
    static long[] handle(Random random) {
        long[] times = new long[STAGES.length + 1];
        times[0] = System.nanoTime();
        throughLambdas(random.nextInt(600));
        times[1] = System.nanoTime();
        throughExceptions(random.nextInt(400));
        times[2] = System.nanoTime();
        recursive(random.nextInt(8));
        times[3] = System.nanoTime();
        shared(random.nextInt(500));
        times[4] = System.nanoTime();
        locked();
        times[5] = System.nanoTime();
        return times;
    }

    static void throughLambdas(int micros) {
        CONSUMERS.forEach(consumer -> consumer.accept(micros));
    }

    static void onceMore(IntConsumer consumer, int micros) {
        consumer.accept(micros);
    }

    /** Every third time the exception goes through two frames. */
    static void throughExceptions(int micros) {
        try {
            above(micros);
        } catch (IllegalStateException e) {
            sink++;
        }
    }

    static void above(int micros) {
        work(20);
        below(micros);
        work(5);
    }

    static void below(int micros) {
        work(micros);
        if (micros % 3 == 0) {
            throw new IllegalStateException("planted");
        }
    }

    static void recursive(int depth) {
        work(30);
        if (depth > 0) {
            recursive(depth - 1);
        }
    }

    /** Both call the same method: only the second call varies. */
    static void shared(int micros) {
        work(100);
        work(micros);
    }

    /** Another thread holds the lock now and then. */
    static void locked() {
        synchronized (LOCK) {
            work(10);
        }
    }

    static void hold() {
        Random random = new Random(3);
        while (true) {
            try {
                Thread.sleep(1);
            } catch (InterruptedException e) {
                return;
            }
            synchronized (LOCK) {
                work(random.nextInt(1500));
            }
        }
    }

    static void work(int micros) {
        long end = System.nanoTime() + micros * 1000L;
        while (System.nanoTime() < end) {
            sink++;
        }
    }

    /** Sums of the stages' times, and of their products with the latency. */
    static final class Sums {
        private long count;
        private double latency;
        private double square;
        private final double[] stage = new double[STAGES.length];
        private final double[] product = new double[STAGES.length];

        void add(long[] times) {
            double total = times[STAGES.length] - times[0];
            count++;
            latency += total;
            square += total * total;
            for (int i = 0; i < STAGES.length; i++) {
                double own = times[i + 1] - times[i];
                stage[i] += own;
                product[i] += own * total;
            }
        }

        void print() {
            double mean = latency / count;
            double variance = square / count - mean * mean;
            System.out.println("Planted: " + count + " intervals, mean " + mean + " ns");
            for (int i = 0; i < STAGES.length; i++) {
                double share = (product[i] / count - stage[i] / count * mean) / variance;
                System.out.println("stage " + STAGES[i] + " " + share);
            }
        }
    }
}
