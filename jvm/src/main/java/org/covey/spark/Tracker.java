package org.covey.spark;

import java.io.IOException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Function;

import org.covey.client.Coflow;
import org.covey.client.Flow;

/**
 * Which coflows an application has: the reads of one shuffle by one attempt of a stage are one. It is registered when
 * the stage that writes the shuffle has ended, gets flows as reading tasks begin, and ends with the reading stage,
 * never by bytes. Flows end with the tasks that read them. One thread uses it.
 */
final class Tracker {
    /** Stages and shuffles that are remembered; the oldest are forgotten. */
    private static final int MAX_STAGES = 10_000;
    /** The sizes of partitions count if they make up so much of what was written. */
    private static final double ENOUGH = 0.75;
    /** Seconds for which a coflow is kept if the driver dies. */
    private static final double LEASE_S = 3600;

    /** A stage that runs or has run. */
    private static final class Stage {
        final int shuffle;
        /** The host and the bytes of each partition that has been written; the last success counts. */
        final Map<Integer, Written> written = new TreeMap<>();
        /** Shuffles that it has read. */
        final Set<Integer> reads = new HashSet<>();

        Stage(int shuffle) {
            this.shuffle = shuffle;
        }
    }

    private record Written(String host, long bytes) {}

    private record Ends(String from, String to) implements Comparable<Ends> {
        @Override
        public int compareTo(Ends other) {
            int order = from.compareTo(other.from);
            return order != 0 ? order : to.compareTo(other.to);
        }
    }

    /** A flow to be added. */
    private static final class ToAdd {
        double bytes;
        final Set<Integer> tasks = new HashSet<>();
    }

    /** A flow that has been added, and the tasks that read it. */
    private record Added(long coflow, int index, int src, int dst, String to, Set<Integer> tasks) {}

    /** The reads of an attempt of a stage. */
    private static final class Reading {
        final int tasks;
        final Map<Integer, Long> coflows = new LinkedHashMap<>();
        final Map<Integer, double[]> shares = new LinkedHashMap<>();
        final Set<Integer> begun = new HashSet<>();
        /** Flows to be added, by coflow, and by the two hosts. */
        final Map<Long, Map<Ends, ToAdd>> toAdd = new LinkedHashMap<>();
        /** Number of flows that each coflow has got. */
        final Map<Long, Integer> counts = new LinkedHashMap<>();
        /** Flows whose tasks have not all ended. */
        final List<Added> added = new ArrayList<>();
        /** Tasks that have ended since the last time that flows were cancelled. */
        final Set<Integer> ended = new HashSet<>();

        Reading(int tasks) {
            this.tasks = tasks;
        }
    }

    private final String application;
    private final Registry registry;
    private final PartitionSizes sizes;
    private final Function<String, Integer> ports;
    private final Coflows coflows;
    private final Map<Integer, Stage> stages = new LinkedHashMap<>();
    private final Map<Integer, Integer> writers = new LinkedHashMap<>();
    private final Map<List<Integer>, Reading> readings = new LinkedHashMap<>();
    /** The coflows of shuffles that nobody has begun to read, and those that were registered last. */
    private final Map<Integer, Long> unread = new LinkedHashMap<>();
    private final Map<Integer, Long> latest = new LinkedHashMap<>();
    /** The names of coflows that are not forgotten. */
    private final Map<Long, String> names = new LinkedHashMap<>();
    private final Set<String> unknownHosts = new HashSet<>();
    private boolean lacksAgents;
    private int registered;

    /**
     * The coflows of an application that has done nothing.
     *
     * @param application its id
     * @param ports the port of a host; null if it has none
     * @param coflows what hears when coflows begin and end
     */
    Tracker(
            String application, Registry registry, PartitionSizes sizes, Function<String, Integer> ports,
            Coflows coflows) {
        this.application = application;
        this.registry = registry;
        this.sizes = sizes;
        this.ports = ports;
        this.coflows = coflows;
    }

    /** Number of coflows that have been registered. */
    int registered() {
        return registered;
    }

    /** Hosts without a port, whose flows are left out. */
    Set<String> unknownHosts() {
        return unknownHosts;
    }

    /**
     * Something happens. Flows are added with the next {@link #flush}.
     *
     * @throws IOException if the coordinator does not do what it is asked
     */
    void take(Event event) throws IOException {
        if (event instanceof Event.StageNamed it) {
            stages.computeIfAbsent(it.stage(), id -> new Stage(it.shuffle()));
            writers.put(it.shuffle(), it.stage());
            forget(stages);
            forget(writers);
        } else if (event instanceof Event.StageBegun it) {
            begin(it);
        } else if (event instanceof Event.TaskBegun it) {
            beginTask(it);
        } else if (event instanceof Event.TaskEnded it) {
            endTask(it);
        } else if (event instanceof Event.StageEnded it) {
            end(it);
        } else if (event instanceof Event.ApplicationEnded) {
            List<Long> left = new ArrayList<>(unread.values());
            readings.values().forEach(reading -> left.addAll(reading.coflows.values()));
            unread.clear();
            readings.clear();
            endAll(left);
        }
    }

