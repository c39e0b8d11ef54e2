import java.io.File;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;
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
    static final AtomicLong DONE = new AtomicLong();
    static final AtomicLong FAILED = new AtomicLong();
    static volatile boolean ends;

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
        Thread neighbour = new Thread(Keeper::neighbour);
        neighbour.setDaemon(true);
        neighbour.start();
        System.out.println("ready");
        File until = new File(System.getenv("UNTIL"));
        while (!until.exists()) {
            Thread.sleep(20);
        }
        ends = true;
        for (Thread client : clients) {
            client.join();
        }
        connections.shutdown();
        System.out.println(DONE + " done, " + FAILED + " failed");
        System.exit(0);
    }

    static void neighbour() {
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
            while (!ends) {
                keeper.setData(node, data, -1);
                DONE.incrementAndGet();
            }
        } catch (Exception e) {
            e.printStackTrace();
            FAILED.incrementAndGet();
        }
    }
}
