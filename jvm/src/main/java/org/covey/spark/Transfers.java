package org.covey.spark;

import java.util.Map;
import java.util.TreeMap;

/** Bytes by who sent them, who received them, and what for. Threads may share one. */
final class Transfers {
    private static final String KIND = "bytes";

    /**
     * What bytes are received for.
     *
     * @param stage the stage that reads; -1 if none is known
     * @param attempt its attempt
     * @param shuffle the shuffle
     * @param from the executor that sends
     * @param to the executor that receives
     */
    record Key(int stage, int attempt, int shuffle, String from, String to) implements Comparable<Key> {
        @Override
        public int compareTo(Key other) {
            int order = Integer.compare(stage, other.stage);
            order = order != 0 ? order : Integer.compare(attempt, other.attempt);
            order = order != 0 ? order : Integer.compare(shuffle, other.shuffle);
            order = order != 0 ? order : from.compareTo(other.from);
            return order != 0 ? order : to.compareTo(other.to);
        }
    }

    private Map<Key, Long> bytes = new TreeMap<>();

    synchronized void add(Key key, long some) {
        bytes.merge(key, some, Long::sum);
    }

    /** All that was added since the last time. */
    synchronized Map<Key, Long> take() {
        Map<Key, Long> taken = bytes;
        bytes = new TreeMap<>();
        return taken;
    }

    /** Bytes as an executor says them to the driver, which reads them by {@link #of}. */
    static String text(Map<Key, Long> bytes) {
        StringBuilder text = new StringBuilder(KIND);
        bytes.forEach((key, some) -> text
                .append(' ').append(key.stage).append(' ').append(key.attempt).append(' ').append(key.shuffle)
                .append(' ').append(key.from).append(' ').append(key.to).append(' ').append(some));
        return text.toString();
    }

    /** Whether a message has bytes. */
    static boolean is(String text) {
        return text.startsWith(KIND + " ");
    }

    static Map<Key, Long> of(String text) {
        String[] parts = text.split(" ");
        Map<Key, Long> bytes = new TreeMap<>();
        for (int k = 1; k + 5 < parts.length; k += 6) {
            Key key = new Key(
                    Integer.parseInt(parts[k]), Integer.parseInt(parts[k + 1]), Integer.parseInt(parts[k + 2]),
                    parts[k + 3], parts[k + 4]);
            bytes.put(key, Long.parseLong(parts[k + 5]));
        }
        return bytes;
    }
}
