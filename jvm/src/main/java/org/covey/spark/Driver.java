package org.covey.spark;

import java.util.Map;

import org.apache.spark.SparkContext;
import org.apache.spark.api.plugin.DriverPlugin;
import org.apache.spark.api.plugin.PluginContext;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import org.covey.client.Coordinator;

/** The part of the plug-in on the driver. */
final class Driver implements DriverPlugin {
    private static final Logger LOG = LoggerFactory.getLogger("covey");

    private final Guard guard;
    private SparkContext spark;
    private Worker worker;

    Driver(Guard guard) {
        this.guard = guard;
    }

    @Override
    public Map<String, String> init(SparkContext sc, PluginContext context) {
        guard.run("init", () -> spark = sc);
        return Map.of();
    }

    /** Spark calls it when the application has an id. */
    @Override
    public void registerMetrics(String applicationId, PluginContext context) {
        guard.run("registerMetrics", () -> {
            Settings settings = Settings.of(spark.getConf());
            if (!settings.observes()) {
                return;
            }
            Coordinator coordinator = settings.connect();
            Ports ports = new Ports(settings.ports(), coordinator);
            worker = new Worker(
                    new Tracker(applicationId, Registry.of(coordinator), new MapStatuses(), ports), guard);
            worker.start();
            spark.addSparkListener(new Observer(worker, guard));
            LOG.info("covey: shuffles of {} are registered at {}", applicationId, settings.coordinator());
        });
    }

    @Override
    public void shutdown() {
        guard.run("shutdown", () -> {
            if (worker != null) {
                worker.stop();
            }
        });
    }
}
