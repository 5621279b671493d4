package org.covey.spark;

import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The coflows of an application: when each began and ended, and how long it waited for whom. Of those that have ended,
 * the latest are kept.
 */
final class Coflows {
    private static final int MAX_ROWS = 10_000;
    private static final int MAX_NAMES = 1_000;

    /** Who knows the name of a coflow by its number at the coordinator. */
    @FunctionalInterface
    interface Names {
        String of(long coflow) throws IOException;
    }

    /**
     * A coflow that an attempt of a stage reads.
     *
     * @param id its number at the coordinator; -1 if it has none
     * @param shuffle its shuffle; -1 for all that the attempt reads
     * @param flows what is to be read still
     */
    record Present(long id, String name, int stage, int attempt, int shuffle, List<Registry.Served> flows) {}

    private final Map<String, CoflowRow> running = new LinkedHashMap<>();
    private final Map<Integer, CoflowRow> rows = new LinkedHashMap<>();
    private final Map<Long, String> known = new LinkedHashMap<>();
    private int count;

    /** A coflow begins, at a time in milliseconds since 1970. */
    synchronized void begin(String name, int stage, int attempt, int shuffle, long at) {
        CoflowRow row = new CoflowRow(count++, name, stage, attempt, shuffle, at);
        running.put(name, row);
        rows.put(row.number, row);
        if (rows.size() > MAX_ROWS) {
            rows.remove(rows.keySet().iterator().next());
        }
    }

    /** An attempt of a stage has ended, at a time in milliseconds since 1970. */
    synchronized void end(int stage, int attempt, long at) {
        running.values().removeIf(row -> {
            boolean ends = row.stage == stage && row.attempt == attempt;
            row.end = ends ? at : 0;
            return ends;
        });
    }

    /**
     * For some seconds a schedule was in force. A coflow waits if each of its flows has to, and then it waits for those
     * that are served on the links that it needs.
     *
     * @param names the names of others
     * @throws IOException if nobody says their names
     */
    void look(List<Present> present, Registry.Schedule schedule, double seconds, Names names)
            throws IOException {
        for (Present coflow : present) {
            if (coflow.flows.isEmpty() || !coflow.flows.stream().allMatch(schedule::holds)) {
                continue;
            }
            Set<Long> before = new LinkedHashSet<>();
            for (Registry.Served served : schedule.served().keySet()) {
                boolean meets = coflow.flows.stream().anyMatch(
                        flow -> flow.src() == served.src() || flow.dst() == served.dst());
                if (meets && served.coflow() != coflow.id) {
                    before.add(served.coflow());
                }
            }
            List<String> behind = new ArrayList<>();
            for (long other : before) {
                behind.add(name(other, names));
            }
            wait(coflow.name, behind, seconds);
        }
    }

    private synchronized void wait(String coflow, List<String> behind, double seconds) {
        CoflowRow row = running.get(coflow);
        if (row != null) {
            row.waited += seconds;
            behind.forEach(name -> row.behind.merge(name, seconds, Double::sum));
        }
    }

    private String name(long coflow, Names names) throws IOException {
        String name = known.get(coflow);
        if (name == null) {
            name = names.of(coflow);
            known.put(coflow, name);
            if (known.size() > MAX_NAMES) {
                known.remove(known.keySet().iterator().next());
            }
        }
        return name;
    }

    /** All that are kept, with what executors have received. */
    synchronized List<CoflowRow> rows(Map<Transfers.Key, Long> pairs) {
        Map<List<Integer>, Long> bytes = new LinkedHashMap<>();
        pairs.forEach((key, some) -> {
            bytes.merge(List.of(key.stage(), key.attempt(), key.shuffle()), some, Long::sum);
            bytes.merge(List.of(key.stage(), key.attempt(), -1), some, Long::sum);
        });
        return rows.values().stream().map(row -> {
            CoflowRow copy = row.copy();
            copy.bytes = bytes.getOrDefault(List.of(row.stage, row.attempt, row.shuffle), 0L);
            return copy;
        }).toList();
    }
}
