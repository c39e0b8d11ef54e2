import com.sun.management.GarbageCollectorMXBean;
import com.sun.management.GcInfo;
import java.io.BufferedWriter;
import java.io.File;
import java.io.FileWriter;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.UncheckedIOException;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.IntConsumer;

/**
 * Known answers: an interval of five stages, each of which varies by itself, and is reached in a way of its own. Once the file exists that
 * the variable UNTIL names, it writes what it has measured itself into the file that TIMES names: the stages' times, a line for each interval.
 *
 * java Planted virtual     on virtual threads
 * java Planted labelled    intervals of two classes (Labelled), whose stages are one
 * java Planted waits       intervals whose stages wait (Waits)
 * java Planted files       intervals that force a file to the disk (Files)
 * java Planted tasks       tasks of an executor with one thread (Tasks), whose stages are the time in the queue and the work
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
        Runnable worker = mode.equals("labelled") ? Labelled::serve
            : mode.equals("waits") ? Waits::serve
            : mode.equals("files") ? Files::serve
            : mode.equals("tasks") ? Tasks::serve : Planted::serve;
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

        static int slow;

        static void serve() {
            Times times = new Times();
            for (int turn = 0; !ends; turn++) {
                boolean isSlow = turn % 4 == 0;
                long[] begun = new long[STAGES.length + 1];
                begun[0] = System.nanoTime();
                try {
                    order(isSlow ? 900 : 90, isSlow ? "für später" : "at once", isSlow ? Speed.SLOW : Speed.QUICK, new int[1]);
                } catch (IllegalStateException e) {
                    sink++;
                }
                Arrays.fill(begun, 1, begun.length, System.nanoTime());
                times.add(begun);
            }
            times.write();
        }

        static void order(long micros, String name, Speed speed, Object other) {
            work((int) micros);
            // Every second one of the slow.
            if (micros > 90 && (++slow & 1) == 0) {
                throw new IllegalStateException("planted");
            }
        }
    }

    /** Intervals that wait for a monitor, parked, in Object.wait, and for garbage collections. */
    static final class Waits {
        static final class Account { }

        static final class Mailbox {
            int micros;
        }

        static final Account ACCOUNT = new Account();
        static final Mailbox MAILBOX = new Mailbox();
        static final ReentrantLock JOURNAL = new ReentrantLock();
        static boolean isCollected;
        /** What a collection has to look at. */
        static final List<Object> LIVE = new LinkedList<>();

        static void serve() {
            for (int i = 0; i < 100_000; i++) {
                LIVE.add(new int[1]);
            }
            start(Waits::holdAccount);
            start(Waits::holdJournal);
            start(Waits::answer);
            Random random = new Random(11);
            Times times = new Times();
            while (!ends) {
                long[] begun = handle(random);
                // The time until all threads have stopped is no part of a collection.
                begun[4] = begun[3] + (isCollected ? collected() : 0);
                isCollected = false;
                times.add(begun);
            }
            times.write();
        }

        /** Nanoseconds of the last collection, by the JVM's own measurement. */
        static long collected() {
            long last = 0;
            long end = -1;
            for (GarbageCollectorMXBean collector : ManagementFactory.getPlatformMXBeans(GarbageCollectorMXBean.class)) {
                GcInfo info = collector.getLastGcInfo();
                if (info != null && info.getEndTime() > end) {
                    end = info.getEndTime();
                    last = info.getDuration() * 1_000_000;
                }
            }
            return last;
        }

        static void start(Runnable work) {
            Thread thread = new Thread(work);
            thread.setDaemon(true);
            thread.start();
        }

        static long[] handle(Random random) {
            long[] begun = new long[STAGES.length + 1];
            begun[0] = System.nanoTime();
            debit();
            begun[1] = System.nanoTime();
            write();
            begun[2] = System.nanoTime();
            ask(random.nextInt(3000));
            begun[3] = System.nanoTime();
            collect(random.nextInt(30) == 0);
            begun[4] = System.nanoTime();
            work(100);
            begun[5] = System.nanoTime();
            return begun;
        }

        static void debit() {
            synchronized (ACCOUNT) {
                work(10);
            }
        }

        static void write() {
            JOURNAL.lock();
            try {
                work(10);
            } finally {
                JOURNAL.unlock();
            }
        }

        static void ask(int micros) {
            synchronized (MAILBOX) {
                MAILBOX.micros = 1 + micros;
                MAILBOX.notifyAll();
                while (MAILBOX.micros != 0) {
                    await(MAILBOX);
                }
            }
        }

        static void collect(boolean isDue) {
            if (isDue) {
                System.gc();
                isCollected = true;
            }
        }

        static void holdAccount() {
            Random random = new Random(12);
            while (true) {
                synchronized (ACCOUNT) {
                    work(random.nextInt(4000));
                }
                pause();
            }
        }

        static void holdJournal() {
            Random random = new Random(13);
            while (true) {
                JOURNAL.lock();
                try {
                    work(random.nextInt(4000));
                } finally {
                    JOURNAL.unlock();
                }
                pause();
            }
        }

        static void answer() {
            while (true) {
                int micros;
                synchronized (MAILBOX) {
                    while (MAILBOX.micros == 0) {
                        await(MAILBOX);
                    }
                    micros = MAILBOX.micros;
                }
                work(micros);
                synchronized (MAILBOX) {
                    MAILBOX.micros = 0;
                    MAILBOX.notifyAll();
                }
            }
        }

        static void await(Object monitor) {
            try {
                monitor.wait();
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        }

        static void pause() {
            try {
                Thread.sleep(4);
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        }
    }

    /** Intervals that write a random number of bytes, and force them to the disk. */
    static final class Files {
        static void serve() {
            Random random = new Random(3);
            Times times = new Times();
            ByteBuffer bytes = ByteBuffer.allocate(1 << 20);
            try (FileChannel file = FileChannel.open(Path.of(System.getenv("FORCED")), StandardOpenOption.CREATE, StandardOpenOption.WRITE)) {
                while (!ends) {
                    bytes.clear().limit(1 + random.nextInt(1 << 20));
                    long[] begun = new long[STAGES.length + 1];
                    begun[0] = System.nanoTime();
                    write(file, bytes);
                    Arrays.fill(begun, 1, begun.length, System.nanoTime());
                    times.add(begun);
                }
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
            times.write();
        }

        static void write(FileChannel file, ByteBuffer bytes) throws IOException {
            file.write(bytes, 0);
            file.force(true);
        }
    }

    /** Tasks come at random and take a random time, so that they wait in the queue of a single thread. */
    static final class Tasks {
        /** On a busy machine tasks would come faster than they are done. */
        static final int QUEUE_MAX = 5;

        static final class Task implements Runnable {
            private final long submitted = System.nanoTime();
            private final int micros;
            private final Times times;

            Task(int micros, Times times) {
                this.micros = micros;
                this.times = times;
            }

            @Override
            public void run() {
                long begun = System.nanoTime();
                work(micros);
                long end = System.nanoTime();
                times.add(new long[] {submitted, begun, end, end, end, end});
            }
        }

        static void serve() {
            ThreadPoolExecutor pool = new ThreadPoolExecutor(1, 1, 0, TimeUnit.SECONDS, new LinkedBlockingQueue<>());
            Random random = new Random(5);
            Times times = new Times();
            while (!ends) {
                pool.execute(new Task(exponential(random, 600), times));
                do {
                    LockSupport.parkNanos(1000L * exponential(random, 1200));
                } while (pool.getQueue().size() >= QUEUE_MAX);
            }
            pool.shutdown();
            try {
                pool.awaitTermination(1, TimeUnit.HOURS);
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
            times.write();
        }

        static int exponential(Random random, int mean) {
            return (int) (-mean * Math.log(1 - random.nextDouble()));
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
