package org.covey.spark;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
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
import org.apache.spark.util.TaskCompletionListener;

import scala.Tuple2;

/**
 * Fetches blocks of shuffles over connections of their own, one for each attempt of a stage and each executor that it
 * reads from, and says which connections they are. They are closed when no task of the attempt runs here any more. All
 * else, and what exceeds the most connections, goes as before.
 */
final class LabelledClient extends PassingClient {
    /** Maximum number of connections of an executor. */
    private static final int MAX_CONNECTIONS = 256;
    /** Connections outlive the last task by so much: the next one of the attempt may begin at once. */
    private static final long LINGER_MS = 200;

    private record Attempt(int stage, int number) {}

    private record Key(Attempt attempt, String host, int port) {}

    private final TransportConf conf;
    private final TransportContext context;
    private final TransportClientFactory factory;
    private final String application;
    private final Consumer<Label> announce;
    private final Guard guard;
    private final Map<Key, TransportClient> connections = new HashMap<>();
    /** The tasks of each attempt that read here. Its lock is never held while something is waited for. */
    private final Map<Attempt, Set<Long>> readers = new HashMap<>();
    private final ScheduledExecutorService clock =
            Executors.newSingleThreadScheduledExecutor(LabelledClient::daemon);

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

    private static Thread daemon(Runnable work) {
        Thread thread = new Thread(work, "covey connections");
        thread.setDaemon(true);
        return thread;
    }

    @Override
    public void fetchBlocks(
            String host, int port, String executor, String[] blocks, BlockFetchingListener listener,
            DownloadFileManager files) {
        Key[] ready = {null};
        guard.run("fetchBlocks", () -> {
            TaskContext task = TaskContext.get();
            if (task != null && blocks.length > 0 && blocks[0].startsWith("shuffle_")) {
                Attempt attempt = new Attempt(task.stageId(), task.stageAttemptNumber());
                reads(attempt, task);
                Key key = new Key(attempt, host, port);
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

    private void reads(Attempt attempt, TaskContext task) {
        synchronized (readers) {
            if (!readers.computeIfAbsent(attempt, it -> new HashSet<>()).add(task.taskAttemptId())) {
                return;
            }
        }
        TaskCompletionListener ends = it -> guard.run("a task's end", () -> hasRead(attempt, it.taskAttemptId()));
        task.addTaskCompletionListener(ends);
    }

    private void hasRead(Attempt attempt, long task) {
        synchronized (readers) {
            Set<Long> left = readers.get(attempt);
            if (left.remove(task) && left.isEmpty() && !clock.isShutdown()) {
                closeLater(attempt);
            }
        }
    }

    private void closeLater(Attempt attempt) {
        clock.schedule(() -> guard.run("closing connections", () -> close(attempt)), LINGER_MS, TimeUnit.MILLISECONDS);
    }

    /** Closes the connections of an attempt that no task reads. Those with requests, of killed tasks, come later. */
    private synchronized void close(Attempt attempt) {
        synchronized (readers) {
            if (!readers.getOrDefault(attempt, Set.of()).isEmpty()) {
                return;
            }
            readers.remove(attempt);
        }
        // A task that begins to read now gets a connection after this.
        boolean isBusy = false;
        Iterator<Map.Entry<Key, TransportClient>> each = connections.entrySet().iterator();
        while (each.hasNext()) {
            Map.Entry<Key, TransportClient> it = each.next();
            if (it.getKey().attempt.equals(attempt)) {
                if (it.getValue().getHandler().hasOutstandingRequests()) {
                    isBusy = true;
                } else {
                    it.getValue().close();
                    each.remove();
                }
            }
        }
        if (isBusy && !clock.isShutdown()) {
            closeLater(attempt);
        }
    }

    private synchronized boolean isConnected(Key key) throws InterruptedException {
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
                    key.attempt.stage, key.attempt.number,
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
        clock.shutdown();
        factory.close();
        context.close();
        under.close();
    }
}
