package org.covey.spark;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import org.covey.client.Coordinator;

/** Tells the coordinator which connections belong together, on a thread of its own. Its first failure is its end. */
final class Labels {
    private static final Logger LOG = LoggerFactory.getLogger("covey");
    private static final int MAX_QUEUED = 10_000;
    /** Connections that are remembered. */
    private static final int MAX_TOLD = 100_000;

    private final String application;
    private final Coordinator coordinator;
    private final Guard guard;
    private final ThreadPoolExecutor thread = new ThreadPoolExecutor(
            1, 1, 0, TimeUnit.SECONDS, new ArrayBlockingQueue<>(MAX_QUEUED), Labels::daemon,
            (label, full) -> LOG.warn("covey: connections are made faster than the coordinator hears: one has no label"));
    private final List<Label> told = new ArrayList<>();
    private volatile boolean isDone;

    Labels(String application, Coordinator coordinator, Guard guard) {
        this.application = application;
        this.coordinator = coordinator;
        this.guard = guard;
    }

    private static Thread daemon(Runnable work) {
        Thread thread = new Thread(work, "covey labels");
        thread.setDaemon(true);
        return thread;
    }

    /** Queues a label. */
    void tell(Label label) {
        synchronized (told) {
            if (told.size() < MAX_TOLD) {
                told.add(label);
            }
        }
        if (!isDone) {
            thread.execute(() -> guard.run("the thread that tells labels", () -> say(label)));
        }
    }

    /** Asks the coordinator how fast links are, and tells it. */
    void tellPortRate(StageChoices choices) {
        thread.execute(() -> guard.run("the thread that tells labels", () -> {
            try {
                choices.portRate(coordinator.portRate());
            } catch (IOException error) {
                LOG.warn("covey: nobody says how fast links are: {}", error.toString());
            }
        }));
    }

    private void say(Label label) {
        try {
            if (!isDone) {
                coordinator.label(label.community(application));
            }
        } catch (IOException error) {
            isDone = true;
            LOG.warn("covey: connections have no labels from now on: {}", error.toString());
        }
    }

    /** The connections that had labels, the first {@link #MAX_TOLD} of them. */
    List<Label> told() {
        synchronized (told) {
            return List.copyOf(told);
        }
    }

    void stop() {
        isDone = true;
        thread.shutdown();
    }
}
