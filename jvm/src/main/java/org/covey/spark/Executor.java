package org.covey.spark;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;

import org.apache.spark.SparkConf;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskFailedReason;
import org.apache.spark.api.plugin.ExecutorPlugin;
import org.apache.spark.api.plugin.PluginContext;
import org.apache.spark.network.shuffle.BlockStoreClient;
import org.apache.spark.storage.BlockManager;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The part of the plug-in on an executor. It counts the bytes of shuffles that come from other executors. In mode
 * {@code schedule} requests for them pass a gate; in mode {@code label} they go over connections of their own.
 */
final class Executor implements ExecutorPlugin {
    private static final Logger LOG = LoggerFactory.getLogger("covey");
    private static final long HOLD_MAX_NS = TimeUnit.SECONDS.toNanos(60);
    /** Interval at which the driver hears what has been received, at least. */
    private static final long SAY_S = 1;

    private final Guard guard;
    private final Transfers received = new Transfers();
    private PluginContext context;
    private Gate gate;
    private ScheduledExecutorService clock;

    Executor(Guard guard) {
        this.guard = guard;
    }

    @Override
    public void init(PluginContext plugin, Map<String, String> extra) {
        guard.run("init of the executor", () -> {
            Settings.Mode mode = Settings.mode(plugin.conf());
            BlockManager blocks = SparkEnv.get().blockManager();
            if (mode == Settings.Mode.OFF || blocks.blockManagerId() == null) {
                return;
            }
            String obstacle = obstacle(plugin.conf(), mode);
            if (obstacle != null) {
                LOG.warn("covey: blocks are fetched as without the plug-in, and not counted: {}", obstacle);
                return;
            }
            context = plugin;
            BlockStoreClient client = client(blocks, mode);
            replace(blocks, new CountingClient(client, plugin.executorID(), received, guard));
            clock = Executors.newSingleThreadScheduledExecutor(Executor::daemon);
            clock.scheduleWithFixedDelay(this::sayReceived, SAY_S, SAY_S, TimeUnit.SECONDS);
        });
    }

    private static Thread daemon(Runnable work) {
        Thread thread = new Thread(work, "covey bytes");
        thread.setDaemon(true);
        return thread;
    }

    /** What fetches blocks in a mode. */
    private BlockStoreClient client(BlockManager blocks, Settings.Mode mode) {
        BlockStoreClient sparks = blocks.blockStoreClient();
        if (mode == Settings.Mode.SCHEDULE) {
            String host = blocks.blockManagerId().host();
            gate = new Gate(context.executorID(), host, asks -> ask(context, asks), HOLD_MAX_NS, guard);
            return new GatedClient(sparks, gate, host, guard);
        }
        if (mode == Settings.Mode.LABEL) {
            return new LabelledClient(sparks, context.conf(), label -> say(label.text()), guard);
        }
        return sparks;
    }

    /** What keeps the plug-in from fetching blocks; null if nothing does. */
    private static String obstacle(SparkConf conf, Settings.Mode mode) {
        String unknown = PassingClient.unknownMethod();
        unknown = unknown == null ? CountingClient.unknownMethod() : unknown;
        if (unknown != null) {
            return "this version of Spark has '" + unknown + "', which is not known";
        }
        List<String> names = new ArrayList<>(List.of("spark.shuffle.service.enabled"));
        if (mode == Settings.Mode.LABEL) {
            names.addAll(List.of("spark.authenticate", "spark.network.crypto.enabled", "spark.ssl.rpc.enabled"));
        }
        return names.stream().filter(name -> conf.getBoolean(name, false)).findFirst()
                .map(name -> name + " is set").orElse(null);
    }

    private static void replace(BlockManager blocks, BlockStoreClient client) {
        try {
            Field field = BlockManager.class.getDeclaredField("blockStoreClient");
            field.setAccessible(true);
            field.set(blocks, client);
        } catch (IllegalAccessException | NoSuchFieldException error) {
            LOG.warn("covey: blocks are fetched as without the plug-in, and not counted: the block manager's client "
                    + "cannot be replaced: {}", error.toString());
        }
    }

    /** Tells the driver what has been received since the last time. */
    private void sayReceived() {
        guard.run("the count of bytes", () -> {
            Map<Transfers.Key, Long> bytes = received.take();
            if (!bytes.isEmpty()) {
                say(Transfers.text(bytes));
            }
        });
    }

    private void say(String message) {
        try {
            context.send(message);
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    private static List<String> ask(PluginContext context, Gate.Asks asks) throws Exception {
        List<String> answer = new ArrayList<>();
        for (Object request : (List<?>) context.ask(asks.text())) {
            answer.add((String) request);
        }
        return answer;
    }

    @Override
    public void onTaskSucceeded() {
        sayReceived();
    }

    @Override
    public void onTaskFailed(TaskFailedReason reason) {
        sayReceived();
    }

    @Override
    public void shutdown() {
        if (clock != null) {
            clock.shutdown();
            sayReceived();
        }
        // Also after a failure: nothing may be left waiting.
        if (gate != null) {
            gate.close();
        }
    }
}
