import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.Statement;
import java.util.Random;
import org.h2.tools.Server;

/** H2 as a server, and clients that read and change rows. */
public final class Statements {
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
        Clients.untilTold(clients);
        server.stop();
    }

    static void client(String url, int number) {
        Random random = new Random(number);
        try (Connection connection = DriverManager.getConnection(url);
                PreparedStatement read = connection.prepareStatement("SELECT balance FROM account WHERE id = ?");
                PreparedStatement update = connection.prepareStatement("UPDATE account SET balance = balance + 1 WHERE id = ?")) {
            while (!Clients.ends) {
                int row = random.nextInt(5000) * 2 + number;
                if (random.nextInt(4) == 0) {
                    update.setInt(1, row);
                    update.executeUpdate();
                } else {
                    read.setInt(1, row);
                    read.executeQuery().close();
                }
                Clients.DONE.incrementAndGet();
            }
        } catch (Exception e) {
            e.printStackTrace();
            Clients.FAILED.incrementAndGet();
        }
    }
}
