package org.covey.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;

import com.fasterxml.jackson.databind.JsonNode;
import org.apache.spark.sql.SparkSession;
import org.covey.Covey;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** {@code covey whatif} finds in an event log what Spark has counted, to the byte. */
class EventLogsTest {
    @TempDir
    Path folder;

    @BeforeAll
    static void needs() {
        Covey.needed();
    }

    /** A codec of shuffles, and how the log is written. */
    @ParameterizedTest
    @ValueSource(strings = {"lz4 plain", "snappy compressed", "lzf rolling", "zstd rolling,compressed"})
    void aLogHasWhatSparkCounts(String form) throws Exception {
        String codec = form.split(" ")[0];
        boolean isRolling = form.contains("rolling");
        Map<String, String> settings = new HashMap<>(Map.of(
                "spark.eventLog.enabled", "true",
                "spark.eventLog.dir", folder.toUri().toString(),
                "spark.eventLog.compress", String.valueOf(form.contains("compressed")),
                "spark.eventLog.compression.codec", codec,
                "spark.eventLog.rolling.enabled", String.valueOf(isRolling),
                "spark.io.compression.codec", codec));
        Counted counted = new Counted();
        try (SparkSession spark = Cluster.application(form, settings)) {
            spark.sparkContext().addSparkListener(counted);
            Queries.run(spark);
        }

        List<String> command = new ArrayList<>(List.of("whatif", "--json"));
        try (Stream<Path> logs = Files.list(folder)) {
            logs.filter(log -> !log.getFileName().toString().startsWith(".")).forEach(log -> command.add(log.toString()));
        }
        JsonNode answer = Covey.json(command);
        assertEquals(1, answer.path("logs").size(), answer::toString);
        JsonNode log = answer.path("logs").get(0);
        assertEquals("success", log.path("status").asText(), () -> log.path("reason").asText());
        Map<String, Long> found = new TreeMap<>();
        counted.sums.keySet().forEach(name -> found.put(name, log.path(name).asLong()));
        assertEquals(counted.sums, found);
        assertTrue(counted.sums.get("remote") > 0);
        for (JsonNode coflow : log.path("coflow_list")) {
            String stage = coflow.path("stage").asInt() + "." + coflow.path("attempt").asInt();
            long read = sum(coflow.path("remote_in_by_host")) + sum(coflow.path("local_by_host"));
            assertEquals(counted.readByStage.get(stage), read, "stage " + stage);
            assertTrue(coflow.path("closed").asBoolean(), () -> "stage " + stage + " is not closed");
        }
        assertTrue(log.path("coflow_list").size() > 3, log::toString);
    }

    private static long sum(JsonNode amounts) {
        long sum = 0;
        for (JsonNode amount : amounts) {
            sum += amount.asLong();
        }
        return sum;
    }
}
