import java.io.File;
import java.io.OutputStream;
import java.io.PrintStream;
import java.net.ServerSocket;
import java.util.Properties;
import java.util.concurrent.ExecutionException;
import kafka.server.KafkaConfig;
import kafka.server.KafkaRaftServer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.errors.RetriableException;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.metadata.storage.Formatter;

/**
 * A broker of Kafka that forces each message to the disk (log.flush.interval.messages=1), and its clients, each of which sends a message and
 * awaits its acknowledgement. Now and then a neighbour writes to this disk, too. Once the file exists that the variable UNTIL names, it prints
 * how many messages succeeded and failed.
 */
public final class Broker {
    public static void main(String[] arguments) throws Exception {
        int port = freePort();
        KafkaRaftServer server = server(port);
        server.startup();
        Thread[] clients = new Thread[3];
        for (int i = 0; i < clients.length; i++) {
            clients[i] = new Thread(() -> client(port));
            clients[i].start();
        }
        while (Clients.DONE.get() < 100 && Clients.FAILED.get() == 0) {
            Thread.sleep(20);
        }
        Clients.startNeighbour();
        Clients.untilTold(clients);
        Clients.printCounts();
        Runtime.getRuntime().halt(0);
    }

    static KafkaRaftServer server(int port) throws Exception {
        int controller = freePort();
        Properties properties = new Properties();
        properties.put("process.roles", "broker,controller");
        properties.put("node.id", "1");
        properties.put("controller.quorum.voters", "1@127.0.0.1:" + controller);
        properties.put("listeners", "PLAINTEXT://127.0.0.1:" + port + ",CONTROLLER://127.0.0.1:" + controller);
        properties.put("controller.listener.names", "CONTROLLER");
        properties.put("listener.security.protocol.map", "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT");
        properties.put("log.dirs", new File("kafka").getAbsolutePath());
        properties.put("offsets.topic.replication.factor", "1");
        properties.put("log.flush.interval.messages", "1");
        new Formatter()
            .setPrintStream(new PrintStream(OutputStream.nullOutputStream()))
            .setNodeId(1)
            .setClusterId(Uuid.randomUuid().toString())
            .addDirectory(new File("kafka").getAbsolutePath())
            .setMetadataLogDirectory(new File("kafka").getAbsolutePath())
            .setControllerListenerName("CONTROLLER")
            .run();
        return new KafkaRaftServer(KafkaConfig.fromProps(properties), Time.SYSTEM);
    }

    static int freePort() throws Exception {
        try (ServerSocket socket = new ServerSocket(0)) {
            return socket.getLocalPort();
        }
    }

    static void client(int port) {
        Properties properties = new Properties();
        properties.put("bootstrap.servers", "127.0.0.1:" + port);
        properties.put("acks", "all");
        properties.put("retries", "0");
        properties.put("enable.idempotence", "false");
        byte[] message = new byte[400];
        try (KafkaProducer<byte[], byte[]> producer =
                new KafkaProducer<>(properties, new ByteArraySerializer(), new ByteArraySerializer())) {
            awaitLeader(producer);
            while (!Clients.ends) {
                producer.send(new ProducerRecord<>("orders", message)).get();
                Clients.DONE.incrementAndGet();
            }
        } catch (Exception e) {
            e.printStackTrace();
            Clients.FAILED.incrementAndGet();
        }
    }

    /** The first message makes the topic, and the broker may not know yet that it is the leader. */
    static void awaitLeader(KafkaProducer<byte[], byte[]> producer) throws Exception {
        while (true) {
            try {
                producer.send(new ProducerRecord<>("orders", new byte[1])).get();
                return;
            } catch (ExecutionException e) {
                if (!(e.getCause() instanceof RetriableException)) {
                    throw e;
                }
            }
        }
    }
}
