package org.covey.spark;

import java.io.IOException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;

/**
 * The requests of an executor that wait for their turn. While shuffles are read, it asks the driver which are to wait.
 * Where nobody answers, or something fails, none waits.
 */
final class Gate {
    /** Interval at which the driver is asked. */
    private static final long ASK_MS = 50;
    /** So long after a question it counts as one that nobody answers. */
    private static final long ANSWER_S = 5;
    /** The driver is asked for so long after the last request. */
    private static final long IDLE_NS = TimeUnit.SECONDS.toNanos(10);

    /** Whom the gate asks. */
    @FunctionalInterface
    interface Driver {
        /** Which requests are to wait. */
        List<String> ask(Asks asks) throws Exception;
    }

    /**
     * What an executor asks.
     *
     * @param executor its id
     * @param host its host
     * @param held number of requests that it holds
     */
    record Asks(String executor, String host, int held) {
        /** It as it is sent: a text, because classes of user jars cannot be read everywhere. */
        String text() {
            return executor + " " + host + " " + held;
        }

        static Asks of(String text) {
            String[] parts = text.split(" ");
            return new Asks(parts[0], parts[1], Integer.parseInt(parts[2]));
        }
    }

    /**
     * A request.
     *
     * @param key what it is a request for
     * @param issue issues it
     * @param fail has it fail, if it is needed no more
     * @param isOver whether the task that needs it has ended
     */
    record Request(Waiting key, Runnable issue, Runnable fail, BooleanSupplier isOver) {}

    private record Held(Request request, long since) {}

    private final String executor;
    private final String host;
    private final Driver driver;
    private final Guard guard;
    private final long maxNs;
    /** Issues requests: to connect may take long, and must delay no other request. */
    private final ExecutorService threads = Executors.newCachedThreadPool(Gate::daemon);
    private final List<Held> held = new ArrayList<>();
    private Set<Waiting> waiting = Set.of();
    private boolean isAsking;
    private boolean isClosed;
    private long lastRequest;

    /**
     * An open gate.
     *
     * @param executor the executor's id
     * @param host the executor's host
     * @param maxNs the longest time that a request waits
     */
    Gate(String executor, String host, Driver driver, long maxNs, Guard guard) {
        this.executor = executor;
        this.host = host;
        this.driver = driver;
        this.maxNs = maxNs;
        this.guard = guard;
    }

    private static Thread daemon(Runnable work) {
        Thread thread = new Thread(work, "covey gate");
        thread.setDaemon(true);
        return thread;
    }

    /** Takes a request if it has to wait; or else its caller issues it. */
    synchronized boolean takes(Request request) {
        if (isClosed || guard.hasFailed()) {
            return false;
        }
        lastRequest = System.nanoTime();
        if (!isAsking) {
            isAsking = true;
            threads.execute(() -> {
                guard.run("the thread that asks the driver", this::askWhileUsed);
                release(guard.hasFailed());
            });
        }
        if (!waiting.contains(request.key())) {
            return false;
        }
        held.add(new Held(request, lastRequest));
        return true;
    }

    /** Issues all that waits. Nothing waits any more. */
    synchronized void close() {
        isClosed = true;
        release(true);
        threads.shutdown();
    }

    private void askWhileUsed() throws Exception {
        while (isUsed()) {
            Set<Waiting> answer = new HashSet<>();
            for (String request : ask(held())) {
                answer.add(Waiting.of(request));
            }
            synchronized (this) {
                waiting = answer;
                release(false);
            }
            Thread.sleep(ASK_MS);
        }
        // The last word of this executor is that it holds nothing.
        ask(0);
    }

    private List<String> ask(int held) throws Exception {
        Asks asks = new Asks(executor, host, held);
        // Spark waits for minutes, and meanwhile nothing would be released.
        try {
            return threads.submit(() -> driver.ask(asks)).get(ANSWER_S, TimeUnit.SECONDS);
        } catch (RejectedExecutionException error) {
            // The executor ends.
            return List.of();
        }
    }

    private synchronized int held() {
        return held.size();
    }

    private synchronized boolean isUsed() {
        isAsking = !isClosed && !guard.hasFailed() && (!held.isEmpty() || System.nanoTime() - lastRequest < IDLE_NS);
        if (!isAsking) {
            waiting = Set.of();
        }
        return isAsking;
    }

    /** Issues what waits no more, or all. */
    private synchronized void release(boolean all) {
        long now = System.nanoTime();
        held.removeIf(it -> {
            boolean isOver = it.request.isOver.getAsBoolean();
            boolean goes = all || isOver || !waiting.contains(it.request.key) || now - it.since >= maxNs;
            if (goes) {
                threads.execute(isOver ? it.request.fail : it.request.issue);
            }
            return goes;
        });
    }

    /** What a request fails with whose task has ended. */
    static IOException over() {
        return new IOException("the task has ended");
    }
}
