package org.covey.spark;

import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;

import org.apache.spark.TaskKilled;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerExecutorRemoved;
import org.apache.spark.scheduler.SparkListenerStageSubmitted;
import org.apache.spark.scheduler.SparkListenerTaskEnd;
import org.apache.spark.scheduler.SparkListenerTaskStart;

/** What goes wrong while an application runs. */
final class Trouble extends SparkListener {
    final AtomicInteger retriedStages = new AtomicInteger();
    final AtomicInteger removedExecutors = new AtomicInteger();
    final AtomicInteger copies = new AtomicInteger();
    final Queue<String> killed = new ConcurrentLinkedQueue<>();
    /** The tasks that run of stages that read, and the executor of each. */
    final Map<Long, String> reading = new ConcurrentHashMap<>();
    private final Set<Integer> readers = ConcurrentHashMap.newKeySet();

    @Override
    public void onStageSubmitted(SparkListenerStageSubmitted event) {
        if (!event.stageInfo().parentIds().isEmpty()) {
            readers.add(event.stageInfo().stageId());
        }
        if (event.stageInfo().attemptNumber() > 0) {
            retriedStages.incrementAndGet();
        }
    }

    @Override
    public void onTaskStart(SparkListenerTaskStart event) {
        if (readers.contains(event.stageId())) {
            reading.put(event.taskInfo().taskId(), event.taskInfo().executorId());
        }
        if (event.taskInfo().speculative()) {
            copies.incrementAndGet();
        }
    }

    @Override
    public void onTaskEnd(SparkListenerTaskEnd event) {
        reading.remove(event.taskInfo().taskId());
        if (event.reason() instanceof TaskKilled reason) {
            killed.add(reason.reason());
        }
    }

    @Override
    public void onExecutorRemoved(SparkListenerExecutorRemoved event) {
        removedExecutors.incrementAndGet();
    }
}
