package evenkeel;

import java.io.PrintStream;
import java.util.concurrent.atomic.LongAdder;

/**
 * Probes that check themselves: each is left exactly once, whatever was thrown.
 *
 * At the end a line goes to the file that the property `evenkeel.probes` names.
 */
public final class Probe {
    private static final ThreadLocal<int[]> DEPTH = ThreadLocal.withInitial(() -> new int[1]);
    private static final LongAdder ENTERED = new LongAdder();
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
        return depth[0]++;
    }

    public static void exit(int token) {
        int[] depth = DEPTH.get();
        if (token < 0 || depth[0] <= token) {
            return;
        }
        if (depth[0] > token + 1) {
            LEFT_OPEN.increment();
        }
        depth[0] = token;
    }

    private static void report(String file) {
        try (PrintStream out = new PrintStream(file)) {
            out.println(ENTERED.sum() + " probes entered, " + LEFT_OPEN.sum() + " not left by their own exit");
        } catch (java.io.IOException e) {
            throw new java.io.UncheckedIOException(e);
        }
    }
}
