/** What compilers wrote before there were frames and dynamic calls: its version is set back to that of Java 1.4, 5 and 6. */
public class Old {
    static class Above {
        final int number;

        Above(int number) {
            this.number = number;
        }
    }

    static class Below extends Above {
        Below(int n) {
            super(n > 2 ? Integer.parseInt("1") : twice(n));
        }
    }

    private int held;

    static int twice(int n) {
        return n * 2;
    }

    static int thrower(int n) {
        if (n % 3 == 2) {
            throw new IllegalStateException(Integer.toString(n));
        }
        return n;
    }

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

    static String chosen(int n) {
        switch (n) {
            case 1: return "one";
            case 100: return Integer.toString(twice(n));
            case -5: return "minus";
            default: return "other";
        }
    }

    public static void main(String[] arguments) {
        Old old = new Old();
        long sum = 0;
        for (int i = 0; i < 20; i++) {
            try {
                sum += old.locked(i);
            } catch (IllegalStateException e) {
                sum -= e.getMessage().length();
            }
            sum += new Below(i % 5).number;
        }
        System.out.println(sum + chosen(1) + chosen(100) + chosen(-5) + chosen(7) + Thread.holdsLock(old));
    }
}
