package evenkeel;

import java.io.PrintStream;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.atomic.LongAdder;

/**
 * Probes that check themselves: what is left ends nothing but itself, and the body of a method the call that threw in it.
 *
 * At the end a line goes to the file that the property `evenkeel.probes` names, and a line for each probe below 4,096 that was entered.
 */
public final class Probe {
    private static final ThreadLocal<int[]> DEPTH = ThreadLocal.withInitial(() -> new int[1]);
    private static final LongAdder ENTERED = new LongAdder();
    private static final AtomicLongArray EACH = new AtomicLongArray(4096);
    private static final LongAdder LEFT_OPEN = new LongAdder();

    static {
        String file = System.getProperty("evenkeel.probes");
        if (file != null) {
            Runtime.getRuntime().addShutdownHook(new Thread(() -> report(file)));
        }
    }

    private Probe() {}

    public static int enter(int probe) {
        int[] depth = DEPTH.get();
        ENTERED.increment();
        if (probe < EACH.length()) {
            EACH.incrementAndGet(probe);
        }
        return depth[0]++;
    }

    public static int enter(int probe, long label) {
        return enter(probe);
    }

    public static int enter(int probe, Object label) {
        return enter(probe);
    }

    public static void fail(int token) {
        exit(token);
    }

    public static void exit(int token) {
        int[] depth = DEPTH.get();
        if (token < 0 || depth[0] <= token) {
            return;
        }
        // An exception ends a call and the body that made it at once.
        if (depth[0] > token + 2) {
            LEFT_OPEN.increment();
        }
        depth[0] = token;
    }

    private static void report(String file) {
        try (PrintStream out = new PrintStream(file)) {
            out.println(ENTERED.sum() + " probes entered, " + LEFT_OPEN.sum() + " not left by their own exit");
            for (int probe = 0; probe < EACH.length(); probe++) {
                if (EACH.get(probe) > 0) {
                    out.println(probe + " " + EACH.get(probe));
                }
            }
        } catch (java.io.IOException e) {
            throw new java.io.UncheckedIOException(e);
        }
    }
}
