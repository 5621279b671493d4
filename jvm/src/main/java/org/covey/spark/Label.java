package org.covey.spark;

import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.zip.CRC32;

import org.covey.client.Community;

/**
 * A connection over which an attempt of a stage reads.
 *
 * @param stage the stage
 * @param attempt its attempt
 * @param from the end that sends blocks
 * @param to the end that reads them
 */
record Label(int stage, int attempt, String from, String to) {
    private static final String KIND = "label";

    /** It as an executor says it to the driver, which reads it by {@link #of}. */
    String text() {
        return KIND + " " + stage + " " + attempt + " " + from + " " + to;
    }

    /** Whether a message is a label. */
    static boolean is(String text) {
        return text.startsWith(KIND + " ");
    }

    static Label of(String text) {
        String[] parts = text.split(" ");
        return new Label(Integer.parseInt(parts[1]), Integer.parseInt(parts[2]), parts[3], parts[4]);
    }

    /**
     * The community of the connections of an attempt of a stage. Its number is a hash, which all drivers make alike.
     */
    Community community(String application) {
        CRC32 hash = new CRC32();
        hash.update((application + " " + stage + " " + attempt).getBytes(StandardCharsets.UTF_8));
        return new Community((int) (hash.getValue() & Integer.MAX_VALUE), List.of(new Community.Ends(from, to)));
    }
}
