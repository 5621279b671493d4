package org.covey.spark;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

import com.fasterxml.jackson.databind.ObjectMapper;

/**
 * What the plug-in knows of an application, as JSON. Amounts are in bytes.
 *
 * @param application the application's id
 * @param executors the host of each executor
 * @param stages the bytes of each attempt of a stage, as executors and as Spark count them
 * @param pairs the bytes of each pair of executors
 * @param forgotten the number of attempts of stages that are left out
 * @param codecs what each stage is written with, if the plug-in chooses
 * @param coflows its coflows
 * @param connections those that had labels, the first hundred thousand
 */
record Report(
        String application, Map<String, String> executors, List<Traffic.Sums> stages, Map<Transfers.Key, Long> pairs,
        int forgotten, Map<Integer, Compressor> codecs, List<CoflowRow> coflows, List<Label> connections) {
    static Report of(
            String application, Traffic traffic, StageChoices choices, List<CoflowRow> coflows,
            List<Label> connections) {
        return new Report(
                application, traffic.hosts(), traffic.sums(), traffic.pairs(), traffic.forgotten(), choices.chosen(),
                coflows, connections);
    }

    byte[] json() throws IOException {
        Map<String, Object> all = new LinkedHashMap<>();
        all.put("application", application);
        all.put("executors", executors);
        all.put("stages", stages.stream().map(it -> {
            Map<String, Object> stage = new LinkedHashMap<>();
            stage.put("stage", it.stage());
            stage.put("attempt", it.attempt());
            stage.put("received", it.received());
            stage.put("read", it.read());
            return stage;
        }).toList());
        all.put("stages_left_out", forgotten);
        all.put("pairs", pairs.entrySet().stream().map(it -> {
            Map<String, Object> pair = new LinkedHashMap<>();
            pair.put("stage", it.getKey().stage());
            pair.put("attempt", it.getKey().attempt());
            pair.put("shuffle", it.getKey().shuffle());
            pair.put("from", it.getKey().from());
            pair.put("to", it.getKey().to());
            pair.put("bytes", it.getValue());
            return pair;
        }).toList());
        all.put("codecs", codecs.entrySet().stream().map(it -> {
            Map<String, Object> stage = new LinkedHashMap<>();
            stage.put("stage", it.getKey());
            stage.put("codec", it.getValue().text());
            return stage;
        }).toList());
        all.put("coflows", coflows.stream().map(it -> {
            Map<String, Object> coflow = new LinkedHashMap<>();
            coflow.put("name", it.name);
            coflow.put("stage", it.stage);
            coflow.put("attempt", it.attempt);
            coflow.put("shuffle", it.shuffle < 0 ? null : it.shuffle);
            coflow.put("bytes", it.bytes);
            coflow.put("cct_s", it.end == 0 ? null : (it.end - it.begin) / 1e3);
            coflow.put("waited_s", it.waited);
            coflow.put("behind_s", it.behind);
            return coflow;
        }).toList());
        all.put("connections", connections.stream().map(it -> {
            Map<String, Object> connection = new LinkedHashMap<>();
            connection.put("stage", it.stage());
            connection.put("attempt", it.attempt());
            connection.put("from", it.from());
            connection.put("to", it.to());
            return connection;
        }).toList());
        return new ObjectMapper().writerWithDefaultPrettyPrinter().writeValueAsBytes(all);
    }

    void write(Path file) throws IOException {
        Files.write(file, json());
    }
}
