import java.io.File;
import java.net.InetSocketAddress;
import java.util.concurrent.CountDownLatch;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.Watcher.Event.KeeperState;
import org.apache.zookeeper.ZooDefs.Ids;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.server.NIOServerCnxnFactory;
import org.apache.zookeeper.server.ZooKeeperServer;

/**
 * ZooKeeper as a server, and its clients: each sets its own node again and again, which the server writes to its log and forces to the
 * disk. Now and then a neighbour writes to this disk, too, so that forcing takes longer. Once the file exists that the variable UNTIL names,
 * it prints how many requests succeeded and failed.
 */
public final class Keeper {
    public static void main(String[] arguments) throws Exception {
        ZooKeeperServer server = new ZooKeeperServer(new File("snapshots"), new File("log"), 2000);
        NIOServerCnxnFactory connections = new NIOServerCnxnFactory();
        connections.configure(new InetSocketAddress("127.0.0.1", 0), 100);
        connections.startup(server);
        Thread[] clients = new Thread[3];
        for (int i = 0; i < clients.length; i++) {
            String node = "/node" + i;
            clients[i] = new Thread(() -> client(connections.getLocalPort(), node));
            clients[i].start();
        }
        Clients.startNeighbour();
        Clients.untilTold(clients);
        connections.shutdown();
        Clients.printCounts();
        System.exit(0);
    }

    static void client(int port, String node) {
        CountDownLatch connected = new CountDownLatch(1);
        try (ZooKeeper keeper = new ZooKeeper("127.0.0.1:" + port, 30000, event -> {
            if (event.getState() == KeeperState.SyncConnected) {
                connected.countDown();
            }
        })) {
            connected.await();
            byte[] data = new byte[400];
            keeper.create(node, data, Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT);
            while (!Clients.ends) {
                keeper.setData(node, data, -1);
                Clients.DONE.incrementAndGet();
            }
        } catch (Exception e) {
            e.printStackTrace();
            Clients.FAILED.incrementAndGet();
        }
    }
}
