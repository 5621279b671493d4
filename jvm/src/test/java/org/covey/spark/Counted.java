package org.covey.spark;

import java.util.TreeMap;
import java.util.Map;

import org.apache.spark.executor.ShuffleReadMetrics;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerStageCompleted;
import org.apache.spark.scheduler.SparkListenerTaskEnd;

/** What Spark counts while an application runs. */
final class Counted extends SparkListener {
    /** Sums over all tasks, by the names that {@code covey whatif --json} has for them. */
    final Map<String, Long> sums = new TreeMap<>();
    /** One more than the highest stage. */
    int stages;
    /** Bytes that each attempt of a stage has read, by {@code "stage.attempt"}. */
    final Map<String, Long> readByStage = new TreeMap<>();
    /** Bytes that each attempt of a stage has read from other hosts. */
    final Map<String, Long> remoteByStage = new TreeMap<>();
    /**
     * Bytes that each host has read from others, and those that it has written less those that it has read of its own.
     */
    final Map<String, Long> into = new TreeMap<>();
    final Map<String, Long> outOf = new TreeMap<>();

    @Override
    public void onTaskEnd(SparkListenerTaskEnd event) {
        ShuffleReadMetrics read = event.taskMetrics().shuffleReadMetrics();
        long written = event.taskMetrics().shuffleWriteMetrics().bytesWritten();
        add("remote", read.remoteBytesRead());
        add("local", read.localBytesRead());
        add("written", written);
        add("wait_ms", read.fetchWaitTime());
        add("rblocks", read.remoteBlocksFetched());
        add("lblocks", read.localBlocksFetched());
        add("run_ms", event.taskMetrics().executorRunTime());
        readByStage.merge(event.stageId() + "." + event.stageAttemptId(), read.totalBytesRead(), Long::sum);
        if (read.remoteBytesRead() > 0) {
            remoteByStage.merge(event.stageId() + "." + event.stageAttemptId(), read.remoteBytesRead(), Long::sum);
        }
        into.merge(event.taskInfo().host(), read.remoteBytesRead(), Long::sum);
        outOf.merge(event.taskInfo().host(), written - read.localBytesRead(), Long::sum);
    }

    @Override
    public void onStageCompleted(SparkListenerStageCompleted event) {
        add("stages", 1);
        stages = Math.max(stages, event.stageInfo().stageId() + 1);
    }

    private void add(String name, long amount) {
        sums.merge(name, amount, Long::sum);
    }
}
