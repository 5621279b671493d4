package org.covey.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.spark.SparkEnv;
import org.apache.spark.metrics.source.Source;
import org.apache.spark.sql.SparkSession;
import org.covey.Covey;
import org.covey.client.Coflow;
import org.covey.client.Coordinator;
import org.covey.client.Flow;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Applications with the plug-in, beside a real coordinator. Their results are those of the same application without,
 * and {@code covey whatif} finds in their logs what Spark counts.
 */
class PluginTest {
    /** Of a shuffle's bytes, the part by which Spark's map statuses may differ from what was read. */
    private static final double ROUNDED = 0.05;
    /** Sizes of a few kilobytes come with headers that are not in proportion. */
    private static final double BYTES = 2000;

    @TempDir
    static Path folder;

    private static Covey.Server coordinator;
    /** What the queries give, and what Spark counts, without the plug-in and with lz4. */
    private static List<String> results;
    private static List<String> few;
    private static final Counted alone = new Counted();

    @BeforeAll
    static void start() throws Exception {
        Covey.needed();
        coordinator = new Covey.Server(folder, Cluster.HOSTS.size(), "fair", List.of());
        try (SparkSession spark = Cluster.local("alone", Map.of())) {
            spark.sparkContext().addSparkListener(alone);
            results = Queries.run(spark);
            spark.sparkContext().removeSparkListener(alone);
            few = Queries.few(spark);
        }
    }

    @AfterAll
    static void end() {
        if (coordinator != null) {
            coordinator.close();
        }
    }

    private static Map<String, String> settings(Class<? extends CoveyPlugin> plugin, URI address) {
        Map<String, String> settings = settings(plugin, coordinator, address);
        settings.put("spark.covey.report", folder.resolve("report.json").toString());
        return settings;
    }

    /** The settings of an application with a plug-in, which finds a coordinator at an address. */
    static Map<String, String> settings(Class<? extends CoveyPlugin> plugin, Covey.Server coordinator, URI address) {
        List<String> hosts = new ArrayList<>();
        Cluster.HOSTS.forEach(host -> hosts.add(host + "=" + hosts.size()));
        return new HashMap<>(Map.of(
                "spark.plugins", plugin.getName(),
                "spark.jars", System.getProperty("covey.jar"),
                "spark.covey.coordinator", address.toString(),
                "spark.covey.token.file", coordinator.token().toString(),
                "spark.covey.hosts", String.join(",", hosts)));
    }

    /** The report of the application that has ended last, in which executors have received what Spark has counted. */
    private static JsonNode report(Counted counted) throws Exception {
        return report(new TreeMap<>(counted.remoteByStage), Integer.MAX_VALUE);
    }

    /**
     * The same.
     *
     * @param remote the bytes that each attempt of a stage has read
     * @param stages the stages below this one count
     */
    private static JsonNode report(Map<String, Long> remote, int stages) throws Exception {
        JsonNode report = new ObjectMapper().readTree(folder.resolve("report.json").toFile());
        Map<String, Long> received = new TreeMap<>();
        for (JsonNode stage : report.path("stages")) {
            if (stage.path("stage").asInt() < stages) {
                received.put(stage.path("stage") + "." + stage.path("attempt"), stage.path("received").asLong());
                assertEquals(stage.path("read"), stage.path("received"), stage::toString);
            }
        }
        assertEquals(remote, received);
        Map<String, Long> sums = new TreeMap<>();
        pairs(report).forEach((pair, bytes) -> sums.merge(pair.split(" ")[0], bytes, Long::sum));
        sums.keySet().removeIf(stage -> Double.parseDouble(stage) >= stages);
        assertEquals(received, sums);
        return report;
    }

    /** The bytes of each pair of executors, by {@code "stage.attempt shuffle from-to"}. */
    private static Map<String, Long> pairs(JsonNode report) {
        Map<String, Long> pairs = new TreeMap<>();
        for (JsonNode pair : report.path("pairs")) {
            pairs.put(pair.path("stage") + "." + pair.path("attempt") + " " + pair.path("shuffle") + " "
                    + pair.path("from").asText() + "-" + pair.path("to").asText(), pair.path("bytes").asLong());
        }
        return pairs;
    }