    private static void forget(Map<?, ?> map) {
        if (map.size() > MAX_STAGES) {
            map.remove(map.keySet().iterator().next());
        }
    }

    private void endTask(Event.TaskEnded it) {
        Stage stage = stages.get(it.stage());
        if (stage != null && stage.shuffle >= 0) {
            stage.written.put(it.partition(), new Written(it.host(), it.written()));
        }
        readings.forEach((reader, reading) -> {
            if (reader.get(0) == it.stage()) {
                reading.ended.add(it.partition());
            }
        });
    }

    private void begin(Event.StageBegun it) throws IOException {
        Reading reading = new Reading(it.tasks());
        for (int parent : it.parents()) {
            Stage writer = stages.get(parent);
            // What was written is with the stage that ran, which may have another id.
            Integer ran = writer == null || writer.shuffle < 0 ? null : ranOf(writer.shuffle, parent);
            if (ran == null || total(ran) == 0) {
                continue;
            }
            int shuffle = writer.shuffle;
            Long first = unread.remove(shuffle);
            long coflow = first == null ? register(shuffle, ran) : first;
            reading.coflows.put(shuffle, coflow);
            coflows.begin(names.get(coflow), it.stage(), it.attempt(), shuffle, it.at());
            Stage reader = stages.get(it.stage());
            if (reader != null) {
                reader.reads.add(shuffle);
            }
        }
        if (!reading.coflows.isEmpty()) {
            readings.put(List.of(it.stage(), it.attempt()), reading);
        }
    }

    /** The stage that has written a shuffle. */
    private Integer ranOf(int shuffle, int named) {
        if (total(named) > 0) {
            return named;
        }
        Integer ran = null;
        for (Map.Entry<Integer, Stage> it : stages.entrySet()) {
            if (it.getValue().shuffle == shuffle && !it.getValue().written.isEmpty()) {
                ran = it.getKey();
            }
        }
        return ran;
    }

    private long total(int stage) {
        Stage known = stages.get(stage);
        return known == null ? 0 : known.written.values().stream().mapToLong(Written::bytes).sum();
    }

    private long register(int shuffle, int writer) throws IOException {
        List<Long> parents = new ArrayList<>();
        for (int read : stages.get(writer).reads) {
            Long parent = latest.get(read);
            if (parent != null) {
                parents.add(parent);
            }
        }
        parents.sort(null);
        String name = application + " shuffle " + shuffle + " read " + registered;
        long coflow = registry.register(new Coflow(name, parents, true, LEASE_S, List.of()));
        registered++;
        names.put(coflow, name);
        forget(names);
        latest.put(shuffle, coflow);
        forget(latest);
        return coflow;
    }

    private void beginTask(Event.TaskBegun it) {
        Reading reading = readings.get(List.of(it.stage(), it.attempt()));
        // Copies of a task read the same once more; they are no part of the coflow.
        if (reading == null || !reading.begun.add(it.partition())) {
            return;
        }
        for (Map.Entry<Integer, Long> coflow : reading.coflows.entrySet()) {
            int shuffle = coflow.getKey();
            Integer ran = ranOf(shuffle, writers.getOrDefault(shuffle, -1));
            if (ran == null) {
                continue;
            }
            double[] shares = reading.shares.computeIfAbsent(shuffle, id -> shares(id, ran, reading.tasks));
            double share = it.partition() < shares.length ? shares[it.partition()] : 0;
            Map<Ends, ToAdd> toAdd = reading.toAdd.computeIfAbsent(coflow.getValue(), id -> new TreeMap<>());
            for (Written written : stages.get(ran).written.values()) {
                if (!written.host.equals(it.host()) && written.bytes > 0) {
                    ToAdd flow = toAdd.computeIfAbsent(new Ends(written.host, it.host()), ends -> new ToAdd());
                    flow.bytes += share * written.bytes;
                    flow.tasks.add(it.partition());
                }
            }
        }
    }

    /** Which part of a shuffle each task reads: by the sizes of partitions if each task reads one, or else the same. */
    private double[] shares(int shuffle, int writer, int tasks) {
        double[] bytes = sizes.of(shuffle, tasks);
        double sum = 0;
        for (double some : bytes == null ? new double[0] : bytes) {
            sum += some;
        }
        double[] shares = new double[tasks];
        boolean isKnown = sum > 0 && sum >= ENOUGH * total(writer);
        for (int k = 0; k < tasks; k++) {
            shares[k] = isKnown ? bytes[k] / sum : 1.0 / tasks;
        }
        return shares;
    }

