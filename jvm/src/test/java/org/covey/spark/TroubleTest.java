package org.covey.spark;

import static org.apache.spark.sql.functions.lit;
import static org.apache.spark.sql.functions.pmod;
import static org.apache.spark.sql.functions.when;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;

import com.fasterxml.jackson.databind.JsonNode;
import org.apache.spark.HashPartitioner;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.covey.Covey;
import org.covey.client.Coflow;
import org.covey.client.Flow;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import scala.Tuple2;

/**
 * Copies of slow tasks, killed tasks, killed executors, stages that run again, executors that come and go: results are
 * right, and nothing is left waiting or at the coordinator.
 */
@Tag("one-version")
class TroubleTest {
    private static final int ROWS = 20_000;
    private static final int NUMBERS = 3_000;
    private static final int PARTS = 6;

    @TempDir
    Path folder;

    @BeforeAll
    static void needed() {
        Covey.needed();
    }

    private static Map<String, String> settings(Covey.Server coordinator) {
        Map<String, String> settings = PluginTest.settings(CoveyPlugin.class, coordinator, coordinator.clients);
        settings.put("spark.covey.mode", "schedule");
        settings.put("spark.covey.codec", "smart");
        settings.putAll(forKills());
        settings.put("spark.speculation", "true");
        settings.put("spark.speculation.interval", "100ms");
        settings.put("spark.speculation.quantile", "0.3");
        // Executors come and go.
        settings.put("spark.dynamicAllocation.enabled", "true");
        settings.put("spark.dynamicAllocation.shuffleTracking.enabled", "true");
        settings.put("spark.dynamicAllocation.initialExecutors", "3");
        settings.put("spark.dynamicAllocation.minExecutors", "2");
        settings.put("spark.dynamicAllocation.maxExecutors", "3");
        settings.put("spark.dynamicAllocation.executorIdleTimeout", "1s");
        return settings;
    }

    @Test
    void resultsStayWhateverHappens() throws Exception {
        Trouble trouble = new Trouble();
        String application;
        try (Said said = new Said();
                Covey.Server coordinator = new Covey.Server(folder, Cluster.HOSTS.size(), "sebf", List.of());
                AutoCloseable agents = coordinator.agents("none")) {
            try (SparkSession spark = Cluster.application("trouble", settings(coordinator))) {
                assertNotNull(agents);
                application = spark.sparkContext().applicationId();
                spark.sparkContext().addSparkListener(trouble);
                Covey.await("an executor that has gone because it was idle",
                        () -> trouble.removedExecutors.get() > 0 ? true : null);
                slowTasksAreCopied(spark, trouble);
                executorsAndTasksAreKilled(spark, trouble, coordinator);
                Covey.await("nothing that waits", () -> PluginTest.held() == 0 ? true : null);
                assertEquals(List.of(), Cluster.said(application));
            }
            assertEquals(List.of(), said.lines());
            for (JsonNode coflow : coordinator.client().list("/v1/coflows")) {
                assertFalse(coflow.path("name").asText().startsWith(application), coflow::toString);
            }
        }
    }

    /** Settings for {@link #executorsAndTasksAreKilled}: small requests, so that tasks are in the midst of them. */
    static Map<String, String> forKills() {
        return Map.of(
                "spark.reducer.maxReqsInFlight", "1",
                "spark.reducer.maxBlocksInFlightPerAddress", "1",
                "spark.shuffle.io.maxRetries", "1",
                "spark.shuffle.io.retryWait", "100ms",
                // What executors run is in classes of tests.
                "spark.executor.extraClassPath", System.getProperty("covey.classes"));
    }

    /** Adaptive execution splits a partition, and then reads partitions where they are. */
    static void partitionsAreSplitAndReadWhereTheyAre(SparkSession spark) {
        spark.conf().set("spark.sql.adaptive.skewJoin.skewedPartitionThresholdInBytes", "1000");
        spark.conf().set("spark.sql.adaptive.skewJoin.skewedPartitionFactor", "1.5");
        spark.conf().set("spark.sql.adaptive.advisoryPartitionSizeInBytes", "8000");
        Dataset<Row> skewed = join(spark);
        assertEquals(ROWS, skewed.collectAsList().size());
        String plan = skewed.queryExecution().executedPlan().toString();
        assertTrue(plan.contains("skewed"), plan);
        spark.conf().set("spark.sql.adaptive.autoBroadcastJoinThreshold", "10MB");
        Dataset<Row> local = join(spark);
        assertEquals(ROWS, local.collectAsList().size());
        plan = local.queryExecution().executedPlan().toString();
        assertTrue(plan.contains("AQEShuffleRead local"), plan);
        spark.conf().unset("spark.sql.adaptive.autoBroadcastJoinThreshold");
    }

