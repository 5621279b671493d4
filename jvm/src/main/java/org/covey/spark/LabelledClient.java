package org.covey.spark;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;

import org.apache.spark.SparkConf;
import org.apache.spark.TaskContext;
import org.apache.spark.network.TransportContext;
import org.apache.spark.network.client.TransportClient;
import org.apache.spark.network.client.TransportClientFactory;
import org.apache.spark.network.server.NoOpRpcHandler;
import org.apache.spark.network.shuffle.BlockFetchingListener;
import org.apache.spark.network.shuffle.BlockStoreClient;
import org.apache.spark.network.shuffle.DownloadFileManager;
import org.apache.spark.network.shuffle.OneForOneBlockFetcher;
import org.apache.spark.network.shuffle.RetryingBlockTransferor;
import org.apache.spark.network.util.MapConfigProvider;
import org.apache.spark.network.util.TransportConf;

import scala.Tuple2;

/**
 * Fetches blocks of shuffles over connections of their own, one for each attempt of a stage and each executor that it
 * reads from, and says which connections they are. All else, and what exceeds the most connections, goes as before.
 */
final class LabelledClient extends PassingClient {
    /** Maximum number of connections of an executor. */
    private static final int MAX_CONNECTIONS = 256;

    private record Key(int stage, int attempt, String host, int port) {}

    private final TransportConf conf;
    private final TransportContext context;
    private final TransportClientFactory factory;
    private final String application;
    private final Consumer<Label> announce;
    private final Guard guard;
    private final Map<Key, TransportClient> connections = new ConcurrentHashMap<>();

    /**
     * A client over another.
     *
     * @param announce hears of each connection, before it is used
     */
    LabelledClient(BlockStoreClient under, SparkConf spark, Consumer<Label> announce, Guard guard) {
        super(under);
        Map<String, String> settings = new HashMap<>();
        for (Tuple2<String, String> setting : spark.getAll()) {
            settings.put(setting._1(), setting._2());
        }
        conf = new TransportConf("shuffle", new MapConfigProvider(settings));
        // Connections that are idle are closed, as those of Spark's shuffle service are.
        context = new TransportContext(conf, new NoOpRpcHandler(), true, true);
        factory = context.createClientFactory(List.of());
        application = spark.getAppId();
        this.announce = announce;
        this.guard = guard;
    }

    @Override
    public void fetchBlocks(
            String host, int port, String executor, String[] blocks, BlockFetchingListener listener,
            DownloadFileManager files) {
        Key[] ready = {null};
        guard.run("fetchBlocks", () -> {
            TaskContext task = TaskContext.get();
            if (task != null && blocks.length > 0 && blocks[0].startsWith("shuffle_")) {
                Key key = new Key(task.stageId(), task.stageAttemptNumber(), host, port);
                ready[0] = isConnected(key) ? key : null;
            }
        });
        if (ready[0] == null) {
            under.fetchBlocks(host, port, executor, blocks, listener, files);
            return;
        }
        // From here on it is Spark that fetches, and that tries again.
        RetryingBlockTransferor.BlockTransferStarter starter = (some, heard) -> new OneForOneBlockFetcher(
                connection(ready[0]), application, executor, some, (BlockFetchingListener) heard, conf, files).start();
        new RetryingBlockTransferor(conf, starter, blocks, listener).start();
    }

    private boolean isConnected(Key key) throws InterruptedException {
        connections.values().removeIf(connection -> !connection.isActive());
        if (!connections.containsKey(key) && connections.size() >= MAX_CONNECTIONS) {
            return false;
        }
        try {
            connection(key);
            return true;
        } catch (IOException error) {
            // Spark's own client finds out why, and says it.
            return false;
        }
    }

    private synchronized TransportClient connection(Key key) throws IOException, InterruptedException {
        TransportClient connection = connections.get(key);
        if (connection == null || !connection.isActive()) {
            connection = factory.createUnmanagedClient(key.host, key.port);
            connections.put(key, connection);
            announce.accept(new Label(
                    key.stage, key.attempt,
                    text(connection.getChannel().remoteAddress()), text(connection.getChannel().localAddress())));
        }
        return connection;
    }

    /** Address and port, as the coordinator reads them. */
    private static String text(SocketAddress end) {
        InetSocketAddress address = (InetSocketAddress) end;
        String host = address.getAddress().getHostAddress();
        return (host.contains(":") ? "[" + host + "]" : host) + ":" + address.getPort();
    }

    /** Gives the connections back, and closes the client below. */
    @Override
    public void close() throws IOException {
        factory.close();
        context.close();
        under.close();
    }
}
