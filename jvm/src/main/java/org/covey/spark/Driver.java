package org.covey.spark;

import java.util.ArrayList;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

import com.codahale.metrics.Gauge;
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
    /** The requests that each executor holds. */
    private final Map<String, Integer> held = new ConcurrentHashMap<>();
    private SparkContext spark;
    private Worker worker;
    private Labels labels;

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
            if (settings.mode() == Settings.Mode.OFF) {
                return;
            }
            if (settings.mode() == Settings.Mode.LABEL) {
                labels = new Labels(applicationId, settings.connect(), guard);
                LOG.info("covey: connections of {} are labelled at {}", applicationId, settings.coordinator());
                return;
            }
            boolean schedules = settings.mode() == Settings.Mode.SCHEDULE;
            Coordinator coordinator = settings.connect();
            Ports ports = new Ports(settings.ports(), coordinator);
            Registry registry = Registry.of(coordinator);
            worker = new Worker(
                    new Tracker(applicationId, registry, new MapStatuses(), ports), registry, schedules, guard);
            worker.start();
            spark.addSparkListener(new Observer(worker, guard));
            Gauge<Integer> requests = () -> held.values().stream().mapToInt(Integer::intValue).sum();
            context.metricRegistry().register("held", requests);
            LOG.info("covey: shuffles of {} are registered at {}", applicationId, settings.coordinator());
            if (schedules) {
                LOG.info("covey: requests for blocks of shuffles wait in executors while the coordinator serves none of their stage");
            }
        });
    }

    /** An executor says which connection is whose; or how many requests it holds, and asks which are to wait. */
    @Override
    public Object receive(Object message) {
        ArrayList<String> waiting = new ArrayList<>();
        guard.run("receive", () -> {
            String text = (String) message;
            if (Label.is(text)) {
                if (labels != null) {
                    labels.tell(Label.of(text));
                }
                return;
            }
            Gate.Asks asks = Gate.Asks.of(text);
            held.put(asks.executor(), asks.held());
            if (worker != null) {
                for (Waiting request : worker.waiting()) {
                    if (request.host().equals(asks.host())) {
                        waiting.add(request.text());
                    }
                }
            }
        });
        return waiting;
    }

    @Override
    public void shutdown() {
        guard.run("shutdown", () -> {
            if (worker != null) {
                worker.stop();
            }
            if (labels != null) {
                labels.stop();
            }
        });
    }
}
