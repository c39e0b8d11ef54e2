import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.Statement;
import java.util.Random;
import org.h2.tools.Server;

/**
 * H2 as a server, and its clients: one of them keeps a row locked for up to eight milliseconds at a time, and the others update this row now
 * and then. Once the file exists that the variable UNTIL names, it prints how many statements succeeded and failed.
 */
public final class RowLock {
    public static void main(String[] arguments) throws Exception {
        Server server = Server.createTcpServer("-tcpPort", "0", "-baseDir", ".", "-ifNotExists").start();
        String url = "jdbc:h2:tcp://localhost:" + server.getPort() + "/./rows;LOCK_TIMEOUT=60000";
        try (Connection connection = DriverManager.getConnection(url); Statement statement = connection.createStatement()) {
            statement.execute("CREATE TABLE account(id INT PRIMARY KEY, balance BIGINT)");
            statement.execute("INSERT INTO account SELECT x, 0 FROM SYSTEM_RANGE(0, 999)");
        }
        Thread[] clients = new Thread[4];
        for (int i = 0; i < clients.length; i++) {
            int number = i;
            clients[i] = new Thread(() -> client(url, number));
            clients[i].start();
        }
        Clients.untilTold(clients);
        server.stop();
        Clients.printCounts();
    }

    static void client(String url, int number) {
        Random random = new Random(number);
        try (Connection connection = DriverManager.getConnection(url);
                PreparedStatement update = connection.prepareStatement("UPDATE account SET balance = balance + 1 WHERE id = ?")) {
            connection.setAutoCommit(number != 0);
            while (!Clients.ends) {
                update.setInt(1, number == 0 || random.nextInt(3) == 0 ? 1 : 2 + random.nextInt(900));
                update.executeUpdate();
                Clients.DONE.incrementAndGet();
                Thread.sleep(number == 0 ? random.nextInt(8) : 1);
                if (number == 0) {
                    connection.commit();
                    Thread.sleep(4);
                }
            }
        } catch (Exception e) {
            e.printStackTrace();
            Clients.FAILED.incrementAndGet();
        }
    }
}
