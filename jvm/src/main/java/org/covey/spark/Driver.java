package org.covey.spark;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
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

    /** Pairs of executors whose bytes are kept: some 100 MB. */
    private static final int MAX_PAIRS = 1_000_000;
    /** The last that executors say is waited for so long when the application ends. */
    private static final long LAST_MS = 1_000;

    private final Guard guard;
    /** The requests that each executor holds. */
    private final Map<String, Integer> held = new ConcurrentHashMap<>();
    private final Traffic traffic = new Traffic(MAX_PAIRS);
    private String application;
    private Path report;
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
    public void registerMetrics(String id, PluginContext context) {
        guard.run("registerMetrics", () -> {
            Settings settings = Settings.of(spark.getConf());
            if (settings.mode() == Settings.Mode.OFF) {
                return;
            }
            application = id;
            report = settings.report();
            spark.addSparkListener(new Reads(traffic, guard));
            Gauge<Long> received = traffic::total;
            context.metricRegistry().register("received", received);
            if (settings.mode() == Settings.Mode.LABEL) {
                labels = new Labels(application, settings.connect(), guard);
                LOG.info("covey: connections of {} are labelled at {}", application, settings.coordinator());
                return;
            }
            boolean schedules = settings.mode() == Settings.Mode.SCHEDULE;
            Coordinator coordinator = settings.connect();
            Ports ports = new Ports(settings.ports(), coordinator);
            Registry registry = Registry.of(coordinator);
            worker = new Worker(
                    new Tracker(application, registry, new MapStatuses(), ports), registry, schedules, guard);
            worker.start();
            spark.addSparkListener(new Observer(worker, guard));
            Gauge<Integer> requests = () -> held.values().stream().mapToInt(Integer::intValue).sum();
            context.metricRegistry().register("held", requests);
            LOG.info("covey: shuffles of {} are registered at {}", application, settings.coordinator());
            if (schedules) {
                LOG.info("covey: requests for blocks of shuffles wait in executors while the coordinator serves none of their stage");
            }
        });
    }

    @Override
    public Object receive(Object message) {
        String text = (String) message;
        if (Transfers.is(text)) {
            guard.run("receive", () -> traffic.receive(Transfers.of(text)));
            return null;
        }
        if (Label.is(text)) {
            guard.run("receive", () -> {
                if (labels != null) {
                    labels.tell(Label.of(text));
                }
            });
            return null;
        }
        // Where something has failed, nothing is to wait.
        ArrayList<String> waiting = new ArrayList<>();
        guard.run("receive", () -> waiting.addAll(waiting(Gate.Asks.of(text))));
        return waiting;
    }

    /** The requests of an executor that are to wait. */
    private List<String> waiting(Gate.Asks asks) {
        held.put(asks.executor(), asks.held());
        return worker == null ? List.of() : worker.waiting().stream()
                .filter(request -> request.host().equals(asks.host())).map(Waiting::text).toList();
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
            if (report != null) {
                traffic.awaitAll(LAST_MS);
                Report.of(application, traffic).write(report);
            }
        });
    }
}
