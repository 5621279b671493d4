package org.covey.spark;

import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

import org.apache.spark.SparkEnv;
import org.apache.spark.api.plugin.ExecutorPlugin;
import org.apache.spark.api.plugin.PluginContext;
import org.apache.spark.network.shuffle.BlockStoreClient;
import org.apache.spark.storage.BlockManager;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The part of the plug-in on an executor. In mode {@code schedule} requests for blocks of shuffles pass a gate. */
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
            SparkEnv env = SparkEnv.get();
            if (Settings.mode(context.conf()) != Settings.Mode.SCHEDULE || env.blockManager().blockManagerId() == null) {
                return;
            }
            String unknown = GatedClient.unknownMethod();
            if (unknown != null) {
                LOG.warn("covey: requests do not wait: this version of Spark has '{}', which is not known", unknown);
            } else if (context.conf().getBoolean("spark.shuffle.service.enabled", false)) {
                LOG.warn("covey: requests do not wait where the external shuffle service has the blocks");
            } else {
                install(env.blockManager(), context);
            }
        });
    }

    private void install(BlockManager blocks, PluginContext context) throws ReflectiveOperationException {
        String host = blocks.blockManagerId().host();
        gate = new Gate(context.executorID(), host, asks -> ask(context, asks), HOLD_MAX_NS, guard);
        BlockStoreClient client = new GatedClient(blocks.blockStoreClient(), gate, host, guard);
        try {
            Field field = BlockManager.class.getDeclaredField("blockStoreClient");
            field.setAccessible(true);
            field.set(blocks, client);
        } catch (IllegalAccessException | NoSuchFieldException error) {
            LOG.warn("covey: requests do not wait: the block manager's client cannot be replaced: {}", error.toString());
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
