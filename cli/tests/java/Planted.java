import java.io.BufferedWriter;
import java.io.File;
import java.io.FileWriter;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.function.IntConsumer;

/**
 * Known answers: an interval of five stages, each of which varies by itself, and is reached in a way of its own. Once the file exists that
 * the variable UNTIL names, it writes what it has measured itself into the file that TIMES names: the stages' times, a line for each interval.
 *
 * java Planted virtual     on virtual threads
 * java Planted labelled    intervals of two classes (Labelled), whose stages are one
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
        String mode = arguments.length > 0 ? arguments[0] : "";
        Runnable worker = mode.equals("labelled") ? Labelled::serve : Planted::serve;
        boolean isVirtual = mode.equals("virtual");
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
        Times times = new Times();
        while (!ends) {
            times.add(handle(random));
        }
        times.write();
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

    /** Intervals of three of the first class and one of the second, with their class as a text, an enum and a number. */
    static final class Labelled {
        enum Speed { QUICK, SLOW }

        static void serve() {
            Times times = new Times();
            for (int turn = 0; !ends; turn++) {
                boolean isSlow = turn % 4 == 0;
                long[] begun = new long[STAGES.length + 1];
                begun[0] = System.nanoTime();
                order(isSlow ? 900 : 90, isSlow ? "für später" : "at once", isSlow ? Speed.SLOW : Speed.QUICK, new int[1]);
                Arrays.fill(begun, 1, begun.length, System.nanoTime());
                times.add(begun);
            }
            times.write();
        }

        static void order(long micros, String name, Speed speed, Object other) {
            work((int) micros);
        }
    }

    /** The stages' times, in nanoseconds, of one interval after the other. */
    static final class Times {
        private long[] times = new long[STAGES.length << 14];
        private int used;

        void add(long[] begun) {
            if (used == times.length) {
                times = Arrays.copyOf(times, 2 * used);
            }
            for (int i = 0; i < STAGES.length; i++) {
                times[used++] = begun[i + 1] - begun[i];
            }
        }

        /** A line for each interval. */
        void write() {
            try (PrintWriter out = new PrintWriter(new BufferedWriter(new FileWriter(System.getenv("TIMES"))))) {
                for (int at = 0; at < used; at++) {
                    out.print(times[at]);
                    out.print((at + 1) % STAGES.length == 0 ? '\n' : ' ');
                }
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }
}
