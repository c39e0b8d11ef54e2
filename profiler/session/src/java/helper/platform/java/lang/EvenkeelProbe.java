package java.lang;

import jdk.internal.misc.Unsafe;
import jdk.internal.vm.annotation.ForceInline;

/** What probes call. The agent defines it as a part of java.base, so that all loaders and modules see it. For Java 11 to 20. */
public final class EvenkeelProbe {
    private static final Unsafe UNSAFE = Unsafe.getUnsafe();
    /** Where the bytes are that say which probes are on, one for each. */
    private static final long SWITCHES = switches();

    /** Where threads note that they are in an interval that is recorded: evenkeel_agent::jvm::recording, as is the number of places. */
    private static final long RECORDING = recording();
    private static final int PLACES = 1 << 14;
    private static final long NUMBER = UNSAFE.objectFieldOffset(Thread.class, "tid");

    /** The byte of a probe that has nothing to record elsewhere: INSIDE of evenkeel_wire::jvm. */
    private static final byte INSIDE = 2;
    /** A byte from this on means that its probe wants an object's identity: KEYED of evenkeel_wire::jvm. */
    private static final byte KEYED = 6;

    /** Enters a probe; the token, or -1. */
    @ForceInline
    public static int enter(int probe) {
        byte state = UNSAFE.getByte(SWITCHES + probe);
        return state == 0 || state == INSIDE && !isRecorded() ? -1 : enter0(probe);
    }

    /** Enters the probe of an interval whose label is a number. */
    @ForceInline
    public static int enter(int probe, long label) {
        return UNSAFE.getByte(SWITCHES + probe) != 0 ? number0(probe, label) : -1;
    }

    /**
     * Enters the probe of an interval whose label is a text, or the name of an enum's constant. Or of a method that unparks a thread, and
     * then there is nothing to leave. Or of a method that is called with an object by which an interval is known.
     */
    @ForceInline
    public static int enter(int probe, Object label) {
        byte state = UNSAFE.getByte(SWITCHES + probe);
        if (state == 0) {
            return -1;
        }
        if (state >= KEYED) {
            return number0(probe, System.identityHashCode(label));
        }
        return label instanceof Thread ? thread0(probe, (Thread) label) : text0(probe, text(label));
    }

    /** Whether the thread may be in an interval that is recorded. */
    @ForceInline
    private static boolean isRecorded() {
        long number = UNSAFE.getLong(Thread.currentThread(), NUMBER);
        return UNSAFE.getByte(RECORDING + (number & PLACES - 1)) != 0;
    }

    /** The text of a label; null where there is none. The program's own code is not asked for it. */
    private static String text(Object label) {
        if (label instanceof String) {
            return (String) label;
        }
        return label instanceof Enum ? ((Enum<?>) label).name() : null;
    }

    /** Leaves it, and whatever was entered since. */
    @ForceInline
    public static void exit(int token) {
        if (token >= 0) {
            exit0(token);
        }
    }

    /** The same where an exception leaves the method. */
    @ForceInline
    public static void fail(int token) {
        if (token >= 0) {
            fail0(token);
        }
    }

    /** What probes cost is measured by it. */
    static void spin(int probe, int times) {
        for (int i = 0; i < times; i++) {
            exit(enter(probe));
        }
    }

    private static native long switches();

    private static native long recording();

    /** Where the entry of the agent is that serves this class. */
    private static native long agent();

    private static native int enter0(int probe);

    private static native int number0(int probe, long label);

    private static native int text0(int probe, String label);

    private static native int thread0(int probe, Thread thread);

    private static native void exit0(int token);

    private static native void fail0(int token);
}
