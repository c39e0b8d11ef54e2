import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.File;
import java.io.IOException;
import java.net.HttpURLConnection;
import java.net.URL;
import java.util.Random;
import org.apache.catalina.Context;
import org.apache.catalina.connector.Connector;
import org.apache.catalina.startup.Tomcat;

/**
 * Tomcat with two threads (maxThreads=2), and its clients: most get a page that is ready at once, and two of them a page that takes some
 * milliseconds. Once the file exists that the variable UNTIL names, it prints how many requests succeeded and failed.
 */
public final class Pages {
    public static void main(String[] arguments) throws Exception {
        Tomcat tomcat = new Tomcat();
        tomcat.setBaseDir(new File("tomcat").getAbsolutePath());
        Connector connector = new Connector();
        connector.setPort(0);
        connector.setProperty("address", "127.0.0.1");
        connector.setProperty("maxThreads", "2");
        connector.setProperty("minSpareThreads", "2");
        tomcat.setConnector(connector);
        Context context = tomcat.addContext("", null);
        Tomcat.addServlet(context, "quick", new Page(0));
        Tomcat.addServlet(context, "slow", new Page(12));
        context.addServletMappingDecoded("/quick", "quick");
        context.addServletMappingDecoded("/slow", "slow");
        tomcat.start();
        String server = "http://127.0.0.1:" + connector.getLocalPort();
        Thread[] clients = new Thread[6];
        for (int i = 0; i < clients.length; i++) {
            String page = server + (i < 2 ? "/slow" : "/quick");
            clients[i] = new Thread(() -> client(page));
            clients[i].start();
        }
        Clients.untilTold(clients);
        tomcat.stop();
        Clients.printCounts();
    }

    /** A page that waits for another service for some milliseconds. */
    static final class Page extends HttpServlet {
        private final int longest;
        private final Random random = new Random(1);

        Page(int longest) {
            this.longest = longest;
        }

        @Override
        protected void doGet(HttpServletRequest request, HttpServletResponse response) throws IOException {
            askElsewhere();
            response.setContentType("text/plain");
            response.getWriter().println("a page");
        }

        void askElsewhere() throws IOException {
            try {
                Thread.sleep(longest == 0 ? 0 : random.nextInt(longest));
            } catch (InterruptedException e) {
                throw new IOException(e);
            }
        }
    }

    static void client(String page) {
        Random random = new Random();
        try {
            while (!Clients.ends) {
                HttpURLConnection connection = (HttpURLConnection) new URL(page).openConnection();
                boolean isPage = connection.getResponseCode() == 200;
                connection.getInputStream().readAllBytes();
                (isPage ? Clients.DONE : Clients.FAILED).incrementAndGet();
                Thread.sleep(1 + random.nextInt(5));
            }
        } catch (Exception e) {
            e.printStackTrace();
            Clients.FAILED.incrementAndGet();
        }
    }
}
