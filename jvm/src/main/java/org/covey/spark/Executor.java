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
import org.apache.spark.TaskContext;
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
    /** A task waits so long to hear what it writes with. */
    private static final long CHOICE_MS = 1_000;

    private final Guard guard;
    private final Transfers received = new Transfers();
    private PluginContext context;
    private Gate gate;
    private StageCodecs codecs;
    private ScheduledExecutorService clock;

    Executor(Guard guard) {
        this.guard = guard;
    }

    @Override
    public void init(PluginContext plugin, Map<String, String> extra) {
        guard.run("init of the executor", () -> {
            Settings.Mode mode = Settings.mode(plugin.conf());
            if (mode == Settings.Mode.OFF) {
                return;
            }
            context = plugin;
            BlockManager blocks = SparkEnv.get().blockManager();
            // If this is the driver, too, there are no other executors.
            boolean isAlone = blocks.blockManagerId() == null;
            if (Settings.isSmart(plugin.conf())) {
                String host = isAlone ? "localhost" : blocks.blockManagerId().host();
                codecs = new StageCodecs(host, Processor::left, this::choice, CHOICE_MS, guard);
                SmartCodec.use(codecs);
            }
            clock = Executors.newSingleThreadScheduledExecutor(Executor::daemon);
            clock.scheduleWithFixedDelay(this::say, SAY_S, SAY_S, TimeUnit.SECONDS);
            if (isAlone) {
                return;
            }
            String obstacle = obstacle(plugin.conf(), mode);
            if (obstacle != null) {
                LOG.warn("covey: blocks are fetched as without the plug-in, and not counted: {}", obstacle);
                return;
            }
            BlockStoreClient client = client(blocks, mode);
            replace(blocks, new CountingClient(client, plugin.executorID(), received, guard));
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

    /** Tells the driver what has been received and compressed since the last time. */
    private void say() {
        guard.run("the count of bytes", () -> {
            Map<Transfers.Key, Long> bytes = received.take();
            if (!bytes.isEmpty()) {
                say(Transfers.text(bytes));
            }
            if (codecs != null) {
                codecs.take().forEach(seen -> say(seen.text()));
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

    private Compressor choice(StageCodecs.Asks asks) throws Exception {
        String answer = (String) context.ask(asks.text());
        return answer == null ? Compressor.LZ4 : Compressor.of(answer);
    }

    private static List<String> ask(PluginContext context, Gate.Asks asks) throws Exception {
        List<String> answer = new ArrayList<>();
        // A driver that has failed answers nothing.
        List<?> waiting = (List<?>) context.ask(asks.text());
        for (Object request : waiting == null ? List.of() : waiting) {
            answer.add((String) request);
        }
        return answer;
    }

    @Override
    public void onTaskStart() {
        TaskContext task = TaskContext.get();
        if (codecs != null && task != null) {
            guard.run("onTaskStart of the executor", () -> codecs.begin(task.stageId()));
        }
    }

    @Override
    public void onTaskSucceeded() {
        say();
    }

    @Override
    public void onTaskFailed(TaskFailedReason reason) {
        say();
    }

    @Override
    public void shutdown() {
        if (clock != null) {
            clock.shutdown();
            say();
        }
        if (codecs != null) {
            codecs.close();
        }
        // Also after a failure: nothing may be left waiting.
        if (gate != null) {
            gate.close();
        }
    }
}
