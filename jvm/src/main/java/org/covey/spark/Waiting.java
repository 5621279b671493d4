package org.covey.spark;

/**
 * Reads of shuffles that have to wait.
 *
 * @param stage the stage that reads
 * @param attempt its attempt
 * @param host the host that reads
 */
record Waiting(int stage, int attempt, String host) {
    /** It as the driver says it to executors, which read it by {@link #of}. */
    String text() {
        return stage + " " + attempt + " " + host;
    }

    static Waiting of(String text) {
        String[] parts = text.split(" ");
        return new Waiting(Integer.parseInt(parts[0]), Integer.parseInt(parts[1]), parts[2]);
    }
}
