import java.io.File;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Random;
import java.util.concurrent.atomic.AtomicLong;

/** The clients of a server: how many of their requests succeeded and failed, and when they end. */
final class Clients {
    static final AtomicLong DONE = new AtomicLong();
    static final AtomicLong FAILED = new AtomicLong();
    static volatile boolean ends;

    /** Lets the clients go on until the file exists that the variable UNTIL names, and waits for their ends. */
    static void untilTold(Thread[] clients) throws InterruptedException {
        System.out.println("ready");
        File until = new File(System.getenv("UNTIL"));
        while (!until.exists()) {
            Thread.sleep(20);
        }
        ends = true;
        for (Thread client : clients) {
            client.join();
        }
    }

    static void printCounts() {
        System.out.println(DONE + " done, " + FAILED + " failed");
    }

    /** Starts a thread that writes to the server's disk now and then. */
    static void startNeighbour() {
        Thread neighbour = new Thread(Clients::neighbour);
        neighbour.setDaemon(true);
        neighbour.start();
    }

    private static void neighbour() {
        Random random = new Random(1);
        ByteBuffer bytes = ByteBuffer.allocate(1 << 20);
        try (FileChannel file = FileChannel.open(Path.of("neighbour"), StandardOpenOption.CREATE, StandardOpenOption.WRITE)) {
            while (!ends) {
                for (int i = random.nextInt(8); i >= 0; i--) {
                    bytes.clear();
                    file.write(bytes, (long) i << 20);
                }
                file.force(false);
                Thread.sleep(random.nextInt(30));
            }
        } catch (Exception e) {
            FAILED.incrementAndGet();
        }
    }
}
