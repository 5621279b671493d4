package org.covey.spark;

import java.util.function.Consumer;

import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerApplicationEnd;
import org.apache.spark.scheduler.SparkListenerExecutorAdded;
import org.apache.spark.scheduler.SparkListenerExecutorRemoved;
import org.apache.spark.scheduler.SparkListenerTaskEnd;

/** Hears from Spark which executors there are, and what tasks have read, also those that have failed. */
final class Reads extends SparkListener {
    private final Traffic traffic;
    private final StageChoices choices;
    private final Consumer<String> gone;
    private final Guard guard;

    /**
     * A listener.
     *
     * @param gone hears of executors that have gone, by their ids
     */
    Reads(Traffic traffic, StageChoices choices, Consumer<String> gone, Guard guard) {
        this.traffic = traffic;
        this.choices = choices;
        this.gone = gone;
        this.guard = guard;
    }

    @Override
    public void onExecutorAdded(SparkListenerExecutorAdded event) {
        guard.run("onExecutorAdded", () -> {
            String host = event.executorInfo().executorHost();
            traffic.executor(event.executorId(), host);
            choices.executor(event.executorId(), host, event.executorInfo().totalCores());
        });
    }

    @Override
    public void onExecutorRemoved(SparkListenerExecutorRemoved event) {
        guard.run("onExecutorRemoved", () -> gone.accept(event.executorId()));
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
