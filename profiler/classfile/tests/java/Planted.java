import java.util.ArrayList;
import java.util.List;
import java.util.function.IntUnaryOperator;

/**
 * Every form of code that rewriting must not change the meaning of. Prints what it computes; how often it calls is known.
 *
 * With an argument it does not go to the end of the stack, where probes fail.
 */
public class Planted {
    static final class Thrown extends RuntimeException {
        final int value;

        Thrown(int value) {
            super(null, null, false, false);
            this.value = value;
        }
    }

    /** A constructor with branches, calls and a lambda before the one above is called. */
    static class Base {
        final String text;
        final long number;

        Base(String text, long number) {
            this.text = text;
            this.number = number;
        }
    }

    static class Derived extends Base {
        final int length;

        Derived(int n, boolean flag) {
            super(flag ? new String("flag" + n) : String.valueOf(n).concat(flag ? "x" : new StringBuilder("y").append(n).toString()), n > 3 ? twice(n) : n);
            int sum = 0;
            try {
                for (int i = 0; i < n; i++) {
                    sum += thrower(i);
                }
            } catch (Thrown thrown) {
                sum += thrown.value;
            }
            length = sum + text.length();
        }

        Derived() {
            this(7, true);
        }
    }

    /** Throws while `super()` is being prepared. */
    static class Refusing extends Base {
        Refusing(int n) {
            super(String.valueOf(thrower(n)), 1);
        }
    }

    static long twice(long n) {
        return 2 * n;
    }

    /** Throws at every third number. */
    static int thrower(int n) {
        if (n % 3 == 2) {
            throw new Thrown(n);
        }
        return n;
    }

    static int through(int n) {
        return middle(n) + 1;
    }

    static int middle(int n) {
        return thrower(n) + 1;
    }

    static int fibonacci(int n) {
        return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
    }

    static double mixed(long a, double b, int[] c, String... d) {
        double sum = a * b;
        for (String s : d) {
            long l = s.length();
            sum += l + c[(int) l % c.length];
        }
        return sum;
    }

    static String switches(int n, String s) {
        String result;
        switch (n) {
            case 0: result = "zero"; break;
            case 1: result = one(); break;
            case 2:
            case 3: result = "more"; break;
            case 1000: result = "thousand"; break;
            default: result = "many";
        }
        switch (s) {
            case "a": return result + 1;
            case "b": return result + one();
            default: return result;
        }
    }

    static String one() {
        return "one";
    }

    private int held;

    int locked(int n) {
        synchronized (this) {
            try {
                held += thrower(n);
            } finally {
                held++;
            }
        }
        return held;
    }

    synchronized int wholly(int n) {
        return held += thrower(n);
    }

    static int nested(int n) {
        int result = 0;
        try {
            try {
                result = through(n);
            } catch (IllegalStateException e) {
                result = -1;
            } finally {
                result += fibonacci(3);
            }
        } catch (Thrown thrown) {
            try {
                result += thrower(thrown.value);
            } catch (Thrown again) {
                result += 1000;
            }
        }
        return result;
    }

    /** Recurses to the end of the stack with a lock held, where calling a probe fails, too. */
    static int deep(Object lock, int n) {
        synchronized (lock) {
            return deep(lock, n + 1) + 1;
        }
    }

    static boolean endOfStack() {
        Object lock = new Object();
        try {
            deep(lock, 0);
            return false;
        } catch (StackOverflowError expected) {
            return !Thread.holdsLock(lock);
        }
    }

    static int lambdas(int n) {
        IntUnaryOperator inner = x -> x + n;
        IntUnaryOperator outer = x -> inner.applyAsInt(inner.applyAsInt(x));
        IntUnaryOperator reference = Math::abs;
        return reference.applyAsInt(outer.andThen(x -> -x).applyAsInt(1));
    }

    static int many(int a0, int a1, int a2, int a3, long a4, double a5, float a6, Object a7) {
        int result = 0;
        while (true) {
            do {
                int i = a0 + result;
                long l = a4 + i;
                result += (int) l;
                if (result > 100) {
                    return result + (a7 instanceof String ? ((String) a7).length() : (int) (a5 + a6));
                }
            } while (result % 2 == 0);
            result += a1 + a2 + a3;
        }
    }

    static String trace() {
        try {
            through(2);
        } catch (Thrown thrown) {
            try {
                throw new IllegalStateException(thrown.value + "");
            } catch (IllegalStateException e) {
                StackTraceElement top = e.getStackTrace()[0];
                return top.getMethodName() + ":" + top.getLineNumber();
            }
        }
        return "";
    }

    public static void main(String[] arguments) throws Exception {
        List<String> out = new ArrayList<>();
        int caught = 0;
        for (int i = 0; i < 300; i++) {
            try {
                caught += through(i);
            } catch (Thrown thrown) {
                caught -= thrown.value;
            }
        }
        out.add("through " + caught);
        out.add("fibonacci " + fibonacci(15));
        out.add("mixed " + mixed(3, 2.5, new int[] {1, 2}, "a", "bc", "def"));
        for (int i = 0; i < 5; i++) {
            out.add(switches(i, "abc".substring(i % 3, i % 3 + 1)));
        }
        out.add(switches(1000, "b"));
        Planted planted = new Planted();
        int locked = 0;
        for (int i = 0; i < 30; i++) {
            try {
                locked += planted.locked(i) + planted.wholly(i);
            } catch (Thrown thrown) {
                locked += thrown.value;
            }
            locked += nested(i);
        }
        out.add("locked " + locked + " " + Thread.holdsLock(planted));
        for (int i = 0; i < 6; i++) {
            Derived derived = new Derived(i, i % 2 == 0);
            out.add(derived.text + derived.number + derived.length);
        }
        out.add(new Derived().text);
        int refused = 0;
        for (int i = 0; i < 6; i++) {
            try {
                refused += new Refusing(i).text.length();
            } catch (Thrown thrown) {
                refused += 100;
            }
        }
        out.add("refused " + refused);
        out.add("lambdas " + lambdas(5));
        out.add("many " + many(1, 2, 3, 4, 5L, 6.0, 7f, "eight"));
        out.add("trace " + trace());
        if (arguments.length > 0) {
            out.forEach(System.out::println);
            return;
        }
        Thread thread = new Thread(null, () -> out.add("end of stack " + endOfStack()), "deep", 512 << 10);
        thread.start();
        thread.join();
        out.forEach(System.out::println);
    }
}
