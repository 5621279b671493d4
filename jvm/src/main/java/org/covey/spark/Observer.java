package org.covey.spark;

import java.util.ArrayList;
import java.util.List;

import org.apache.spark.Success$;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerJobStart;
import org.apache.spark.scheduler.SparkListenerStageCompleted;
import org.apache.spark.scheduler.SparkListenerStageSubmitted;
import org.apache.spark.scheduler.SparkListenerTaskEnd;
import org.apache.spark.scheduler.SparkListenerTaskStart;
import org.apache.spark.scheduler.StageInfo;

import scala.Option;

/** Hears from Spark, and queues. */
final class Observer extends SparkListener {
    private final Worker worker;
    private final Guard guard;

    Observer(Worker worker, Guard guard) {
        this.worker = worker;
        this.guard = guard;
    }

    private static int shuffle(StageInfo stage) {
        return stage.shuffleDepId().isEmpty() ? -1 : ((Number) stage.shuffleDepId().get()).intValue();
    }

    /** A time in milliseconds since 1970; now where Spark does not say it. */
    static long time(Option<?> time) {
        return time.isEmpty() ? System.currentTimeMillis() : ((Number) time.get()).longValue();
    }

    @Override
    public void onJobStart(SparkListenerJobStart event) {
        guard.run("onJobStart", () -> {
            scala.collection.Iterator<StageInfo> stages = event.stageInfos().iterator();
            while (stages.hasNext()) {
                StageInfo stage = stages.next();
                worker.tell(new Event.StageNamed(stage.stageId(), shuffle(stage)));
            }
        });
    }

    @Override
    public void onStageSubmitted(SparkListenerStageSubmitted event) {
        guard.run("onStageSubmitted", () -> {
            StageInfo stage = event.stageInfo();
            List<Integer> parents = new ArrayList<>();
            scala.collection.Iterator<?> ids = stage.parentIds().iterator();
            while (ids.hasNext()) {
                parents.add(((Number) ids.next()).intValue());
            }
            worker.tell(new Event.StageBegun(stage.stageId(), stage.attemptNumber(), stage.numTasks(), parents,
                    time(stage.submissionTime())));
        });
    }

    @Override
    public void onTaskStart(SparkListenerTaskStart event) {
        guard.run("onTaskStart", () -> worker.tell(new Event.TaskBegun(
                event.stageId(), event.stageAttemptId(), event.taskInfo().index(), event.taskInfo().host())));
    }

    @Override
    public void onTaskEnd(SparkListenerTaskEnd event) {
        guard.run("onTaskEnd", () -> {
            if (event.reason() == Success$.MODULE$ && event.taskMetrics() != null) {
                long written = event.taskMetrics().shuffleWriteMetrics().bytesWritten();
                worker.tell(new Event.TaskEnded(
                        event.stageId(), event.taskInfo().index(), event.taskInfo().host(), written));
            }
        });
    }

    @Override
    public void onStageCompleted(SparkListenerStageCompleted event) {
        guard.run("onStageCompleted", () -> {
            StageInfo stage = event.stageInfo();
            worker.tell(new Event.StageEnded(
                    stage.stageId(), stage.attemptNumber(), stage.failureReason().isDefined(),
                    time(stage.completionTime())));
        });
    }
}
