package org.covey.spark;

import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerApplicationEnd;
import org.apache.spark.scheduler.SparkListenerExecutorAdded;
import org.apache.spark.scheduler.SparkListenerTaskEnd;

/** Hears from Spark what tasks have read, also those that have failed. */
final class Reads extends SparkListener {
    private final Traffic traffic;
    private final Guard guard;

    Reads(Traffic traffic, Guard guard) {
        this.traffic = traffic;
        this.guard = guard;
    }

    @Override
    public void onExecutorAdded(SparkListenerExecutorAdded event) {
        guard.run("onExecutorAdded", () -> traffic.executor(event.executorId(), event.executorInfo().executorHost()));
    }

    @Override
    public void onTaskEnd(SparkListenerTaskEnd event) {
        guard.run("onTaskEnd that counts", () -> {
            if (event.taskMetrics() != null) {
                long bytes = event.taskMetrics().shuffleReadMetrics().remoteBytesRead();
                traffic.read(event.stageId(), event.stageAttemptId(), bytes);
            }
        });
    }

    @Override
    public void onApplicationEnd(SparkListenerApplicationEnd event) {
        guard.run("onApplicationEnd", traffic::end);
    }
}