    private void end(Event.StageEnded it) throws IOException {
        coflows.end(it.stage(), it.attempt(), it.at());
        Reading reading = readings.remove(List.of(it.stage(), it.attempt()));
        if (reading != null) {
            flush(reading);
        }
        Stage stage = stages.get(it.stage());
        if (stage != null && stage.shuffle >= 0 && !it.hasFailed() && total(it.stage()) > 0
                && !unread.containsKey(stage.shuffle)) {
            unread.put(stage.shuffle, register(stage.shuffle, it.stage()));
            if (unread.size() > MAX_STAGES) {
                int oldest = unread.keySet().iterator().next();
                registry.end(unread.remove(oldest));
            }
        }
        if (reading != null) {
            endAll(reading.coflows.values());
        }
    }

    private void endAll(Iterable<Long> coflows) throws IOException {
        for (long coflow : coflows) {
            registry.end(coflow);
        }
    }

    /**
     * Adds the flows of tasks that have begun, and cancels those of tasks that have ended.
     *
     * @throws IOException if the coordinator does not do what it is asked
     */
    void flush() throws IOException {
        for (Reading reading : readings.values()) {
            flush(reading);
        }
    }

    private void flush(Reading reading) throws IOException {
        for (Map.Entry<Long, Map<Ends, ToAdd>> it : reading.toAdd.entrySet()) {
            long coflow = it.getKey();
            List<Flow> flows = new ArrayList<>();
            it.getValue().forEach((ends, flow) -> {
                Integer src = port(ends.from);
                Integer dst = port(ends.to);
                if (src != null && dst != null && !src.equals(dst)) {
                    flows.add(new Flow(src, dst, flow.bytes));
                    int index = reading.counts.merge(coflow, 1, Integer::sum) - 1;
                    reading.added.add(new Added(coflow, index, src, dst, ends.to, flow.tasks));
                }
            });
            if (!flows.isEmpty()) {
                registry.add(coflow, flows);
            }
        }
        reading.toAdd.clear();
        cancelEnded(reading);
    }

    private void cancelEnded(Reading reading) throws IOException {
        if (reading.ended.isEmpty()) {
            return;
        }
        Map<Long, List<Integer>> toCancel = new TreeMap<>();
        reading.added.removeIf(flow -> {
            flow.tasks.removeAll(reading.ended);
            if (flow.tasks.isEmpty()) {
                toCancel.computeIfAbsent(flow.coflow, id -> new ArrayList<>()).add(flow.index);
            }
            return flow.tasks.isEmpty();
        });
        reading.ended.clear();
        for (Map.Entry<Long, List<Integer>> it : toCancel.entrySet()) {
            registry.cancel(it.getKey(), it.getValue());
        }
    }

    /** Whether hosts of flows were found to have no agent when it was asked what is to wait. */
    boolean lacksAgents() {
        return lacksAgents;
    }

    /** Whether a stage reads a shuffle. */
    boolean isReading() {
        return !readings.isEmpty();
    }

    /**
     * What is to wait: the reads of an attempt of a stage on a host if each of their flows has to. If one had to wait
     * for another, neither would end: both end with the tasks that need both.
     */
    Set<Waiting> waiting(Registry.Schedule schedule) {
        Set<Waiting> waiting = new HashSet<>();
        readings.forEach((stage, reading) -> {
            Set<Waiting> goes = new HashSet<>();
            for (Added flow : reading.added) {
                lacksAgents |= !schedule.agents().containsAll(List.of(flow.src, flow.dst));
                boolean waits = schedule.holds(new Registry.Served(flow.coflow, flow.src, flow.dst));
                (waits ? waiting : goes).add(new Waiting(stage.get(0), stage.get(1), flow.to));
            }
            waiting.removeAll(goes);
        });
        return waiting;
    }

    /** The coflows that stages read now, with the flows that they have still. */
    List<Coflows.Present> present() {
        List<Coflows.Present> present = new ArrayList<>();
        readings.forEach((stage, reading) -> reading.coflows.forEach((shuffle, coflow) -> {
            List<Registry.Served> flows = reading.added.stream().filter(flow -> flow.coflow == coflow)
                    .map(flow -> new Registry.Served(flow.coflow, flow.src, flow.dst)).toList();
            present.add(new Coflows.Present(
                    coflow, names.getOrDefault(coflow, ""), stage.get(0), stage.get(1), shuffle, flows));
        }));
        return present;
    }

    /** What coflows of others have of a host's link, in bytes per second: out of it or into it, whichever is more. */
    double taken(String host, Registry.Schedule schedule) {
        Integer port = port(host);
        Set<Long> own = new HashSet<>(unread.values());
        readings.values().forEach(reading -> own.addAll(reading.coflows.values()));
        double out = 0;
        double in = 0;
        for (Map.Entry<Registry.Served, Double> it : schedule.served().entrySet()) {
            if (port != null && !own.contains(it.getKey().coflow())) {
                out += it.getKey().src() == port ? it.getValue() : 0;
                in += it.getKey().dst() == port ? it.getValue() : 0;
            }
        }
        return Math.max(out, in);
    }

    private Integer port(String host) {
        Integer port = ports.apply(host);
        if (port == null) {
            unknownHosts.add(host);
        }
        return port;
    }
}
