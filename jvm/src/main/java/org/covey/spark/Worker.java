package org.covey.spark;

import java.io.IOException;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Tells the coordinator what happens, on a thread of its own: callbacks of Spark only queue. When the coordinator does
 * not answer, that is said once, and it hears nothing more of the application.
 */
final class Worker {
    private static final Logger LOG = LoggerFactory.getLogger("covey");
    private static final int MAX_QUEUED = 100_000;
    private static final long STOP_MS = 3_000;
    /** Interval at which the schedule is asked for, while a stage reads. */
    private static final long LOOK_MS = 50;
    /** Between two looks further apart, nobody knows what was in force. */
    private static final long MAX_LOOK_NS = TimeUnit.SECONDS.toNanos(2);

    private final BlockingQueue<Event> queue = new LinkedBlockingQueue<>(MAX_QUEUED);
    private final AtomicLong dropped = new AtomicLong();
    private final Tracker tracker;
    private final Registry registry;
    private final Guard guard;
    private final Thread thread;
    private final Coflows coflows;
    private final boolean schedules;
    private final StageChoices choices;
    /** Whether a stage has begun since the schedule was asked for. */
    private boolean hasStageBegun;
    private volatile boolean isDone;
    private volatile Set<Waiting> waiting = Set.of();
    private boolean hasSaidThatAgentsLack;
    private long lastLook = System.nanoTime();
    /** The schedule is not asked for before this time, in nanoseconds. */
    private long nextLook = System.nanoTime();

    /**
     * A worker that has not begun.
     *
     * @param coflows what hears for how long they wait
     * @param schedules whether it asks which flows have to wait
     * @param choices what hears how fast links are, and what others have of them; null for none
     */
    Worker(
            Tracker tracker, Registry registry, Coflows coflows, boolean schedules, StageChoices choices, Guard guard) {
        this.registry = registry;
        this.coflows = coflows;
        this.schedules = schedules;
        this.choices = choices;
        this.tracker = tracker;
        this.guard = guard;
        thread = new Thread(() -> guard.run("the thread that tells the coordinator", this::work), "covey");
        thread.setDaemon(true);
    }

    void start() {
        thread.start();
    }

    /** Queues an event. What comes while the queue is full is dropped and counted. */
    void tell(Event event) {
        if (!isDone && !queue.offer(event) && dropped.incrementAndGet() == 1) {
            LOG.warn("covey: events come faster than the coordinator takes them: coflows will lack flows");
        }
    }

    /** The requests that have to wait now. */
    Set<Waiting> waiting() {
        return waiting;
    }

    /** Ends what is left, and waits a little for it. */
    void stop() throws InterruptedException {
        tell(new Event.ApplicationEnded());
        thread.join(STOP_MS);
        LOG.info("covey: {} coflows registered, {} events dropped", tracker.registered(), dropped.get());
    }

    private void work() throws InterruptedException {
        try {
            if (choices != null) {
                choices.portRate(registry.portRate());
            }
            boolean isOver = false;
            while (!isOver && !guard.hasFailed()) {
                boolean looks = schedules && tracker.isReading();
                Event event = queue.poll(looks ? LOOK_MS : 1_000, TimeUnit.MILLISECONDS);
                while (event != null) {
                    tracker.take(event);
                    isOver |= event instanceof Event.ApplicationEnded;
                    hasStageBegun |= event instanceof Event.StageBegun;
                    event = queue.poll();
                }
                tracker.flush();
                look();
            }
            if (!tracker.unknownHosts().isEmpty()) {
                LOG.warn("covey: hosts without a port, whose flows were left out: {}; spark.covey.hosts names ports",
                        tracker.unknownHosts());
            }
        } catch (IOException error) {
            LOG.warn("covey: the application goes on without the coordinator: {}", error.toString());
        } finally {
            isDone = true;
            waiting = Set.of();
            queue.clear();
        }
    }

    /** Asks the coordinator what waits, and what others have of links. That takes at most a tenth of the time. */
    private void look() throws IOException {
        long begin = System.nanoTime();
        boolean reads = schedules && tracker.isReading();
        if (!reads) {
            waiting = Set.of();
            lastLook = begin;
        }
        if ((reads || (choices != null && hasStageBegun)) && begin - nextLook >= 0) {
            Registry.Schedule schedule = registry.schedule();
            if (reads) {
                waiting = tracker.waiting(schedule);
                // What is in force now is taken to have been so since the last look.
                long since = Math.min(begin - lastLook, MAX_LOOK_NS);
                coflows.look(tracker.present(), schedule, since / 1e9, registry::name);
                lastLook = begin;
            }
            if (choices != null) {
                Map<String, Double> taken = new HashMap<>();
                choices.hosts().forEach(host -> taken.put(host, tracker.taken(host, schedule)));
                choices.taken(taken);
            }
            hasStageBegun = false;
            if (tracker.lacksAgents() && !hasSaidThatAgentsLack) {
                hasSaidThatAgentsLack = true;
                LOG.warn("covey: hosts have no agent, and so requests from and to them do not wait");
            }
            long end = System.nanoTime();
            nextLook = end + Math.max(TimeUnit.MILLISECONDS.toNanos(LOOK_MS), 9 * (end - begin));
        }
    }
}
