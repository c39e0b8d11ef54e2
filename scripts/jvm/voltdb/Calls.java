import java.io.ByteArrayOutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Random;
import java.util.concurrent.atomic.AtomicLong;
import java.util.jar.JarEntry;
import java.util.jar.JarOutputStream;
import org.voltdb.client.Client;
import org.voltdb.client.ClientFactory;

/**
 * Calls a procedure at random times, so many times a second, on random sites. It takes an exponentially distributed time of this mean. Prints
 * how many calls succeeded and failed, and the mean and standard deviation of their latency.
 *
 * arguments: calls a second, mean microseconds, seconds
 */
public final class Calls {
    static final int ITEMS = 1000;
    static final AtomicLong FAILED = new AtomicLong();
    static long done;
    static double sum;
    static double squares;

    public static void main(String[] arguments) throws Exception {
        double rate = Double.parseDouble(arguments[0]);
        double mean = Double.parseDouble(arguments[1]);
        double seconds = Double.parseDouble(arguments[2]);
        Client client = ClientFactory.createClient();
        client.createConnection("127.0.0.1");
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (JarOutputStream jar = new JarOutputStream(bytes)) {
            jar.putNextEntry(new JarEntry("Slow.class"));
            jar.write(Files.readAllBytes(Path.of(System.getProperty("slow"))));
        }
        client.callProcedure("@UpdateClasses", bytes.toByteArray(), null);
        client.callProcedure("@AdHoc", "CREATE PROCEDURE PARTITION ON TABLE item COLUMN id FROM CLASS Slow");
        for (int id = 0; id < ITEMS; id++) {
            client.callProcedure("ITEM.insert", id, 0);
        }
        System.out.println("ready");
        Random random = new Random(1);
        long began = System.nanoTime();
        double next = 0;
        while ((next += -Math.log(1 - random.nextDouble()) / rate) < seconds) {
            long wait = began + (long) (next * 1e9) - System.nanoTime();
            if (wait > 0) {
                Thread.sleep(wait / 1_000_000, (int) (wait % 1_000_000));
            }
            long begun = System.nanoTime();
            long takes = (long) (-Math.log(1 - random.nextDouble()) * mean);
            client.callProcedure(answer -> {
                if (answer.getStatus() == 1) {
                    add((System.nanoTime() - begun) / 1e6);
                } else {
                    FAILED.incrementAndGet();
                }
            }, "Slow", random.nextInt(ITEMS), takes);
        }
        client.drain();
        client.close();
        double m = sum / done;
        System.out.printf("%d done, %s failed; mean %.2f ms, standard deviation %.2f ms%n", done, FAILED, m,
            Math.sqrt(squares / done - m * m));
    }

    static synchronized void add(double latency) {
        done++;
        sum += latency;
        squares += latency * latency;
    }
}