    @Test
    @Tag("one-version")
    void theCoordinatorHearsOfEveryShuffle() throws Exception {
        Counted counted = new Counted();
        EventLog log = new EventLog(folder.resolve("observe-log"), "lz4", false, false);
        String application;
        try (Said said = new Said(); Front front = new Front(coordinator.clients, () -> {})) {
            Map<String, String> settings = settings(CoveyPlugin.class, front.address());
            settings.putAll(log.settings());
            // What comes goes to files.
            settings.put("spark.network.maxRemoteBlockSizeFetchToMem", "1");
            try (SparkSession spark = Cluster.application("observe", settings)) {
                spark.sparkContext().addSparkListener(counted);
                application = spark.sparkContext().applicationId();
                assertEquals(results, Queries.run(spark));
            }
            assertEquals(List.of(), said.lines());
            checkBytes(counted, front.bytes());
        }
        log.check(counted);
        names(report(counted));
        int coflows = 0;
        for (JsonNode coflow : coordinator.client().get("/v1/coflows?state=all&limit=1000").path("items")) {
            if (coflow.path("name").asText().startsWith(application)) {
                coflows++;
                assertTrue(List.of("done", "removed").contains(coflow.path("state").asText()), coflow::toString);
            }
        }
        assertTrue(coflows >= 4, coflows + " coflows");
    }

