import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import com.datastax.driver.core.Cluster;
import com.datastax.driver.core.PreparedStatement;
import com.datastax.driver.core.Session;
import java.io.File;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.apache.cassandra.service.CassandraDaemon;
import org.slf4j.LoggerFactory;

/**
 * A node of Cassandra that forces its commit log before it answers (or once a second, with -Dlazy=true), and its clients, each of which writes
 * rows of its own. Now and then a neighbour writes to this disk, too. Once the file exists that the variable UNTIL names, it prints how many writes
 * succeeded and failed.
 */
public final class Table {
    public static void main(String[] arguments) throws Exception {
        ((Logger) LoggerFactory.getLogger(Logger.ROOT_LOGGER_NAME)).setLevel(Level.ERROR);
        int port = freePort();
        Files.write(Path.of("cassandra.yaml"), configuration(port, freePort()));
        System.setProperty("cassandra.config", new File("cassandra.yaml").toURI().toString());
        System.setProperty("cassandra.storagedir", new File("cassandra").getAbsolutePath());
        System.setProperty("cassandra-foreground", "yes");
        System.setProperty("cassandra.ring_delay_ms", "1");
        System.setProperty("cassandra.skip_wait_for_gossip_to_settle", "0");
        CassandraDaemon node = new CassandraDaemon(true);
        node.activate();
        Cluster cluster = Cluster.builder()
            .addContactPointsWithPorts(new InetSocketAddress("127.0.0.1", port))
            .withoutJMXReporting()
            .build();
        Session session = cluster.connect();
        session.execute("CREATE KEYSPACE shop WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}");
        session.execute("CREATE TABLE shop.orders (client int, number int, text blob, PRIMARY KEY (client, number))");
        PreparedStatement insert = session.prepare("INSERT INTO shop.orders (client, number, text) VALUES (?, ?, ?)");
        Thread[] clients = new Thread[3];
        for (int i = 0; i < clients.length; i++) {
            int number = i;
            clients[i] = new Thread(() -> client(session, insert, number));
            clients[i].start();
        }
        Clients.startNeighbour();
        Clients.untilTold(clients);
        cluster.close();
        Clients.printCounts();
        System.exit(0);
    }

    static List<String> configuration(int port, int internal) {
        return List.of(
            "cluster_name: test",
            "partitioner: org.apache.cassandra.dht.Murmur3Partitioner",
            "endpoint_snitch: SimpleSnitch",
            "seed_provider: [{class_name: org.apache.cassandra.locator.SimpleSeedProvider, parameters: [{seeds: '127.0.0.1:" + internal + "'}]}]",
            "listen_address: 127.0.0.1",
            "storage_port: " + internal,
            "start_native_transport: true",
            "rpc_address: 127.0.0.1",
            "native_transport_port: " + port,
            "num_tokens: 1",
            Boolean.getBoolean("lazy") ? "commitlog_sync: periodic\ncommitlog_sync_period: 1s" : "commitlog_sync: batch",
            "memtable_heap_space: 64MiB",
            "memtable_offheap_space: 64MiB");
    }

    static int freePort() throws Exception {
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            return socket.getLocalPort();
        }
    }

    static void client(Session session, PreparedStatement insert, int client) {
        try {
            for (int number = 0; !Clients.ends; number++) {
                session.execute(insert.bind(client, number % 1000, ByteBuffer.allocate(400)));
                Clients.DONE.incrementAndGet();
            }
        } catch (Exception e) {
            e.printStackTrace();
            Clients.FAILED.incrementAndGet();
        }
    }
}
