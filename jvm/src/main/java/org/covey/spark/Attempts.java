package org.covey.spark;

import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerStageCompleted;
import org.apache.spark.scheduler.SparkListenerStageSubmitted;
import org.apache.spark.scheduler.StageInfo;

/** Hears from Spark when attempts of stages read, where all that one reads is a coflow. */
final class Attempts extends SparkListener {
    private final String application;
    private final Coflows coflows;
    private final Guard guard;

    Attempts(String application, Coflows coflows, Guard guard) {
        this.application = application;
        this.coflows = coflows;
        this.guard = guard;
    }

    @Override
    public void onStageSubmitted(SparkListenerStageSubmitted event) {
        guard.run("onStageSubmitted", () -> {
            StageInfo stage = event.stageInfo();
            if (!stage.parentIds().isEmpty()) {
                String name = application + " stage " + stage.stageId() + " attempt " + stage.attemptNumber();
                coflows.begin(name, stage.stageId(), stage.attemptNumber(), -1, Observer.time(stage.submissionTime()));
            }
        });
    }

    @Override
    public void onStageCompleted(SparkListenerStageCompleted event) {
        guard.run("onStageCompleted", () -> {
            StageInfo stage = event.stageInfo();
            coflows.end(stage.stageId(), stage.attemptNumber(), Observer.time(stage.completionTime()));
        });
    }
}
