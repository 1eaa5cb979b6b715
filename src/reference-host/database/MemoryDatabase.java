import de.bwaldvogel.mongo.MongoServer;
import de.bwaldvogel.mongo.MongoVersion;
import de.bwaldvogel.mongo.backend.memory.MemoryBackend;
import java.net.InetSocketAddress;
import java.util.List;

/** Serves an in-memory database on a free port of 127.0.0.1, prints the port, and ends when its standard input ends. */
public class MemoryDatabase {
    public static void main(String[] args) throws Exception {
        MemoryBackend backend = new MemoryBackend();
        // The Node.js driver talks to wire version 9 and later only; the back end supports what the driver needs of version 13.
        backend.version(new MongoVersion() {
            @Override
            public List<Integer> getVersionArray() {
                return List.of(5, 0, 0, 0);
            }

            @Override
            public int getWireVersion() {
                return 13;
            }
        });
        MongoServer server = new MongoServer(backend);
        server.bind(new InetSocketAddress("127.0.0.1", 0));
        System.out.println("PORT " + server.getLocalAddress().getPort());
        System.out.flush();
        while (System.in.read() != -1) {
            // The input is ignored; only its end has a meaning.
        }
        server.shutdownNow();
        System.exit(0);
    }
}
