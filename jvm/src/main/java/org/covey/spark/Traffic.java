package org.covey.spark;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What executors have received from one another, as they say it, and what their tasks have read, as Spark counts it.
 */
final class Traffic {
    private static final Logger LOG = LoggerFactory.getLogger("covey");

    /** An attempt of a stage. */
    record Attempt(int stage, int attempt) implements Comparable<Attempt> {
        @Override
        public int compareTo(Attempt other) {
            int order = Integer.compare(stage, other.stage);
            return order != 0 ? order : Integer.compare(attempt, other.attempt);
        }
    }

    /**
     * The bytes of an attempt of a stage.
     *
     * @param received what its executors have received for it
     * @param read what its tasks have read from other hosts
     */
    record Sums(int stage, int attempt, long received, long read) {}

    private static final class Counts {
        final Map<Transfers.Key, Long> received = new TreeMap<>();
        long read;
    }

    private final int maxPairs;
    private final Map<Attempt, Counts> attempts = new TreeMap<>();
    private final Map<String, String> hosts = new TreeMap<>();
    private int pairs;
    private int forgotten;
    private long total;
    private boolean hasEnded;

    /**
     * Nothing has been received.
     *
     * @param maxPairs maximum number of pairs of executors, over all attempts; what exceeds it is said, and forgotten,
     *        the lowest stage first
     */
    Traffic(int maxPairs) {
        this.maxPairs = maxPairs;
    }

    /** An executor says what it has received since the last time. */
    synchronized void receive(Map<Transfers.Key, Long> bytes) {
        bytes.forEach((key, some) -> {
            Counts counts = counts(key.stage(), key.attempt());
            pairs += counts.received.containsKey(key) ? 0 : 1;
            counts.received.merge(key, some, Long::sum);
            total += some;
        });
        forget();
        notifyAll();
    }

    private Counts counts(int stage, int attempt) {
        return attempts.computeIfAbsent(new Attempt(stage, attempt), key -> new Counts());
    }

    private void forget() {
        while (pairs > maxPairs && attempts.size() > 1) {
            Attempt first = attempts.keySet().iterator().next();
            pairs -= attempts.remove(first).received.size();
            forgotten++;
            if (forgotten == 1) {
                LOG.warn("covey: more than {} pairs of executors have exchanged data: those of stage {} are forgotten, "
                        + "and then others", maxPairs, first.stage);
            }
        }
    }

    /** A task has ended. */
    synchronized void read(int stage, int attempt, long bytes) {
        if (bytes > 0) {
            counts(stage, attempt).read += bytes;
        }
    }

    /** An executor is there. */
    synchronized void executor(String executor, String host) {
        hosts.put(executor, host);
    }

    /** No more tasks end. */
    synchronized void end() {
        hasEnded = true;
        notifyAll();
    }

    /** Waits until executors have said all that their tasks have read, but no longer than so many milliseconds. */
    synchronized void awaitAll(long millis) throws InterruptedException {
        long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis);
        // Where nothing is counted, nothing is to come.
        while (!hasEnded || total > 0 && sums().stream().anyMatch(sums -> sums.received < sums.read)) {
            long left = TimeUnit.NANOSECONDS.toMillis(end - System.nanoTime());
            if (left <= 0) {
                return;
            }
            wait(left);
        }
    }

    /** All bytes that executors have received. */
    synchronized long total() {
        return total;
    }

    /** The number of attempts that are forgotten. */
    synchronized int forgotten() {
        return forgotten;
    }

    /** The host of each executor. */
    synchronized Map<String, String> hosts() {
        return new TreeMap<>(hosts);
    }

    /** The bytes of each attempt of a stage. */
    synchronized List<Sums> sums() {
        List<Sums> sums = new ArrayList<>();
        attempts.forEach((attempt, counts) -> sums.add(new Sums(
                attempt.stage, attempt.attempt,
                counts.received.values().stream().mapToLong(Long::longValue).sum(), counts.read)));
        return sums;
    }

    /** The bytes of each pair of executors. */
    synchronized Map<Transfers.Key, Long> pairs() {
        Map<Transfers.Key, Long> all = new TreeMap<>();
        attempts.values().forEach(counts -> all.putAll(counts.received));
        return all;
    }
}
