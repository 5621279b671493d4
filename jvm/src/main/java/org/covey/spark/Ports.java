package org.covey.spark;

import java.io.IOException;
import java.net.InetAddress;
import java.util.HashMap;
import java.util.Map;
import java.util.function.Function;

import com.fasterxml.jackson.databind.JsonNode;

import org.covey.client.Coordinator;

/**
 * The port of the network that each host is: as the settings say, or else by the addresses of the coordinator's agents.
 */
final class Ports implements Function<String, Integer> {
    private final Map<String, Integer> given;
    private final Coordinator coordinator;
    private final Map<String, Integer> found = new HashMap<>();

    Ports(Map<String, Integer> given, Coordinator coordinator) {
        this.given = given;
        this.coordinator = coordinator;
    }

    /** The port of a host; null if nobody says it. Each host is asked for once. */
    @Override
    public Integer apply(String host) {
        if (!given.isEmpty()) {
            return given.get(host);
        }
        if (!found.containsKey(host)) {
            found.put(host, byAgents(host));
        }
        return found.get(host);
    }

    private Integer byAgents(String host) {
        try {
            String address = InetAddress.getByName(host).getHostAddress();
            for (JsonNode agent : coordinator.list("/v1/agents")) {
                String peer = agent.path("peer").asText();
                int end = peer.lastIndexOf(':');
                if (end > 0 && peer.substring(0, end).replaceAll("[\\[\\]]", "").equals(address)) {
                    return agent.path("port").intValue();
                }
            }
        } catch (IOException error) {
            // Without an answer the host has no port, as if it had no agent.
        }
        return null;
    }
}
