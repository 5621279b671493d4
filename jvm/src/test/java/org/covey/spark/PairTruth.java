package org.covey.spark;

import java.io.DataInputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;

import org.apache.spark.MapOutputTrackerMaster;
import org.apache.spark.SparkEnv;
import org.apache.spark.scheduler.MapStatus;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerJobStart;
import org.apache.spark.scheduler.SparkListenerStageSubmitted;
import org.apache.spark.scheduler.SparkListenerTaskEnd;
import org.apache.spark.scheduler.StageInfo;

/**
 * The bytes of each pair of executors by what the files of shuffles say: the task of partition p reads part p of each
 * map. That is so without adaptive execution, and where each task runs once.
 */
final class PairTruth extends SparkListener {
    private record Task(int stage, int attempt, int partition, String executor) {}

    private final FileTime begin = FileTime.fromMillis(System.currentTimeMillis() - 1000);
    private final Map<Integer, Integer> shuffles = new HashMap<>();
    private final Map<Integer, List<Integer>> parents = new HashMap<>();
    private final List<Task> tasks = new ArrayList<>();

    @Override
    public synchronized void onJobStart(SparkListenerJobStart event) {
        scala.collection.Iterator<StageInfo> stages = event.stageInfos().iterator();
        while (stages.hasNext()) {
            StageInfo stage = stages.next();
            if (stage.shuffleDepId().isDefined()) {
                shuffles.put(stage.stageId(), ((Number) stage.shuffleDepId().get()).intValue());
            }
        }
    }

    @Override
    public synchronized void onStageSubmitted(SparkListenerStageSubmitted event) {
        List<Integer> ids = new ArrayList<>();
        scala.collection.Iterator<?> all = event.stageInfo().parentIds().iterator();
        while (all.hasNext()) {
            ids.add(((Number) all.next()).intValue());
        }
        parents.put(event.stageInfo().stageId(), ids);
    }

    @Override
    public synchronized void onTaskEnd(SparkListenerTaskEnd event) {
        tasks.add(new Task(
                event.stageId(), event.stageAttemptId(), event.taskInfo().index(), event.taskInfo().executorId()));
    }

    /** The bytes, by {@code "stage.attempt shuffle from-to"}, while the application has its files. */
    synchronized Map<String, Long> pairs() throws IOException {
        Map<String, long[]> parts = parts();
        MapOutputTrackerMaster tracker = (MapOutputTrackerMaster) SparkEnv.get().mapOutputTracker();
        Map<String, Long> pairs = new TreeMap<>();
        for (Task task : tasks) {
            for (int parent : parents.get(task.stage)) {
                int shuffle = shuffles.get(parent);
                for (MapStatus map : tracker.shuffleStatuses().get(shuffle).get().withMapStatuses(maps -> maps)) {
                    String from = map.location().executorId();
                    long bytes = parts.get("shuffle_" + shuffle + "_" + map.mapId() + "_0.index")[task.partition];
                    if (!from.equals(task.executor) && bytes > 0) {
                        String pair = task.stage + "." + task.attempt + " " + shuffle + " " + from + "-" + task.executor;
                        pairs.merge(pair, bytes, Long::sum);
                    }
                }
            }
        }
        return pairs;
    }

    /** The bytes of each part of a map's output, by the name of its index file. */
    private Map<String, long[]> parts() throws IOException {
        Map<String, long[]> parts = new HashMap<>();
        try (Stream<Path> files = Files.walk(Cluster.LOCAL)) {
            for (Path file : files.filter(it -> it.toString().endsWith(".index")).toList()) {
                if (Files.getLastModifiedTime(file).compareTo(begin) >= 0) {
                    parts.put(file.getFileName().toString(), sizes(file));
                }
            }
        }
        return parts;
    }

    private static long[] sizes(Path index) throws IOException {
        long[] sizes = new long[(int) (Files.size(index) / Long.BYTES) - 1];
        try (DataInputStream in = new DataInputStream(Files.newInputStream(index))) {
            long begin = in.readLong();
            for (int k = 0; k < sizes.length; k++) {
                long end = in.readLong();
                sizes[k] = end - begin;
                begin = end;
            }
        }
        return sizes;
    }
}
