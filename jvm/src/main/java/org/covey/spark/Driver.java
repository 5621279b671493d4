package org.covey.spark;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
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
    private final StageChoices choices = new StageChoices();
    private final Coflows coflows = new Coflows();
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
        guard.run("init", () -> {
            spark = sc;
            String codec = Settings.codec(sc.conf());
            if (codec != null) {
                // Before anything is compressed, and before executors ask for settings.
                sc.conf().set(Settings.CODEC, codec);
            }
        });
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
            spark.addSparkListener(new Reads(traffic, choices, this::gone, guard));
            Gauge<Long> received = traffic::total;
            context.metricRegistry().register("received", received);
            if (spark.ui().isDefined()) {
                CoflowsTab.attach(spark.ui().get(), this::rows);
            }
            boolean chooses = Settings.isSmart(spark.conf());
            if (settings.mode() == Settings.Mode.LABEL) {
                spark.addSparkListener(new Attempts(application, coflows, guard));
                labels = new Labels(application, settings.connect(), guard);
                if (chooses) {
                    labels.tellPortRate(choices);
                }
                LOG.info("covey: connections of {} are labelled at {}", application, settings.coordinator());
                return;
            }
            boolean schedules = settings.mode() == Settings.Mode.SCHEDULE;
            Coordinator coordinator = settings.connect();
            Ports ports = new Ports(settings.ports(), coordinator);
            Registry registry = Registry.of(coordinator);
            Tracker tracker = new Tracker(application, registry, new MapStatuses(), ports, coflows);
            worker = new Worker(tracker, registry, coflows, schedules, chooses ? choices : null, guard);
            worker.start();
            spark.addSparkListener(new Observer(worker, guard));
            Gauge<Integer> requests = this::held;
            context.metricRegistry().register("held", requests);
            LOG.info("covey: shuffles of {} are registered at {}", application, settings.coordinator());
            if (schedules) {
                LOG.info("covey: requests for blocks of shuffles wait in executors while the coordinator serves none of their stage");
            }
        });
    }

    @Override
    public Object receive(Object message) {
        Object[] answer = {null};
        guard.run("receive", () -> answer[0] = answer((String) message));
        return answer[0];
    }

    /** The answer to what an executor says; null if it does not ask. */
    private Object answer(String text) {
        if (Transfers.is(text)) {
            traffic.receive(Transfers.of(text));
            return null;
        }
        if (Label.is(text)) {
            if (labels != null) {
                labels.tell(Label.of(text));
            }
            return null;
        }
        if (StageCodecs.Seen.is(text)) {
            choices.seen(StageCodecs.Seen.of(text));
            return null;
        }
        if (StageCodecs.Asks.is(text)) {
            return choices.choose(StageCodecs.Asks.of(text)).text();
        }
        return waiting(Gate.Asks.of(text));
    }

    /** The requests of an executor that are to wait. */
    private ArrayList<String> waiting(Gate.Asks asks) {
        held.put(asks.executor(), asks.held());
        ArrayList<String> waiting = new ArrayList<>();
        for (Waiting request : worker == null ? Set.<Waiting>of() : worker.waiting()) {
            if (request.host().equals(asks.host())) {
                waiting.add(request.text());
            }
        }
        return waiting;
    }

    /** The number of requests that executors hold. */
    int held() {
        return held.values().stream().mapToInt(Integer::intValue).sum();
    }

    /** An executor has gone. */
    void gone(String executor) {
        choices.gone(executor);
        // What it held has gone, too.
        held.remove(executor);
    }

    private List<CoflowRow> rows() {
        return coflows.rows(traffic.pairs());
    }

    /** Writes coflows into the event log, for the history server. Spark 3 has stopped its other listeners by then. */
    private void log(List<CoflowRow> rows) {
        if (!spark.version().startsWith("3.")) {
            rows.forEach(spark.listenerBus()::post);
        } else if (spark.eventLogger().isDefined()) {
            rows.forEach(spark.eventLogger().get()::onOtherEvent);
        }
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
            if (application == null) {
                return;
            }
            traffic.awaitAll(LAST_MS);
            log(rows());
            if (report != null) {
                List<Label> connections = labels == null ? List.of() : labels.told();
                Report.of(application, traffic, choices, rows(), connections).write(report);
            }
        });
    }
}