    private static String page(String address) throws Exception {
        HttpRequest request = HttpRequest.newBuilder(URI.create(address)).build();
        return HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString()).body();
    }

    private static List<String> names(JsonNode report) {
        List<String> names = new ArrayList<>();
        report.path("coflows").forEach(coflow -> names.add(coflow.path("name").asText()));
        assertTrue(names.size() > 3, names::toString);
        return names;
    }

    /** What each host sends and receives is as Spark has counted it. */
    private static void checkBytes(Counted counted, Map<String, Double> bytes) {
        for (int k = 0; k < Cluster.HOSTS.size(); k++) {
            String host = Cluster.HOSTS.get(k);
            String port = String.valueOf(k);
            double sent = 0;
            double received = 0;
            for (Map.Entry<String, Double> pair : bytes.entrySet()) {
                String[] ends = pair.getKey().split("-");
                sent += ends[0].equals(port) ? pair.getValue() : 0;
                received += ends[1].equals(port) ? pair.getValue() : 0;
            }
            near(counted.outOf.getOrDefault(host, 0L), sent, "out of " + host + ", " + bytes);
            near(counted.into.getOrDefault(host, 0L), received, "into " + host + ", " + bytes);
        }
    }

    private static void near(double expected, double found, String what) {
        assertEquals(expected, found, ROUNDED * expected + BYTES, what);
    }

    @Test
    void aCoordinatorThatDiesIsOneLine() throws Exception {
        Path own = Files.createDirectory(folder.resolve("dies"));
        try (Said said = new Said(); Covey.Server dying = new Covey.Server(own, Cluster.HOSTS.size(), "fair", List.of());
                Front front = new Front(dying.clients, dying::close)) {
            Map<String, String> settings = settings(CoveyPlugin.class, front.address());
            settings.put("spark.covey.token.file", dying.token().toString());
            try (SparkSession spark = Cluster.local("dies", settings)) {
                assertEquals(few, Queries.few(spark));
            }
            assertEquals(1, said.lines().size(), said.lines()::toString);
        }
    }

    @Test
    void aCoordinatorThatIsAwayIsOneLine() throws Exception {
        URI nobody = URI.create("http://127.0.0.1:" + Covey.freePort());
        assertEquals(1, local("away", settings(CoveyPlugin.class, nobody)).size());
    }

    /** Runs a query in this JVM, and gives what the plug-in has said. */
    private static List<String> local(String name, Map<String, String> settings) throws Exception {
        try (Said said = new Said()) {
            try (SparkSession spark = Cluster.local(name, settings)) {
                assertEquals(few, Queries.few(spark));
            }
            return said.lines();
        }
    }

    @Test
    void stagesOfAJobMayHaveCodecsOfTheirOwn() throws Exception {
        Set<Compressor> used = ConcurrentHashMap.newKeySet();
        SmartCodec.Chooser chooser = new SmartCodec.Chooser() {
            @Override
            public Compressor of(int stage) {
                Compressor one = Compressor.values()[stage % 3];
                used.add(one);
                return one;
            }

            @Override
            public void seen(Compressor compressor, long raw, long compressed) {}
        };
        SmartCodec.use(chooser);
        try {
            Map<String, String> settings = Map.of("spark.io.compression.codec", SmartCodec.class.getName());
            try (SparkSession spark = Cluster.local("codecs", settings)) {
                assertEquals(results, Queries.run(spark));
            }
        } finally {
            SmartCodec.use(null);
        }
        assertEquals(Set.of(Compressor.values()), used);
    }

    /**
     * The coordinator serves another coflow, and so the requests of the application wait. On links as slow as its, the
     * smallest codec is the fastest. Spark's pages show it all.
     */
    @Test
    void requestsWaitWhileTheCoordinatorServesAnotherCoflow() throws Exception {
        Path own = Files.createDirectory(folder.resolve("schedule"));
        Counted counted = new Counted();
        PairTruth truth = new PairTruth();
        Map<String, Long> pairs;
        EventLog log = new EventLog(folder.resolve("schedule-log"), "smart", true, true);
        List<String> slow = List.of("--port-rate", "1mbps");
        try (Said said = new Said(); Covey.Server sebf = new Covey.Server(own, Cluster.HOSTS.size(), "sebf", slow);
                AutoCloseable agents = sebf.agents("none")) {
            Coordinator client = sebf.client();
            List<Flow> all = new ArrayList<>();
            for (int k = 0; k < 9; k++) {
                if (k / 3 != k % 3) {
                    all.add(new Flow(k / 3, k % 3, 1.0));
                }
            }
            long other = client.register(new Coflow("another", List.of(), null, null, all), "another");
            Map<String, String> settings = settings(CoveyPlugin.class, sebf.clients);
            settings.put("spark.covey.token.file", sebf.token().toString());
            settings.put("spark.covey.mode", "schedule");
            settings.put("spark.ui.enabled", "true");
            settings.put("spark.ui.port", "0");
            // The first requests go before anything is known of them; more are to follow.
            settings.put("spark.reducer.maxReqsInFlight", "1");
            settings.put("spark.sql.adaptive.enabled", "false");
            // Files of shuffles stay, and say what each pair of executors has exchanged.
            settings.put("spark.cleaner.referenceTracking", "false");
            settings.putAll(log.settings());
            try (SparkSession spark = Cluster.application("schedule", settings)) {
                spark.sparkContext().addSparkListener(counted);
                spark.sparkContext().addSparkListener(truth);
                CompletableFuture<List<String>> found = CompletableFuture.supplyAsync(() -> Queries.run(spark));
                Covey.await("requests that wait", () -> held() > 0 ? true : null);
                assertFalse(found.isDone());
                client.end(other);
                assertNotNull(agents);
                assertEquals(results, found.get());
                assertEquals(List.of(), Cluster.said(spark.sparkContext().applicationId()));
                spark.sparkContext().listenerBus().waitUntilEmpty();
                pairs = truth.pairs();
                String page = page(spark.sparkContext().uiWebUrl().get() + "/coflows/");
                assertTrue(page.contains(spark.sparkContext().applicationId() + " shuffle "), page);
                assertTrue(page.contains("another ("), page);
            }
            assertEquals(List.of(), said.lines());
        }
        log.check(counted);
        JsonNode report = report(counted);
        assertEquals(pairs, pairs(report));
        double waited = 0;
        for (JsonNode coflow : report.path("coflows")) {
            assertTrue(coflow.path("waited_s").asDouble() <= coflow.path("cct_s").asDouble() + 0.5, coflow::toString);
            waited += coflow.path("behind_s").path("another").asDouble();
        }
        assertTrue(waited > 0, () -> report.path("coflows").toString());
        assertEquals(names(report), log.names());
        JsonNode codecs = report.path("codecs");
        assertTrue(codecs.size() > 3, codecs::toString);
        codecs.forEach(stage -> assertEquals("zstd", stage.path("codec").asText(), codecs::toString));
        long written = counted.sums.get("written");
        assertTrue(written < 0.8 * alone.sums.get("written"), written + " bytes, with lz4 " + alone.sums);
    }

    /** The requests that the executors hold, by the plug-in's metric. */
    static int held() {
        Source source = SparkEnv.get().metricsSystem()
                .getSourcesByName("plugin." + CoveyPlugin.class.getName()).head();
        return (Integer) source.metricRegistry().getGauges().get("held").getValue();
    }

    @Test
    @Tag("one-version")
    void connectionsOfEachStageAreLabelled() throws Exception {
        Path own = Files.createDirectory(folder.resolve("label"));
        Counted counted = new Counted();
        Trouble trouble = new Trouble();
        Map<String, Long> remote;
        int stages;
        try (Said said = new Said();
                Covey.Server coda = new Covey.Server(own, Cluster.HOSTS.size(), "coda:labels=told", List.of());
                Front front = new Front(coda.clients, () -> {})) {
            Map<String, String> settings = settings(CoveyPlugin.class, front.address());
            settings.put("spark.covey.token.file", coda.token().toString());
            settings.put("spark.covey.mode", "label");
            settings.putAll(TroubleTest.forKills());
            try (SparkSession spark = Cluster.application("label", settings)) {
                spark.sparkContext().addSparkListener(counted);
                assertEquals(results, Queries.run(spark));
                TroubleTest.partitionsAreSplitAndReadWhereTheyAre(spark);
                areClosed(front.labels().keySet());
                spark.sparkContext().listenerBus().waitUntilEmpty();
                remote = new TreeMap<>(counted.remoteByStage);
                stages = counted.stages;
                spark.sparkContext().removeSparkListener(counted);
                spark.sparkContext().addSparkListener(trouble);
                TroubleTest.executorsAndTasksAreKilled(spark, trouble, null);
                assertEquals(List.of(), Cluster.said(spark.sparkContext().applicationId()));
            }
            assertEquals(List.of(), said.lines());
            Map<String, Integer> labels = front.labels();
            labels.forEach((ends, community) -> {
                for (String end : ends.split(" ")) {
                    assertTrue(end.startsWith("127.0.0."), ends);
                }
                assertTrue(community >= 0, ends + " was refused: " + community);
            });
            // Each stage that reads from another host has connections of its own.
            assertTrue(Set.copyOf(labels.values()).size() >= 3, labels::toString);
        }
        JsonNode report = report(remote, stages);
        names(report);
        // Each stage that has labelled connections has received something.
        assertTrue(!report.path("connections").isEmpty());
        Set<Integer> received = new HashSet<>();
        report.path("stages").forEach(it -> received.add(it.path("stage").asInt()));
        for (JsonNode it : report.path("connections")) {
            assertTrue(received.contains(it.path("stage").asInt()), it::toString);
            assertTrue(it.path("from").asText().startsWith("127.0.0."), it::toString);
        }
    }

    /** Waits until connections are closed, long before Spark would close idle ones. */
    private static void areClosed(Set<String> connections) throws Exception {
        assertTrue(!connections.isEmpty());
        Set<String> open = connections;
        for (long end = System.nanoTime() + 10_000_000_000L; !open.isEmpty() && System.nanoTime() < end;) {
            Thread.sleep(100);
            Set<String> established = established();
            open = connections.stream().map(it -> it.replaceAll("\\S*:", "")).collect(Collectors.toSet());
            open.retainAll(established);
        }
        assertEquals(Set.of(), open);
    }

    /** The ports of both ends of each connection of the host that is established. */
    private static Set<String> established() throws IOException {
        Set<String> found = new HashSet<>();
        for (String table : List.of("/proc/net/tcp", "/proc/net/tcp6")) {
            for (String line : Files.readAllLines(Path.of(table))) {
                String[] words = line.trim().split("\\s+");
                if (words[3].equals("01")) {
                    found.add(port(words[1]) + " " + port(words[2]));
                }
            }
        }
        return found;
    }

    private static int port(String end) {
        return Integer.parseInt(end.substring(end.lastIndexOf(':') + 1), 16);
    }

    @Test
    @Tag("one-version")
    void aFaultInARequestIsOneLineOfAnExecutor() throws Exception {
        Map<String, String> settings = settings(FaultyPlugin.class, coordinator.clients);
        settings.put("spark.covey.mode", "schedule");
        settings.put("spark.executor.extraClassPath", System.getProperty("covey.classes"));
        settings.put("spark.executorEnv.COVEY_FAULT", "fetchBlocks");
        Counted counted = new Counted();
        EventLog log = new EventLog(folder.resolve("fault-log"), "snappy", false, true);
        settings.putAll(log.settings());
        String application;
        try (SparkSession spark = Cluster.application("fault", settings)) {
            spark.sparkContext().addSparkListener(counted);
            application = spark.sparkContext().applicationId();
            assertEquals(results, Queries.run(spark));
        }
        log.check(counted);
        List<String> lines = Cluster.said(application);
        assertTrue(!lines.isEmpty() && lines.size() <= Cluster.HOSTS.size(), lines::toString);
        assertTrue(lines.stream().allMatch(line -> line.contains("fetchBlocks failed")), lines::toString);
    }

    @ParameterizedTest
    @Tag("one-version")
    @ValueSource(strings = {
        "init", "init of the executor", "registerMetrics", "onJobStart", "onStageSubmitted", "onTaskStart", "onTaskEnd", "onStageCompleted",
        "onTaskEnd that counts", "onApplicationEnd", "shutdown", "the thread that tells the coordinator"})
    void aFaultIsOneLine(String callback) throws Exception {
        System.setProperty("covey.fault", callback);
        List<String> lines = local(callback, settings(FaultyPlugin.class, coordinator.clients));
        assertEquals(1, lines.size(), lines::toString);
        assertTrue(lines.get(0).contains("a fault for a test"), lines::toString);
    }
}
