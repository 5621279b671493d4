package org.covey.client;

import java.util.List;

/**
 * A label: flows that belong together, as somebody knows.
 *
 * @param community its number
 * @param flows the ends of the flows, which may not have begun
 */
public record Community(int community, List<Ends> flows) {
    /**
     * The ends of a flow.
     *
     * @param from address and port of the sender, such as {@code 10.0.0.1:40000}
     * @param to address and port of the receiver
     */
    public record Ends(String from, String to) {}
}
