package org.covey.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;

import com.fasterxml.jackson.databind.JsonNode;
import org.apache.spark.SparkConf;
import org.apache.spark.deploy.history.FsHistoryProvider;
import org.apache.spark.deploy.history.LoadedAppUI;
import org.apache.spark.status.api.v1.ApplicationInfo;
import org.apache.spark.ui.SparkUI;
import org.covey.Covey;

import scala.Option;

/** The event log of an application, in which {@code covey whatif} is to find what Spark has counted, to the byte. */
final class EventLog {
    private final Path folder;
    private final Map<String, String> settings;

    /**
     * A log that is not written yet.
     *
     * @param codec the codec of shuffles, and of the log if it is compressed; {@code smart} for the plug-in's
     */
    EventLog(Path folder, String codec, boolean isRolling, boolean isCompressed) throws IOException {
        this.folder = Files.createDirectory(folder);
        settings = new HashMap<>(Map.of(
                "spark.eventLog.enabled", "true",
                "spark.eventLog.dir", folder.toUri().toString(),
                "spark.eventLog.compress", String.valueOf(isCompressed),
                "spark.eventLog.rolling.enabled", String.valueOf(isRolling)));
        if (codec.equals("smart")) {
            settings.put("spark.covey.codec", codec);
        } else {
            settings.put("spark.eventLog.compression.codec", codec);
            settings.put("spark.io.compression.codec", codec);
        }
    }

    /** The settings of the application that writes it. */
    Map<String, String> settings() {
        return settings;
    }

    /** The names of the coflows that the history server shows. */
    List<String> names() throws Exception {
        SparkConf conf = new SparkConf(false).set("spark.history.fs.logDirectory", folder.toUri().toString());
        FsHistoryProvider history = new FsHistoryProvider(conf);
        try {
            history.checkForLogs();
            SparkUI pages = Covey.await("the application in the history", () -> {
                scala.collection.Iterator<ApplicationInfo> all = history.getListing();
                Option<LoadedAppUI> ui = all.hasNext() ? history.getAppUI(all.next().id(), Option.empty()) : Option.empty();
                return ui.isEmpty() ? null : ui.get().ui();
            });
            assertTrue(pages.getTabs().exists(tab -> tab.name().equals("Coflows")));
            return CoflowsHistory.rows(pages.store().store()).stream().map(row -> row.name).toList();
        } finally {
            history.stop();
        }
    }

    /** Compares it with what Spark has counted. */
    void check(Counted counted) throws Exception {
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
