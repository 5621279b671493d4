package org.covey.spark;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

import org.apache.spark.SparkConf;
import org.apache.spark.SparkEnv;
import org.apache.spark.api.plugin.ExecutorPlugin;
import org.apache.spark.api.plugin.PluginContext;
import org.apache.spark.network.shuffle.BlockStoreClient;
import org.apache.spark.storage.BlockManager;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The part of the plug-in on an executor. In mode {@code schedule} requests for blocks of shuffles pass a gate;
 * in mode {@code label} they go over connections of their own.
 */
final class Executor implements ExecutorPlugin {
    private static final Logger LOG = LoggerFactory.getLogger("covey");
    private static final long HOLD_MAX_NS = TimeUnit.SECONDS.toNanos(60);

    private final Guard guard;
    private Gate gate;

    Executor(Guard guard) {
        this.guard = guard;
    }

    @Override
    public void init(PluginContext context, Map<String, String> extra) {
        guard.run("init of the executor", () -> {
            Settings.Mode mode = Settings.mode(context.conf());
            BlockManager blocks = SparkEnv.get().blockManager();
            boolean replaces = mode == Settings.Mode.SCHEDULE || mode == Settings.Mode.LABEL;
            if (!replaces || blocks.blockManagerId() == null) {
                return;
            }
            String obstacle = obstacle(context.conf(), mode);
            if (obstacle != null) {
                LOG.warn("covey: blocks are fetched as without the plug-in: {}", obstacle);
            } else if (mode == Settings.Mode.SCHEDULE) {
                String host = blocks.blockManagerId().host();
                gate = new Gate(context.executorID(), host, asks -> ask(context, asks), HOLD_MAX_NS, guard);
                replace(blocks, new GatedClient(blocks.blockStoreClient(), gate, host, guard));
            } else {
                replace(blocks, new LabelledClient(
                        blocks.blockStoreClient(), context.conf(), label -> say(context, label), guard));
            }
        });
    }

    /** What keeps the plug-in from fetching blocks; null if nothing does. */
    private static String obstacle(SparkConf conf, Settings.Mode mode) {
        String unknown = PassingClient.unknownMethod();
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
            LOG.warn("covey: blocks are fetched as without the plug-in: the block manager's client cannot be replaced: {}",
                    error.toString());
        }
    }

    private static void say(PluginContext context, Label label) {
        try {
            context.send(label.text());
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
    public void shutdown() {
        // Also after a failure: nothing may be left waiting.
        if (gate != null) {
            gate.close();
        }
    }
}
