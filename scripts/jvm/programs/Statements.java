import java.lang.management.ManagementFactory;
import java.lang.management.MemoryPoolMXBean;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.Statement;
import java.util.Random;
import java.util.concurrent.atomic.AtomicLong;
import org.h2.tools.Server;

/**
 * H2 as a server, and clients that read and change rows. Answers each line of its input with a line: the statements that succeeded and failed,
 * and kilobytes of metaspace and of compiled code. Ends with its input.
 */
public final class Statements {
    static final AtomicLong DONE = new AtomicLong();
    static final AtomicLong FAILED = new AtomicLong();
    static volatile boolean ends;

    public static void main(String[] arguments) throws Exception {
        Server server = Server.createTcpServer("-tcpPort", "0", "-baseDir", ".", "-ifNotExists").start();
        String url = "jdbc:h2:tcp://localhost:" + server.getPort() + "/./rows;LOCK_TIMEOUT=60000";
        try (Connection connection = DriverManager.getConnection(url); Statement statement = connection.createStatement()) {
            statement.execute("CREATE TABLE account(id INT PRIMARY KEY, balance BIGINT)");
            statement.execute("INSERT INTO account SELECT x, 0 FROM SYSTEM_RANGE(0, 9999)");
        }
        Thread[] clients = new Thread[2];
        for (int i = 0; i < clients.length; i++) {
            int number = i;
            clients[i] = new Thread(() -> client(url, number));
            clients[i].start();
        }
        while (System.in.read() != -1) {
            System.out.println(DONE + " " + FAILED + " " + kilobytes("Metaspace") + " " + kilobytes("Code"));
        }
        ends = true;
        for (Thread client : clients) {
            client.join();
        }
        server.stop();
    }

    static long kilobytes(String pool) {
        long sum = 0;
        for (MemoryPoolMXBean bean : ManagementFactory.getMemoryPoolMXBeans()) {
            if (bean.getName().contains(pool)) {
                sum += bean.getUsage().getUsed();
            }
        }
        return sum / 1024;
    }

    static void client(String url, int number) {
        Random random = new Random(number);
        try (Connection connection = DriverManager.getConnection(url);
                PreparedStatement read = connection.prepareStatement("SELECT balance FROM account WHERE id = ?");
                PreparedStatement update = connection.prepareStatement("UPDATE account SET balance = balance + 1 WHERE id = ?")) {
            while (!ends) {
                int row = random.nextInt(5000) * 2 + number;
                if (random.nextInt(4) == 0) {
                    update.setInt(1, row);
                    update.executeUpdate();
                } else {
                    read.setInt(1, row);
                    read.executeQuery().close();
                }
                DONE.incrementAndGet();
            }
        } catch (Exception e) {
            e.printStackTrace();
            FAILED.incrementAndGet();
        }
    }
}