    /** Most rows have one key. Each finds one row. */
    private static Dataset<Row> join(SparkSession spark) {
        Dataset<Row> rows = spark.range(0, ROWS, 1, 4).toDF("id");
        Dataset<Row> skewed = rows.select(
                when(pmod(rows.col("id"), lit(10)).lt(8), 0).otherwise(pmod(rows.col("id"), lit(100))).as("key"),
                rows.col("id").cast("string").as("text"));
        return skewed.join(spark.range(0, 100, 1, 3).selectExpr("id as key", "id * 2 as twice"), "key");
    }

    private static long sum(SparkSession spark, boolean isFirstSlow, int sleepMs) {
        JavaSparkContext context = new JavaSparkContext(spark.sparkContext());
        List<Integer> numbers = IntStream.range(0, NUMBERS).boxed().toList();
        return context.parallelize(numbers, PARTS)
                .mapToPair(number -> new Tuple2<>(number, number))
                .partitionBy(new HashPartitioner(PARTS))
                .mapPartitions(some -> {
                    TaskContext task = TaskContext.get();
                    if (isFirstSlow && task.partitionId() == 0 && task.attemptNumber() == 0) {
                        Thread.sleep(60_000);
                    }
                    long sum = 0;
                    while (some.hasNext()) {
                        sum += some.next()._2();
                        Thread.sleep(sleepMs);
                    }
                    return List.of(sum).iterator();
                })
                .collect().stream().mapToLong(Long::longValue).sum();
    }

    private static void slowTasksAreCopied(SparkSession spark, Trouble trouble) {
        assertEquals(NUMBERS * (NUMBERS - 1L) / 2, sum(spark, true, 0));
        assertTrue(trouble.copies.get() > 0);
    }

    /**
     * Kills a task that reads, and then an executor with another.
     *
     * @param coordinator has the requests wait meanwhile, if there is one
     */
    static void executorsAndTasksAreKilled(SparkSession spark, Trouble trouble, Covey.Server coordinator)
            throws Exception {
        trouble.reading.clear();
        long other = -1;
        if (coordinator != null) {
            List<Flow> all = new ArrayList<>();
            for (int k = 0; k < 9; k++) {
                if (k / 3 != k % 3) {
                    all.add(new Flow(k / 3, k % 3, 1.0));
                }
            }
            other = coordinator.client().register(new Coflow("another", List.of(), null, null, all), "another");
        }
        CompletableFuture<Long> found = CompletableFuture.supplyAsync(() -> sum(spark, false, 3));
        if (coordinator != null) {
            Covey.await("requests that wait", () -> PluginTest.held() > 0 ? true : null);
        }
        Covey.await("a task that was killed", () -> {
            // One that ends just now is too late.
            spark.sparkContext().killTaskAttempt(reading(trouble).getKey(), true, "a test");
            Thread.sleep(200);
            return trouble.killed.contains("a test") ? true : null;
        });
        String executor = reading(trouble).getValue();
        process(spark.sparkContext().applicationId(), executor).destroyForcibly();
        Covey.await("a stage that runs again", () -> trouble.retriedStages.get() > 0 ? true : null);
        if (coordinator != null) {
            coordinator.client().end(other);
        }
        assertEquals(NUMBERS * (NUMBERS - 1L) / 2, found.get());
    }

    /** A task of a stage that reads. */
    private static Map.Entry<Long, String> reading(Trouble trouble) throws Exception {
        return Covey.await("a task that reads", () -> trouble.reading.entrySet().stream().findFirst().orElse(null));
    }

    /** The process of an executor, which the worker in this JVM has started. */
    private static ProcessHandle process(String application, String executor) throws Exception {
        return Covey.await("the process of executor " + executor, () -> ProcessHandle.current().descendants()
                .filter(process -> {
                    String command = process.info().commandLine().orElse("") + " ";
                    return command.contains(" --executor-id " + executor + " ") && command.contains(application);
                }).findFirst().orElse(null));
    }
}
